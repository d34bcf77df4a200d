"""The contexts that a function which is a tool can take as a parameter: to report progress, notice an abort, ask."""

import sys
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeVar

from linnet.concurrency.foreign import Foreign
from linnet.core.cancel import Cancel
from linnet.core.messages import ToolCall
from linnet.errors import ToolFailed
from linnet.tools.context import ToolContext

T = TypeVar("T")


class Given:
    """What a call is given for as long as somebody waits for it. Invariant: progress after `end` is dropped."""

    def __init__(self, inner: ToolContext, call: ToolCall, foreign: Foreign) -> None:
        self.inner = inner
        self.call = call
        self.foreign = foreign
        self._lock = Lock()
        self._over = False

    def progress(self, text: str) -> None:
        """Report new output, unless the call is over. May be called in any thread."""
        with self._lock:  # Held while it is reported, so that nothing is after `end`.
            if not self._over:
                self.inner.progress(text)

    def end(self) -> None:
        """Drop what the function reports from now on: an abort does not stop a function that blocks."""
        with self._lock:
            self._over = True


class AnyContext:
    """What every tool may ask for."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self._inner = given.inner

    @property
    def call_id(self) -> str:
        """The id that the model gave this call."""
        return self._given.call.id

    @property
    def cwd(self) -> str:
        """The folder that is worked in."""
        return self._inner.cwd

    @property
    def cancelled(self) -> bool:
        """Whether the run was aborted. Look at it in loops, or call `check`."""
        return self._inner.cancel.is_set

    def check(self) -> None:
        """Raise Cancelled if the run was aborted."""
        self._inner.cancel.check()

    @property
    def cancel(self) -> Cancel:
        """For what blocks: `with context.cancel.interrupting(socket.close): …`, `context.cancel.sleep(1)`."""
        return self._inner.cancel

    def progress(self, text: str) -> None:
        """Show new output while the tool runs."""
        self._given.progress(text)


class Context(AnyContext):
    """What a tool may ask for besides its arguments, by a parameter of this type."""

    def confirm(self, title: str, message: str = "") -> bool:
        """Ask whoever drives the agent, and wait. No answer is no."""
        _check_thread()
        return self._inner.confirm(title, message)

    def select(self, title: str, options: Sequence[str]) -> str | None:
        """Ask for one of these, and wait. None if nobody chose."""
        _check_thread()
        return self._inner.select(title, tuple(options))

    def input(self, title: str, placeholder: str = "") -> str | None:
        """Ask for a line of text, and wait. None if nobody answered."""
        _check_thread()
        return self._inner.input(title, placeholder)


class AsyncContext(AnyContext):
    """What a tool that is `async def` may ask for, by a parameter of this type: answers are awaited."""

    async def confirm(self, title: str, message: str = "") -> bool:
        """Ask whoever drives the agent. No answer is no."""
        return await self._asked(lambda: self._inner.confirm(title, message))

    async def select(self, title: str, options: Sequence[str]) -> str | None:
        """Ask for one of these. None if nobody chose."""
        return await self._asked(lambda: self._inner.select(title, tuple(options)))

    async def input(self, title: str, placeholder: str = "") -> str | None:
        """Ask for a line of text. None if nobody answered."""
        return await self._asked(lambda: self._inner.input(title, placeholder))

    async def _asked(self, ask: Callable[[], T]) -> T:
        """Call `ask`, which blocks, in another thread, and return its answer."""
        from asyncio import wrap_future

        return await wrap_future(self._given.foreign.begin(ask))


def _check_thread() -> None:
    """Raise ToolFailed in the thread of an event loop: to wait there holds up all that runs in it, even the answer."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and asyncio._get_running_loop() is not None:
        raise ToolFailed("in an async function, take an AsyncContext and await its answer")
