"""Writes the images of a session into the page. Only those that are of four kinds by their bytes are shown; others are
named.
"""

from binascii import Error, a2b_base64

from linnet.core.images import sniffed
from linnet.core.messages import Image
from linnet.export.html.escape import escape, short
from linnet.export.html.figures import size

KINDS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}


def picture(image: Image) -> str:
    """Return an image as HTML, or a remark that it is not shown."""
    try:
        data = a2b_base64(image.data, strict_mode=True)
    except (Error, ValueError):  # ValueError: it has characters that are not ASCII.
        data = b""
    kind = sniffed(data[:16])
    if kind not in KINDS:
        what = ", ".join(short(part, 80) for part in (image.mime_type, image.url) if part) or "of no kind"
        told = f" ({size(len(data))})" if data else ""
        return f'<p class="remark">Image not shown: {escape(what)}{told}</p>'
    name = f"{KINDS[kind]} image, {size(len(data))}"
    wide, high = _extent(data)
    extent = f' width="{wide}" height="{high}"' if wide and high else ""
    return (
        f'<button class="shot" type="button" aria-label="Enlarge {name}">'
        f'<img src="data:{kind};base64,{image.data}" alt="{name}" loading="lazy" decoding="async"{extent}></button>'
    )


def _extent(data: bytes) -> tuple[int, int]:
    """Return width and height of a PNG or GIF, so that nothing moves when it is drawn; zeros for others."""
    if data.startswith(b"\x89PNG") and len(data) >= 24:
        return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    if data.startswith(b"GIF") and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    return 0, 0
