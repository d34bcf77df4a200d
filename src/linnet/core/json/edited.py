"""Sets or removes one member of a JSON object in its text; all else stays as its author wrote it."""

from linnet.core.json.position import member, parts, past, past_space


def put(text: bytes, name: str, value: bytes) -> bytes:
    """Return the text with this member, in its old place or at the end. Text and value must be valid JSON, the text an
    object.
    """
    at = past_space(text, 0)
    found = member(text, at, name)
    if found is not None:
        _, start = found
        return text[:start] + value + text[past(text, start) :]
    said = _quoted(name) + b": " + value
    starts = parts(text, at)
    if not starts:
        end = past(text, at)
        return text[:at] + b"{\n  " + said + b"\n}" + text[end:]
    gap = text[at + 1 : starts[0]]
    end = _member_end(text, starts[-1])
    return text[:end] + b"," + (gap if b"\n" in gap else b" ") + said + text[end:]


def removed(text: bytes, name: str) -> bytes:
    """Return the text without any member of this name. The text must be a valid JSON object."""
    at = past_space(text, 0)
    while (found := member(text, at, name)) is not None:
        starts = parts(text, at)
        index = starts.index(found[0])
        if index:
            text = text[: _member_end(text, starts[index - 1])] + text[_member_end(text, starts[index]) :]
        elif len(starts) > 1:
            text = text[: starts[0]] + text[starts[1] :]
        else:
            text = text[: at + 1] + text[past(text, at) - 1 :]
    return text


def _member_end(text: bytes, start: int) -> int:
    value = past_space(text, past_space(text, past(text, start)) + 1)
    return past(text, value)


def _quoted(name: str) -> bytes:
    from msgspec.json import encode

    return encode(name)
