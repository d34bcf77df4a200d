"""What extensions show, in zot's words, which has one for notices only."""

from typing import assert_never

from linnet.core import shown
from linnet.wire.zot import frames


def frame(event: shown.Shown) -> frames.Event:
    match event:
        case shown.Notified(extension, message, level):
            return frames.ExtNotify(extension, "warn" if level == "warning" else level, message)
        case shown.Displayed(extension, text):
            return frames.ExtDisplay(extension, text)
        case shown.StatusSet(extension, key, text):
            return frames.ExtStatus(extension, key, text)
        case shown.WidgetSet(extension, key, lines, placement):
            return frames.ExtWidget(extension, key, lines, placement)
        case shown.TitleSet(extension, title):
            return frames.ExtTitle(extension, title)
        case shown.EditorTextSet(extension, text):
            return frames.ExtEditorText(extension, text)
        case _:
            assert_never(event)
