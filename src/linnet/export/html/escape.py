"""Escapes text for HTML, and makes hidden characters visible. Whatever a session says goes through here."""

import re

# Characters that cannot be written, cannot be seen, or turn the direction of what follows. Tab and line feed are not
# among them, nor joiners, which are part of words and of emoji.
_CONTROL = "\x00-\x08\x0b-\x1f\x7f"
_UNWRITABLE = "\x80-\x9f\ud800-\udfff\ufffe\uffff"
_HIDDEN = (
    "\u00ad\u115f\u1160\u17b4\u17b5\u180e\u200b\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_VARIANT = "\ufe00-\ufe0f\U000e0100-\U000e01ef"  # One may follow what it is a variant of; in a row they hide a text.
_ODD = re.compile(f"[{_CONTROL}{_UNWRITABLE}{_HIDDEN}{_VARIANT}]")
_SPELLED = re.compile(
    "(?P<flag>\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)"  # Some flags are spelled in tags.
    f"|(?P<control>[{_CONTROL}])|(?P<unwritable>[{_UNWRITABLE}])|(?P<hidden>[{_HIDDEN}]|(?<=[{_VARIANT}])[{_VARIANT}])"
)
LINE_END = " ↵ "  # Stands for a line end in a command that is shown on one line.


def is_plain(text: str) -> bool:
    """Return whether a text is made of visible ASCII, spaces and line feeds alone. Most of what is said is."""
    return text.isascii() and (text.isprintable() or text.replace("\n", "").isprintable())


def clean(text: str) -> str:
    """Return the text without characters that hide or that cannot be encoded. Lines end in a line feed."""
    if is_plain(text):
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SPELLED.sub(_visible, text) if _ODD.search(text) else text


def escape(text: str) -> str:
    """Return the text, cleaned and escaped as the text of an element or the value of a quoted attribute."""
    text = text if is_plain(text) else clean(text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&#x27;")


def short(text: str, most: int, *, end: str = " ") -> str:
    """Return the text on one line, cut to `most` characters and cleaned, but not escaped. `end` stands where a line
    ended.
    """
    head = text[: most * 4]
    if head.isascii() and head.isprintable() and "  " not in head:
        words = head.strip(" ")
    else:
        lines = (" ".join(line.split()) for line in clean(head).split("\n"))
        words = end.join(filter(None, lines))
    return f"{words[: most - 1].rstrip()}…" if len(words) > most or len(text) > most * 4 else words


def _visible(found: re.Match[str]) -> str:
    """Return what is shown instead of an odd character."""
    match found.lastgroup:
        case "flag":
            return found[0]
        case "control":
            return "\u2421" if found[0] == "\x7f" else chr(0x2400 + ord(found[0]))
        case "unwritable":
            return "\ufffd"
        case _:
            return f"[U+{ord(found[0]):04X}]"
