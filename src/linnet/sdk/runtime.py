"""Runtime: the agent for programs that block while they wait."""

import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Thread, current_thread
from types import TracebackType
from typing import Any, TypeVar

from linnet.faces import Blocking
from linnet.runtime.session import Session
from linnet.sdk.beside import beside
from linnet.sdk.configured import Configured
from linnet.sdk.event_types import Event
from linnet.sdk.methods import RuntimeMethods
from linnet.sdk.prompts import Picture, prompt_command
from linnet.sdk.result import Result
from linnet.sdk.run_handle import RunHandle, RunListener
from linnet.sdk.sessions import Sessions
from linnet.sdk.waiting import InThread

Self = TypeVar("Self", bound="Runtime")
CLOSING = 5.0  # Seconds that dropping a run waits for its end, at most.
BATCH = 256  # Events that are taken at once.


class Run(Iterator[Event]):
    """The events of one run, up to its last. Dropping it before the end aborts the run; so does leaving `with`."""

    def __init__(self, handle: RunHandle) -> None:
        self._handle = handle
        self._stream = handle.stream
        self._taken: deque[Event] = deque()  # Taken from the stream, and not yet returned.

    def __next__(self) -> Event:
        if not self._taken:
            self._taken.extend(self._stream.take(BATCH, block=True))
        if not self._taken:
            self._handle.check()  # If the log may wait, a refusal comes after `prompt` has returned.
            raise StopIteration
        return self._taken.popleft()

    def __enter__(self) -> "Run":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def result(self) -> Result[Any]:
        """Return what came of the run. Raises BadInput before it has ended."""
        return self._handle.result

    def close(self) -> None:
        """Abort the run, if it has not ended, and wait until it has."""
        self._taken.clear()
        if self._stream.has_ended:
            self._stream.close()
        elif not sys.is_finalizing():  # Or else its thread is gone, and nobody would ever say that it has ended.
            self._end()

    def __del__(self) -> None:
        # In a thread: the collector may call this in the run's own thread, or while the caller holds a lock.
        if not hasattr(self, "_taken") or self._stream.has_ended or sys.is_finalizing():
            return
        closing = Thread(target=self._end, name="linnet-closing", daemon=True)
        closing.start()
        if not current_thread().name.startswith("linnet-"):
            closing.join(CLOSING)

    def _end(self) -> None:
        """Abort the run, and wait until it has ended."""
        try:
            beside.do(self._handle.abandon)
            self._stream.wait()
        except BaseException:  # Ctrl-C: it may have come before the run was abandoned.
            self._handle.let_go()
            raise


class Runtime(RuntimeMethods, Configured, Blocking):
    """A folder, a model, a conversation. One prompt at a time: a second one raises Busy. Safe to use from any thread.

    >>> with Runtime(provider="scripted") as runtime:
    ...     print(runtime.run("hello").text)
    """

    _waits: InThread

    def _set_up(self) -> None:
        with suppress(RuntimeError):
            beside.start()
        listener = RunListener()
        self._waits = InThread(self._open_session(listener), listener)
        self._sessions = Sessions(self._waits)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def sessions(self) -> Sessions:
        """Return the sessions: where the conversation is kept, and all that can be done with that."""
        return self._sessions

    @property
    def _session(self) -> Session:
        return self._waits.session

    def prompt(
        self, text: str, images: Sequence[Picture] = (), *, output: type[Any] | Mapping[str, Any] | None = None
    ) -> Run:
        """Start a run and iterate over its events. Images are paths, bytes or `Image`s; `output`: see `run`."""
        return self._waits.start(prompt_command(text, images, output), Run)
