"""Takes comments and trailing commas out of JSON, as some programs let people write it. Pure."""


def without_comments(text: bytes) -> bytes:
    """Return the text with spaces in the place of `//` and `/* */` comments and of commas before a closing bracket, so
    that everything stays on its line. What is inside of strings is left alone.
    """
    kept = bytearray(text)
    comma = -1  # Where a comma is after which nothing came yet.
    place = 0
    while place < len(text):
        start, each = place, text[place : place + 1]
        if each == b'"':
            place = _string_end(text, place)
        elif text.startswith(b"//", place):
            end = text.find(b"\n", place)
            place = len(text) if end < 0 else end
            _blank(kept, start, place)
            continue
        elif text.startswith(b"/*", place):
            end = text.find(b"*/", place + 2)
            place = len(text) if end < 0 else end + 2
            _blank(kept, start, place)
            continue
        else:
            place += 1
        if each in b"]}" and comma >= 0:
            kept[comma : comma + 1] = b" "
        if not each.isspace():
            comma = start if each == b"," else -1
    return bytes(kept)


def _string_end(text: bytes, start: int) -> int:
    """Return where what follows the string begins."""
    place = start + 1
    while place < len(text) and text[place : place + 1] != b'"':
        place += 2 if text[place : place + 1] == b"\\" else 1
    return place + 1


def _blank(kept: bytearray, start: int, end: int) -> None:
    kept[start:end] = bytes(each if each in b"\r\n" else 0x20 for each in kept[start:end])
