"""What a user said, as it came. Prepared, it becomes a message; that is not done here."""

from typing import Any

from msgspec import Struct

from linnet.core.messages import Image


class Input(Struct, frozen=True):
    """`time` is when it was said, in milliseconds since 1970.

    `kind`: it is a note of an extension's, of that kind and with these `details`, and not what the user said.
    """

    text: str
    images: tuple[Image, ...] = ()
    time: int = 0
    kind: str = ""
    details: Any = None
