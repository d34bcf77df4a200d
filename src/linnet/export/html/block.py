"""Writes blocks of lines: all of a short one, the beginning of a long one with the rest on demand."""

from collections.abc import Sequence

SHOWN = 20
SLACK = 4  # To hide three lines behind a line that says so helps nobody.


def block(lines: Sequence[str], kind: str = "out", *, joint: str = "\n", shown: int = SHOWN) -> str:
    """Return lines of HTML as a block; "" without lines. What is beyond `shown` is behind an element that opens without
    a script.
    """
    if lines and not lines[-1]:
        lines = lines[: next((end for end in range(len(lines), 0, -1) if lines[end - 1]), 0)]
    if len(lines) <= shown + SLACK:
        return f'<div class="block {kind}">{_pre(lines, joint)}</div>' if lines else ""
    more = (
        f'<details class="more"><summary><span>Show all {len(lines):,} lines</span><span>Show less</span></summary>'
        f"{_pre(lines[shown:], joint)}</details>"
    )
    return f'<div class="block {kind}">{_pre(lines[:shown], joint)}{more}</div>'


def code(lines: Sequence[str], language: str = "") -> str:
    """Return lines of HTML as a block in a text, all of them shown. `language` is its caption, escaped for HTML."""
    caption = f"<figcaption>{language}</figcaption>" if language else ""
    return f'<figure class="block code">{caption}{_pre(lines, chr(10))}</figure>'


def _pre(lines: Sequence[str], joint: str) -> str:
    # A line feed right after the tag is not part of the text, so that one is never the text's own.
    return f"<pre>\n{joint.join(lines)}</pre>"
