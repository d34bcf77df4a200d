"""What a user said, as it came. Prepared, it becomes a message; that is not done here."""

from typing import Any

from msgspec import Struct

from linnet.core.messages import Image, Sent
from linnet.core.slash import Fetch, RunNamed


class Input(Struct, frozen=True):
    """`time` is when it was said, in milliseconds since 1970.

    `kind`: it is a note of an extension's, of that kind and with these `details`, and not what the user said. `meant`:
    what its text was found to stand for, once, if that is more than the text. `sent`: see UserMessage.
    """

    text: str
    images: tuple[Image, ...] = ()
    time: int = 0
    kind: str = ""
    details: Any = None
    meant: RunNamed | Fetch | None = None
    sent: Sent | None = None
