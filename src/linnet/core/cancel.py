"""The cancel token, by which code that blocks learns of an abort. It is implemented in `runtime`, with threads."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol


class Cancel(Protocol):
    """A token that is set once, by an abort, and never reset."""

    @property
    def is_set(self) -> bool: ...

    def check(self) -> None:
        """Raise Cancelled if there was an abort."""

    def sleep(self, seconds: float) -> None:
        """Wait, or raise Cancelled as soon as there is an abort."""

    def interrupting(self, action: Callable[[], None]) -> AbstractContextManager[None]:
        """Run `action` if an abort comes while the body blocks; what the body then raises becomes Cancelled."""
