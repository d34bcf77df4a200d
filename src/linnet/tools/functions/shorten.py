"""Keeping what others answer within what a model should be sent; all of it stays in a file."""

from collections.abc import Sequence

from linnet.core.messages import Text, UserPart
from linnet.tools.text.truncate import count_lines, keep_head


def shortened(parts: Sequence[UserPart]) -> tuple[UserPart, ...]:
    """Return the beginning, with a sentence that names the file with all the text, if there is too much of it."""
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
    from tempfile import NamedTemporaryFile

    try:
        with NamedTemporaryFile(
            "w", prefix="linnet-tool-", suffix=".txt", delete=False, errors="surrogatepass"
        ) as file:
            file.write(text)
    except OSError as error:
        return f"All of it could not be saved: {error.strerror}."
    return f"All of it: {file.name}"
