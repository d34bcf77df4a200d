"""The provider that runs a model in this process."""

import os
from collections.abc import Iterator, Sequence
from itertools import count
from queue import SimpleQueue
from threading import Lock, Thread, main_thread
from typing import Any

from msgspec import DecodeError, Struct, json

from linnet.core.cancel import Cancel
from linnet.core.context.cost import counted
from linnet.core.deltas import Delta, ReplyOpened, Stopped, UsageReported
from linnet.core.messages import StopReason, Usage
from linnet.decoding import decoder_of
from linnet.errors import ConfigError, ContextOverflow, ProviderRejected, ProviderUnavailable
from linnet.providers.base import Request
from linnet.providers.local import weights
from linnet.providers.local.engine import Engine, borrowed, give_back
from linnet.providers.local.grammar import grammar
from linnet.providers.local.prompt import messages
from linnet.providers.local.repetition import Repetition
from linnet.providers.local.reply_reader import ReplyReader

_SMALL = 1 << 30  # Bytes. Models in smaller files have to be shown how to call a tool, and when to stop.
_OVERFLOW = "exceed_context_size_error"


class _Part(Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(Struct, gc=False):
    delta: _Part | None = None
    finish_reason: str | None = None


class _Cached(Struct, gc=False):
    cached_tokens: int | None = None


class _Tokens(Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None


class _Progress(Struct, gc=False):
    """How much of the prompt has been read."""

    total: int = 0
    cache: int = 0


class _Fault(Struct):
    message: str = ""
    type: str = ""
    code: int = 0


class _Chunk(Struct, gc=False):
    choices: list[_Choice] = []
    usage: _Tokens | None = None
    prompt_progress: _Progress | None = None
    error: _Fault | None = None


class _Failed(Exception):
    def __init__(self, fault: _Fault) -> None:
        self.fault = fault


_decode = decoder_of(_Chunk).decode


class Sampling(Struct, frozen=True):
    """How the next token is chosen. At no temperature it is the likeliest one: the same prompt has the same reply."""

    temperature: float = 0.0
    seed: int = 1


_LIKELIEST = Sampling()


class Local:
    """Implements Provider. A model is loaded by the first request that needs it, and stays until `close`."""

    name = "local"

    def __init__(self, sampling: Sampling = _LIKELIEST) -> None:
        self._sampling = sampling
        self._lock = Lock()
        self._borrowed: dict[tuple[str, int], Engine] = {}
        self._writing: set[_Writing] = set()
        self._closed = False
        self._calls = count(1)

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        cancel.check()
        path, engine = self._engine(request)
        cancel.check()  # An abort may have come while it was loaded.
        small = os.stat(path).st_size < _SMALL
        try:
            yield from self._reply(engine, request, cancel, messages(request, examples=small), small=small)
        except _Failed as failed:
            if not _about_template(failed.fault):
                raise _explained(failed.fault) from None
            plain = messages(request, examples=small, tool_role=False)
            try:
                yield from self._reply(engine, request, cancel, plain, small=small)
            except _Failed as again:
                raise _explained(again.fault) from None

    def warm(self) -> None:
        """Do nothing: while a model is loaded, nothing else in this process answers. That waits for a prompt."""

    def close(self) -> None:
        with self._lock:
            self._closed = True
            writing, borrowed, self._borrowed = list(self._writing), self._borrowed, {}
        for each in writing:
            each.stop()
        for path, window in borrowed:
            give_back(path, window)

    def _engine(self, request: Request) -> tuple[str, Engine]:
        """Return the file and the engine of the model. Raises ProviderRejected."""
        try:
            path = weights.path_of(request.model.id)
        except ConfigError as error:
            raise ProviderRejected(self.name, str(error)) from None
        key = path, request.model.context_window
        with self._lock:
            if self._closed:
                raise ProviderRejected(self.name, "it was closed")
            if key not in self._borrowed:
                self._borrowed[key] = borrowed(*key)
            return path, self._borrowed[key]

    def _reply(
        self, engine: Engine, request: Request, cancel: Cancel, written: list[dict[str, str]], *, small: bool
    ) -> Iterator[Sequence[Delta]]:
        writing = _Writing(engine, self._body(request, written))
        with self._lock:
            self._writing.add(writing)
        try:
            yield from self._batches(writing, request, cancel, Repetition() if small else None)
        finally:
            writing.stop()
            with self._lock:
                self._writing.discard(writing)

    def _batches(
        self, writing: "_Writing", request: Request, cancel: Cancel, repetition: Repetition | None
    ) -> Iterator[Sequence[Delta]]:
        """Yield the reply. One that goes round in circles is ended as if it had reached its limit."""
        reader = ReplyReader(f"call_{next(self._calls)}_{len(request.messages)}", tools=bool(request.tools))
        opened, stop, written = False, "", 0
        read = _Progress()
        writing.start()
        while True:
            with cancel.interrupting(writing.stop):
                pieces = writing.wait()
            deltas: list[Delta] = []
            for piece in pieces:
                if piece is None:
                    if not stop:
                        raise ProviderUnavailable(self.name, "the reply was cut short")
                    yield [*deltas, *reader.end(), Stopped(_stop(stop, called=reader.called))]
                    return
                chunk = _understood(piece)
                if chunk.error is not None:
                    raise _Failed(chunk.error)
                if not opened:
                    opened = True
                    deltas.append(ReplyOpened())
                read = chunk.prompt_progress or read
                for choice in chunk.choices:
                    if choice.delta is not None:
                        if choice.delta.reasoning_content:
                            deltas += reader.think(choice.delta.reasoning_content)
                        if choice.delta.content:
                            written += 1
                            deltas += reader.feed(choice.delta.content)
                            if repetition is not None and repetition.heard_in(choice.delta.content):
                                used = UsageReported(Usage(max(read.total - read.cache, 0), written, read.cache))
                                yield [*deltas, *reader.end(), used, Stopped("length")]
                                return
                    stop = choice.finish_reason or stop
                if chunk.usage is not None:
                    deltas.append(UsageReported(_usage(chunk.usage)))
            if deltas:
                yield deltas

    def _body(self, request: Request, written: list[dict[str, str]]) -> bytes:
        model = request.model
        body: dict[str, Any] = {
            "messages": written,
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,  # So that an abort is noticed while the prompt is read.
            "max_tokens": model.max_output,
            "temperature": self._sampling.temperature,
            "seed": self._sampling.seed,
            "cache_prompt": True,
            "chat_template_kwargs": {"enable_thinking": request.level != "off"},
        }
        if request.tools:
            body["grammar"] = grammar(request.tools)
        return json.encode(body)


class _Writing:
    """A reply that is being written, by a thread of its own: the library calls back until the reply is over.

    Invariant: once `stop` was called, the model gets to write one more token at most that anybody waits for; `wait`
    returns at once.
    """

    def __init__(self, engine: Engine, body: bytes) -> None:
        self._engine: Engine | None = engine
        self._body = body
        self._heard: SimpleQueue[bytes | None] = SimpleQueue()
        self._stopped = False

    def start(self) -> None:
        # Not a daemon: the interpreter must not end under a thread that is about to call back.
        Thread(target=self._run, name="linnet-local").start()

    def wait(self) -> list[bytes | None]:
        """Return what was heard since the last time, at least one piece; None is the end."""
        pieces = [self._heard.get()]
        while not self._heard.empty():
            pieces.append(self._heard.get())
        return pieces

    def stop(self) -> None:
        self._stopped = True
        self._heard.put(None)

    def _run(self) -> None:
        engine, self._engine = self._engine, None  # So that the thread is the last to let go of it.
        assert engine is not None
        try:
            engine.write(self._body, self._hear)
        finally:
            self._heard.put(None)

    def _hear(self, piece: bytes) -> bool:
        """Keep a piece. Return whether nobody wants more: after an abort, or when the program has ended."""
        self._heard.put(piece)
        return self._stopped or not main_thread().is_alive()


def _understood(piece: bytes) -> _Chunk:
    try:
        return _decode(piece)
    except (DecodeError, UnicodeDecodeError):
        return _Chunk(error=_Fault("llama.cpp said something that is not understood here"))


def _usage(tokens: _Tokens) -> Usage:
    prompt = counted(tokens.prompt_tokens)
    read = counted(tokens.prompt_tokens_details.cached_tokens if tokens.prompt_tokens_details else None)
    return Usage(max(prompt - read, 0), counted(tokens.completion_tokens), read)


def _stop(reason: str, *, called: bool) -> StopReason:
    if reason == "length":
        return "length"
    return "tool_use" if called else "end"


def _about_template(fault: _Fault) -> bool:
    """Return whether the model's chat template may be why: some refuse roles that they do not know."""
    words = fault.message.lower()
    return fault.type != _OVERFLOW and any(word in words for word in ("template", "jinja", "role"))


def _explained(fault: _Fault) -> ProviderRejected | ProviderUnavailable:
    if fault.type == _OVERFLOW:
        return ContextOverflow("local", fault.message)
    if "context size has been exceeded" in fault.message.lower():
        return ProviderUnavailable("local", "the sessions that use this model at once do not fit into its memory")
    return ProviderRejected("local", fault.message or "llama.cpp failed for no known reason")
