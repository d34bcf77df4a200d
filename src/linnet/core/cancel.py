"""How code that blocks learns of an abort. The implementation, which needs threads, lives in the runtime."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol


class Cancel(Protocol):
    @property
    def is_set(self) -> bool: ...

    def check(self) -> None:
        """Raise Cancelled if there was an abort."""

    def sleep(self, seconds: float) -> None:
        """Wait, or raise Cancelled as soon as there is an abort."""

    def interrupting(self, action: Callable[[], None]) -> AbstractContextManager[None]:
        """Run `action` if an abort comes while the body blocks; what the body then raises becomes Cancelled."""
