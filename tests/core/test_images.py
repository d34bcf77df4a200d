"""Pictures that clients send."""

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.images import image
from linnet.errors import BadInput


def b64(data: bytes) -> str:
    return b64encode(data).decode()


@given(st.binary(min_size=1))
def test_the_size_is_that_of_the_decoded_bytes(data: bytes) -> None:
    assert image(b64(data), "image/png").size == len(data)


@pytest.mark.parametrize(
    ("head", "mime"),
    [
        (b"\x89PNG\r\n\x1a\n1234", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
def test_the_bytes_say_what_they_are(head: bytes, mime: str) -> None:
    assert image(b64(head)).mime_type == mime
    assert image(b64(head), "image/tiff").mime_type == mime


@pytest.mark.parametrize(
    ("data", "mime", "reason"),
    [
        ("!!notb64", "image/png", "not base64"),
        ("é", "image/png", "not base64"),
        ("", "image/png", "empty"),
        (b64(b"hello"), "", "needs a mime type"),
        (b64(b"hello"), "text/html", '"text/html" is not an image type'),
    ],
)
def test_what_is_no_image_is_refused_with_a_reason(data: str, mime: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        image(data, mime)
