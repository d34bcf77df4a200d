"""What follows from a decision and is done without the session's lock: closing a socket, killing a process tree,
starting a thread, calling what others wrote.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

Action: TypeAlias = "Callable[[], Sequence[Action] | None]"
"""Returns what is to be done after it, if anything."""


def act(actions: Iterable[Action]) -> None:
    """Do these, and whatever follows from them, in order. Not to be called under the lock."""
    todo = deque(actions)
    while todo:  # Not by recursion: any number of commands may have waited.
        todo.extend(todo.popleft()() or ())
