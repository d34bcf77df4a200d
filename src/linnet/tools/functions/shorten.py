"""Shortens what functions and servers of others return to what a model should be sent; all of it goes to a file."""

from collections.abc import Sequence

from linnet.core.messages import Text, UserPart
from linnet.tools.text.truncate import count_lines, keep_head


def shortened(parts: Sequence[UserPart]) -> tuple[UserPart, ...]:
    """Return the parts; if they have too much text, its beginning and a sentence that names the file with all of it."""
    whole = "\n".join(part.text for part in parts if isinstance(part, Text))
    kept = keep_head(whole)
    if not kept.cut_bytes:
        return tuple(parts)
    lines, size = count_lines(whole), len(whole.encode("utf-8", "surrogatepass"))
    where = _saved(whole)
    note = f"[Only the beginning of {lines} lines, {size} bytes, is shown. {where}]"
    images = (part for part in parts if not isinstance(part, Text))
    return (Text(f"{kept.text.rstrip()}\n\n{note}"), *images)


def _saved(text: str) -> str:
    """Write the text to a temporary file, and say where it is, or why that failed."""
    from tempfile import NamedTemporaryFile

    try:
        with NamedTemporaryFile(
            "w", prefix="linnet-tool-", suffix=".txt", delete=False, errors="surrogatepass"
        ) as file:
            file.write(text)
    except OSError as error:
        return f"All of it could not be saved: {error.strerror}."
    return f"All of it: {file.name}"
