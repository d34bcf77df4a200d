"""The source of an image's bytes, as clients of pi and its session files spell it."""

from msgspec import Struct, field


class ImageSource(Struct, frozen=True, gc=False):
    """Either the bytes of an image or its address. The field for its type has two spellings; either is taken."""

    type: str = "base64"
    data: str = ""
    url: str = ""
    _media_type: str = field(default="", name="mediaType")
    _snake_type: str = field(default="", name="media_type")

    @property
    def mime_type(self) -> str:
        return self._media_type or self._snake_type
