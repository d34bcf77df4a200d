"""What a user said, as it came. Prepared, it becomes a message; that is not done here."""

from msgspec import Struct

from linnet.core.messages import Image


class Input(Struct, frozen=True):
    """`time` is when it was said, in milliseconds since 1970."""

    text: str
    images: tuple[Image, ...] = ()
    time: int = 0
