"""Checks of images that clients and tools send, and the type of an image by its first bytes."""

from linnet.core.messages import Image
from linnet.errors import BadInput

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
UNSEEN = "it is no image that models see: PNG, JPEG, GIF or WebP"


def image(data: str, mime_type: str = "") -> Image:
    """Return a checked image. Its bytes win over `mime_type`: vendors refuse a mismatch. Raises BadInput."""
    from binascii import a2b_base64  # Most who look here have no image.

    try:
        head = a2b_base64(data, strict_mode=True)[:16]
    except ValueError as error:
        raise BadInput(f"image data is not base64: {error}") from None
    if not head:
        raise BadInput("image data is empty")
    mime_type = sniffed(head) or mime_type
    if not mime_type.startswith("image/"):
        raise BadInput(f'"{mime_type}" is not an image type' if mime_type else "the image needs a mime type")
    return Image(mime_type, data)


def checked_image(given: Image) -> Image:
    """Return an image that a program made, checked. Raises BadInput: a wrong one would spoil the conversation."""
    if not all(isinstance(field, str) for field in (given.mime_type, given.data, given.url)):
        raise BadInput('an image needs a type such as "image/png", and bytes or base64')
    if given.url:
        return linked_image(given.url)
    from binascii import a2b_base64

    checked = image(given.data, given.mime_type)
    if not sniffed(a2b_base64(checked.data[:24])):
        raise BadInput(UNSEEN)
    return checked


def linked_image(url: str) -> Image:
    """Return an image that the vendor fetches; linnet itself does not. Raises BadInput."""
    if not url.startswith(("https://", "http://")):
        raise BadInput("the url of an image must start with https:// or http://")
    return Image("", "", url)


def sniffed(head: bytes) -> str:
    """Return the type of an image by its first 16 bytes; empty if it is none that models see."""
    for magic, mime_type in _MAGIC:
        if head.startswith(magic):
            return mime_type
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else ""
