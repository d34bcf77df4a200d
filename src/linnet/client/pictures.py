"""Images that go along with a prompt."""

from base64 import b64encode
from collections.abc import Iterable
from typing import TypeAlias

from linnet.core.images import image
from linnet.core.messages import Image

Picture: TypeAlias = bytes | Image
"""The bytes of a PNG, JPEG, GIF or WebP; or an Image, with its data in base64 and its type said."""


def checked(images: Iterable[Picture]) -> list[Image]:
    """Raises BadInput for bytes that are no image."""
    return [image(b64encode(each).decode()) if isinstance(each, bytes) else each for each in images]
