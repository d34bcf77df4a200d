"""What a tool has printed so far, as much of its end as is worth showing."""

MOST_LINES = 2000
MOST_BYTES = 50 * 1024


class Output:
    """Invariant: never more than MOST_LINES or MOST_BYTES, so that each update costs at most that much."""

    def __init__(self) -> None:
        self._text = ""

    def add(self, text: str) -> str:
        self._text = tail(self._text + text[-MOST_BYTES:])
        return self._text


def tail(text: str) -> str:
    if text.count("\n") > MOST_LINES - 1:
        text = "\n".join(text.split("\n")[-MOST_LINES - text.endswith("\n") :])
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= MOST_BYTES:
        return text
    start = len(data) - MOST_BYTES
    while data[start] & 0xC0 == 0x80:  # In the middle of a character.
        start += 1
    return data[start:].decode("utf-8", "surrogatepass")
