"""Notices that a reply goes round in circles, as replies of the smallest models do. Pure."""

LENGTH = 600
"""So many characters at the end must repeat themselves: less is a table, a line of dashes, a refrain."""
LONGEST_PERIOD = 120


class Repetition:
    """The end of one reply, as far as it matters here."""

    def __init__(self) -> None:
        self._tail = ""

    def heard_in(self, piece: str) -> bool:
        """Take in one more piece; return whether the reply now ends with the same few words again and again."""
        self._tail = tail = (self._tail + piece)[-LENGTH:]
        return len(tail) == LENGTH and any(tail.startswith(tail[period:]) for period in range(1, LONGEST_PERIOD + 1))
