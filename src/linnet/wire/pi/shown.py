"""What extensions show, in pi's words."""

from typing import assert_never

from msgspec import UNSET

from linnet.core import shown
from linnet.wire.pi import frames


def request(event: shown.Shown, id: str) -> frames.UiRequest:
    """`id` is one that no question has: nobody waits for an answer."""
    match event:
        case shown.Notified(_, message, level):
            return frames.UiRequest(id, "notify", message=message, notify_type="info" if level == "success" else level)
        case shown.Displayed(_, text):
            return frames.UiRequest(id, "notify", message=text, notify_type="info")
        case shown.StatusSet(_, key, text):
            return frames.UiRequest(id, "setStatus", status_key=key, status_text=UNSET if text is None else text)
        case shown.WidgetSet(_, key, lines, placement):
            return frames.UiRequest(
                id,
                "setWidget",
                widget_key=key,
                widget_lines=UNSET if lines is None else lines,
                widget_placement="aboveEditor" if placement == "above_editor" else "belowEditor",
            )
        case shown.TitleSet(_, title):
            return frames.UiRequest(id, "setTitle", title)
        case shown.EditorTextSet(_, text):
            return frames.UiRequest(id, "set_editor_text", text=text)
        case _:
            assert_never(event)
