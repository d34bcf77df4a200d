"""Makes text safe for a terminal: what it would obey or hide is spelled out. All that linnet shows to people passes."""

_KEPT = "\t\n"
# They stand between letters of some scripts and between the parts of an emoji, and move nothing.
_JOINERS = "\u200c\u200d"
_SPELLED = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))  # Controls, also of direction; halves of characters; line ends.


class _Table(dict[int, int | str]):
    """A table for `str.translate`: each character is looked up once, and then known."""

    def __missing__(self, code: int) -> int | str:
        from unicodedata import category

        char = chr(code)
        hidden = category(char) in _SPELLED and char not in _KEPT and char not in _JOINERS
        self[code] = found = _spelling(code) if hidden else code
        return found


_table = _Table()


def spelled_out(text: str) -> str:
    r"""Return the text with every character that a terminal would obey or not show as its escape: `\x1b`, `\u202e`.

    Line ends and tabs stay. What stands in for a byte that is no text, as in names of files, is spelled as that byte.
    """
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_table)


def one_line(text: str) -> str:
    r"""Return the text spelled out on one line: line ends and tabs too, as `\n` and `\t`."""
    return spelled_out(text).replace("\n", r"\n").replace("\t", r"\t")


def _spelling(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    if code == 0x0D:
        return r"\r"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
