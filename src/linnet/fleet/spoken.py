"""The dialects in which commands in an inbox are written."""

from linnet.serve.agents import dialects
from linnet.wire.dialect import Dialect


class Dialects:
    """Each is made once: what a client sets of its own is known at its door. One thread at a time calls."""

    def __init__(self) -> None:
        self._made: dict[str, Dialect] = {}

    def by(self, name: str) -> Dialect:
        """Return the dialect of this name. Raises BadInput for one that there is not."""
        dialect = self._made.get(name)
        if dialect is None:
            self._made[name] = dialect = dialects.made(name)
        return dialect
