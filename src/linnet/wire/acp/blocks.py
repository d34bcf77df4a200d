"""The content of a prompt: blocks of text, images, and files that are linked or enclosed, made words and images."""

from typing import Any
from urllib.parse import unquote, urlsplit

from linnet.core.images import sniffed
from linnet.core.messages import Image
from linnet.wire.acp.jsonrpc import INVALID_PARAMS, RpcError


def understood(blocks: list[Any]) -> tuple[str, tuple[Image, ...]]:
    """Return what a prompt says: words in the order of the blocks, what is enclosed after them, and images. Raises
    RpcError for what is no block, or one that was not offered to be taken.
    """
    words: list[str] = []
    enclosed: list[str] = []
    images: list[Image] = []
    for place, block in enumerate(blocks):
        match block:
            case {"type": "text", "text": str(text)}:
                words.append(text)
            case {"type": "image", "data": str(data), "mimeType": str(kind)}:
                images.append(_image(data, kind, place))
            case {"type": "resource_link", "uri": str(uri), "name": str(name)}:
                words.append(_link(uri, name))
            case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
                words.append(_link(uri, uri))
                enclosed.append(f"<file path={_quoted(_place(uri))}>\n{text}\n</file>")
            case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data)} as found}:
                kind = found.get("mimeType")
                words.append(_link(uri, uri))
                if isinstance(kind, str) and kind.startswith("image/"):
                    images.append(_image(data, kind, place))
                else:
                    enclosed.append(f"<file path={_quoted(_place(uri))}>(binary, not shown)</file>")
            case {"type": "audio"}:
                raise RpcError(INVALID_PARAMS, f"prompt[{place}]: audio is not taken")
            case _:
                raise RpcError(INVALID_PARAMS, f"prompt[{place}]: this is no content block that is known")
    text = "".join(words)
    if not text.strip() and not images:
        raise RpcError(INVALID_PARAMS, "the prompt is empty")
    return "\n\n".join([text, *enclosed]), tuple(images)


def _image(data: str, kind: str, place: int) -> Image:
    from binascii import Error, a2b_base64

    try:
        head = a2b_base64(data)[:64]
    except Error:
        raise RpcError(INVALID_PARAMS, f"prompt[{place}]: the data of an image must be base64") from None
    return Image(sniffed(head) or kind, data)


def _link(uri: str, name: str) -> str:
    place = _place(uri)
    return f"@{place}" if place != uri else f"[{name}]({uri})" if name != uri else f"<{uri}>"


def _place(uri: str) -> str:
    """Return the path of a file, with the lines that are meant, if any; any other address as it is."""
    if not uri.startswith("file://"):
        return uri
    parts = urlsplit(uri)
    return unquote(parts.path) + (f"#{parts.fragment}" if parts.fragment else "")


def _quoted(text: str) -> str:
    return '"' + text.replace("&", "&amp;").replace('"', "&quot;").replace("\n", " ") + '"'
