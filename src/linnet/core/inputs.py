"""What a user or an extension says to the model, as it came. The runtime makes a message of it later."""

from typing import Any

from msgspec import Struct

from linnet.core.messages import Image, Sent
from linnet.core.slash import Fetch, RunNamed


class Input(Struct, frozen=True):
    """Something to be said to the model, not yet a message."""

    text: str
    images: tuple[Image, ...] = ()
    time: int = 0  # When it was said, in milliseconds since 1970.
    kind: str = ""
    """Set for a note of an extension's: what kind of note. Empty for what the user said."""
    details: Any = None  # Those of the note.
    meant: RunNamed | Fetch | None = None
    """What the text was found to stand for, if that is more than the text. It is found out only once."""
    sent: Sent | None = None  # See UserMessage.
    display: bool = True  # Whether people are shown the note.
