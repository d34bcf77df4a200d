"""The synchronous face of the runtime."""

import os
import sys
from base64 import b64encode
from collections.abc import Iterator, Sequence
from threading import Thread, current_thread
from types import TracebackType
from typing import Any, TypeVar

from linnet.core import commands
from linnet.core.cancel import Cancel
from linnet.core.events import Event, Settled
from linnet.core.images import image
from linnet.core.messages import Image
from linnet.errors import BadInput, Cancelled, LinnetError
from linnet.runtime.config import Config
from linnet.runtime.listener import Listener
from linnet.runtime.requester import Requester
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.settings import resolve
from linnet.sdk.answer import ask
from linnet.sdk.sessions import Sessions
from linnet.sdk.stream import Stream
from linnet.wire.zot import answers, encode, frames

Self = TypeVar("Self", bound="Runtime")
CLOSING = 5.0  # How long, at most, letting go of a run waits for its end.


class Started:
    """A run that is under way, and what is heard of it."""

    def __init__(self, stream: Stream, number: int, session: Session) -> None:
        self.stream = stream
        self._number = number
        self._session = session

    def abandon(self) -> None:
        """Abort it, if it has not ended, and wait until it has."""
        if not self.stream.ended:
            self.stream.close()
            if not sys.is_finalizing():  # Or else its thread is gone, and nobody would ever say that it has ended.
                self.stop()

    def abort(self) -> None:
        self._session.abort(self._number)

    def stop(self) -> None:
        self.abort()
        self.stream.wait()


class Run(Iterator[frames.Event]):
    """The events of one run, up to its last. Letting go of it before the end aborts the run."""

    def __init__(self, started: Started) -> None:
        self._started = started
        self._stream = started.stream

    def __next__(self) -> frames.Event:
        event = self._stream.take(block=True)
        if event is None:
            raise StopIteration
        return event

    def close(self) -> None:
        """Abort the run, if it has not ended, and wait until it has."""
        self._started.abandon()

    def __del__(self) -> None:
        """Wherever that happens: it may be in the run's own thread, or while somebody holds a lock."""
        if self._stream.ended or sys.is_finalizing():
            return
        self._stream.close()
        closing = Thread(target=self._started.stop, name="linnet-closing", daemon=True)
        closing.start()
        if not current_thread().name.startswith("linnet-"):
            closing.join(CLOSING)


class _Hearing(Listener):
    """Puts what happens into the stream of the run that goes on."""

    def __init__(self) -> None:
        self.stream = Stream()

    def hear(self, events: Sequence[Event]) -> None:
        self.stream.put(encode.encode(events, show_thinking=True), last=isinstance(events[-1], Settled))

    def pace(self, cancel: Cancel) -> None:
        self.stream.pace(cancel)

    def is_behind(self) -> bool:
        return self.stream.is_behind


class _Starting(Requester):
    """Whoever starts a run: from its first event on, its stream is the one that is heard."""

    def __init__(self, hearing: _Hearing, stream: Stream) -> None:
        self._hearing = hearing
        self._stream = stream
        self.error: LinnetError | None = None

    def started(self) -> None:
        self._hearing.stream = self._stream

    def refused(self, error: LinnetError) -> None:
        self.error = error


class Runtime:
    """A folder, a model, a conversation. One prompt at a time: a second one raises Busy. Safe to use from any thread.

    >>> with Runtime(Config(provider="scripted")) as runtime:
    ...     for event in runtime.prompt("hello"):
    ...         ...
    """

    def __init__(self, config: Config | None = None, **options: Any) -> None:
        """Takes a Config, or its fields as keywords. Raises ConfigError if they cannot be used."""
        if config is not None and options:
            raise TypeError("give either a Config or its fields, not both")
        settings = resolve(config or Config(**options), os.environ)
        self._hearing = _Hearing()
        self.session = Session(settings, Resources(settings), [self._hearing])
        self.sessions = Sessions(self.session)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def prompt(self, text: str, images: Sequence[bytes | Image] = ()) -> Run:
        """Start a run and iterate over its events. Images are given as their bytes."""
        return Run(self.start(prompt_command(text, images)))

    def compact(self, instructions: str = "") -> str:
        """Replace all but the newest messages by a summary, and return it."""
        return compacted(list(Run(self.start(commands.Compact(instructions)))))

    def abort(self) -> None:
        """Cancel what runs, if anything does. Its last events follow."""
        self._ask(commands.Abort())

    cancel = abort

    def set_model(self, model: str) -> None:
        """For the next prompt on. Raises UnknownModel."""
        self._ask(commands.SetModel(model))

    def clear(self) -> None:
        """Forget the conversation. A run that is under way ends without a trace."""
        self._ask(commands.Clear())

    def state(self) -> frames.StateData:
        answer: frames.StateData = self._ask(commands.GetState())
        return answer

    def messages(self) -> list[frames.Message]:
        answer: frames.MessagesData = self._ask(commands.GetMessages())
        return answer.messages

    def cost(self) -> frames.Tokens:
        """Tokens and dollars so far."""
        return self.state().usage

    def list_models(self) -> list[frames.ModelInfo]:
        answer: frames.ModelsData = self._ask(commands.GetModels())
        return answer.models

    def close(self) -> None:
        """Abort what runs and leave no child process behind. Idempotent."""
        if not sys.is_finalizing():  # Or else the other threads are gone, with whatever locks they held.
            self.session.close(timeout=5)

    def start(self, work: commands.Prompt | commands.Compact) -> Started:
        """Raises Busy while another run goes on."""
        stream = Stream()
        starting = _Starting(self._hearing, stream)
        number = self.session.submit(work, starting, may_wait=False)
        if starting.error is not None and not stream.ended:
            raise starting.error
        return Started(stream, number, self.session)

    def _ask(self, command: commands.Control | commands.Setting | commands.Query) -> Any:
        return answers.data(ask(self.session, command))


def prompt_command(text: str, images: Sequence[bytes | Image]) -> commands.Prompt:
    if not text.strip() and not images:
        raise BadInput("a prompt needs a message or an image")
    return commands.Prompt(text, tuple(map(_image, images)))


def compacted(events: Sequence[frames.Event]) -> str:
    """The summary, or the reason why there is none."""
    for event in events:
        if isinstance(event, frames.CompactDone):
            return event.summary
        if isinstance(event, frames.Error):
            raise LinnetError(event.message)
    raise Cancelled


def _image(given: bytes | Image) -> Image:
    return image(b64encode(given).decode()) if isinstance(given, bytes) else given
