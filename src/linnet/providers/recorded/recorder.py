"""Records what providers stream: a provider around another one, and the file that several of them write to."""

import os
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from time import monotonic
from typing import Literal

from linnet.core.cancel import Cancel
from linnet.core.context.history import Sendable
from linnet.core.deltas import Delta
from linnet.core.models import Model
from linnet.errors import Cancelled, ConfigError, ProviderError, ProviderRejected
from linnet.providers.base import Provider, Request
from linnet.providers.recorded.hidden import HiddenReply, Hiding
from linnet.providers.recorded.recording import (
    Asked,
    Ended,
    Header,
    Line,
    Streamed,
    Written,
    bare,
    model,
    row,
    tool,
    written,
)


class Recorder:
    """The file. Any thread may write to it, a line at a time, so that whatever ends the process leaves one that can be
    played. It has no secrets, and only its owner may read it.
    """

    def __init__(
        self, path: str, header: Header, secrets: Sequence[str] = (), clock: Callable[[], float] = monotonic
    ) -> None:
        """The file is made with the first call. Raises ConfigError if it is there already, or cannot be made."""
        self.path = path
        self.clock = clock
        self.hiding = Hiding(secrets)
        self._lock = Lock()
        self._header = self.hiding.struct(header)
        self._file: int | None = None
        self._closed = False
        self._calls = 0
        self._sent: Sequence[Sendable] = ()  # With the last call.
        self._last = Asked(0, 0, ())
        self._model: tuple[Model, Written] | None = None  # That of the last call, and how it is written.
        folder = os.path.dirname(path) or "."
        if os.path.lexists(path):
            raise ConfigError(f"{path} exists already, and no recording is written over; name another file")
        if not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
            raise ConfigError(f"the recording {path} cannot be made: {folder} is no folder that can be written to")

    def around(self, provider: Provider) -> "RecordedProvider":
        """Return a provider that does the same, and is recorded."""
        return RecordedProvider(provider, self)

    def ask(self, request: Request) -> int:
        """Write what is asked, and return the number of the call. Raises OSError."""
        with self._lock:
            before, said = self._last, request.messages
            kept = _shared(self._sent, said)
            messages = tuple([self.hiding.struct(bare(message)) for message in said[kept:]])
            whole = Asked(
                self._calls + 1,
                kept,
                messages,
                self._written_locked(request.model),
                request.reasoning,
                self.hiding.text(request.system),
                tuple([tool(spec) for spec in request.tools]),
            )
            names = ("model", "reasoning", "system", "tools")
            news = {name: value for name in names if (value := getattr(whole, name)) != getattr(before, name)}
            self._write_locked(Asked(whole.call, kept, messages, **news))
            self._calls += 1
            self._last, self._sent = whole, list(said)
            return self._calls

    def write(self, line: Line) -> None:
        """Write a line. Raises OSError."""
        with self._lock:
            self._write_locked(line)

    def close(self) -> None:
        """Close the file. What comes later is not recorded. Idempotent."""
        with self._lock:
            self._closed = True
            file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _written_locked(self, asked: Model) -> Written:
        if self._model is None or self._model[0] != asked:
            self._model = asked, self.hiding.built(model(asked))
        return self._model[1]

    def _write_locked(self, line: Line) -> None:
        if self._closed:
            return
        data = written(line)
        if self._file is None:
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            data = written(self._header) + data
        left = memoryview(data)
        while left:
            left = left[os.write(self._file, left) :]


class RecordedProvider:
    """Implements Provider around another one. Writes every call to a recorder."""

    def __init__(self, provider: Provider, recorder: Recorder) -> None:
        self.name = provider.name
        self._provider = provider
        self._recorder = recorder

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        try:
            reply = _Reply(self._recorder, request)
            try:
                for batch in self._provider.stream(request, cancel):
                    reply.add(batch)
                    yield batch
            except ProviderError as error:
                reply.fail(error)
                raise
            except (Cancelled, GeneratorExit):
                reply.end("aborted")
                raise
            reply.end("complete")
        except OSError as error:
            reason = f"the recording {self._recorder.path} cannot be written: {error.strerror}"
            raise ProviderRejected(self.name, reason) from None

    def warm(self) -> None:
        self._provider.warm()

    def close(self) -> None:
        self._provider.close()


class _Reply:
    """A call that goes on. All methods raise OSError."""

    def __init__(self, recorder: Recorder, request: Request) -> None:
        self._recorder = recorder
        self._hidden = HiddenReply(recorder.hiding)
        self._call = recorder.ask(request)
        self._began = recorder.clock()

    def add(self, batch: Sequence[Delta]) -> None:
        self._write(self._hidden.add(self._ms, batch))

    def fail(self, error: ProviderError) -> None:
        self._write(self._hidden.rest())
        sentence = self._recorder.hiding.text(str(error))
        after = getattr(error, "retry_after", None)
        self._recorder.write(Ended(self._call, self._ms, "failed", error.code, sentence, error.status, after))

    def end(self, how: Literal["complete", "aborted"]) -> None:
        self._write(self._hidden.rest())
        self._recorder.write(Ended(self._call, self._ms, how))

    @property
    def _ms(self) -> int:
        return round((self._recorder.clock() - self._began) * 1000)

    def _write(self, batches: Sequence[tuple[int, Sequence[Delta]]]) -> None:
        for ms, batch in batches:
            self._recorder.write(Streamed(self._call, ms, [row(delta) for delta in batch]))


def _shared(before: Sequence[Sendable], now: Sequence[Sendable]) -> int:
    """Return how many messages both begin with."""
    for place, (one, other) in enumerate(zip(before, now, strict=False)):
        if one is not other and one != other:
            return place
    return min(len(before), len(now))
