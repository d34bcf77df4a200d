"""Prompts that came while something before them takes its time, and may be cancelled before they begin."""

from collections.abc import Callable
from threading import Lock

from msgspec import Raw


class EarlyPrompt:
    """One of them. `begun` and `cancelled` belong to its `EarlyPrompts`."""

    def __init__(self, id: Raw, session: str) -> None:
        self.id = id
        self.session = session
        self.begun = False
        self.cancelled = False

    def is_cancelled(self) -> bool:
        """Return whether it was cancelled by now: another thread may do that."""
        return self.cancelled


class EarlyPrompts:
    """Invariant: whoever is cancelled before it begins never begins, and is answered at once; whoever is cancelled
    while it begins is cancelled when it has begun. Any thread may call.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: list[EarlyPrompt] = []

    def add(self, id: Raw, session: str) -> EarlyPrompt:
        """Return a prompt that waits from now on."""
        prompt = EarlyPrompt(id, session)
        with self._lock:
            self._waiting.append(prompt)
        return prompt

    def cancel(self, chosen: Callable[[EarlyPrompt], bool]) -> list[Raw]:
        """Cancel those that are chosen, and return the ids of those that will never begin: they are to be answered."""
        with self._lock:
            fresh = [each for each in self._waiting if chosen(each) and not each.cancelled]
            for each in fresh:
                each.cancelled = True
            return [each.id for each in fresh if not each.begun]

    def begin(self, prompt: EarlyPrompt, begin: Callable[[], None], cancel: Callable[[], None]) -> None:
        """Have a prompt begin, unless it was cancelled; `cancel` is called if it was cancelled meanwhile."""
        with self._lock:
            prompt.begun = not prompt.cancelled
            if prompt.cancelled:
                self._waiting.remove(prompt)
                return
        try:
            begin()
        finally:
            with self._lock:
                self._waiting.remove(prompt)
            if prompt.is_cancelled():
                cancel()
