"""Requests of ours to the client, and their answers. An answer that nobody waits for any more means nothing."""

from collections.abc import Callable
from itertools import count
from threading import Event as Signal
from threading import Lock
from typing import Any

from linnet.core.cancel import Cancel
from linnet.errors import Cancelled
from linnet.wire.acp import jsonrpc

GONE = "the client is gone"


class ClientFailed(Exception):
    """The client did not do what it was asked for; the message is its own."""


class ClientRefused(ClientFailed):
    """The client answered with an error."""


class ClientLate(ClientFailed):
    """The client did not answer in time."""


class Peer:
    """Invariant: whoever asks hears exactly one answer, unless the question is withdrawn: then none. What is open at
    `close` is answered with a failure. Any thread may call.
    """

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._ids = count()
        self._lock = Lock()
        self._open: dict[int, Callable[[jsonrpc.Response], None]] = {}
        self._closed = False

    def ask(self, method: str, params: Any, then: Callable[[jsonrpc.Response], None]) -> int:
        """Send a request, and return its number. `then` is called with the answer, in the thread that reads; it must
        not block. It is not called if the client was gone before.
        """
        with self._lock:
            id, gone = next(self._ids), self._closed
            if not gone:
                self._open[id] = then
        if not gone:
            self._send(jsonrpc.call(id, method, params))
        return id

    def withdraw(self, id: int, *, hearing: bool = False) -> None:
        """Tell the client that an answer is not needed any more, if none has come; with `hearing`, whoever asked still
        hears one that comes.
        """
        with self._lock:
            is_open = id in self._open
            if not hearing:
                self._open.pop(id, None)
        if is_open:
            self._send(jsonrpc.note("$/cancel_request", {"requestId": id}))

    def call(
        self,
        method: str,
        params: Any,
        cancel: Cancel,
        timeout: float | None = None,
        late: Callable[[jsonrpc.Response], None] | None = None,
    ) -> Any:
        """Send a request, and wait for its result. Not to be called in the thread that reads. Raises ClientFailed, also
        after `timeout` seconds, and Cancelled. An answer that comes after that goes to `late`, which must not block.
        """
        cancel.check()
        came, answers, given_up = Signal(), list[jsonrpc.Response](), False

        def take(answer: jsonrpc.Response) -> None:
            with self._lock:
                answers.append(answer)
                is_late = given_up
            came.set()
            if is_late and late is not None:
                late(answer)

        def give_up(id: int) -> None:
            nonlocal given_up
            with self._lock:
                given_up, missed = True, answers[:]
            self.withdraw(id, hearing=late is not None)
            if missed and late is not None:
                late(missed[0])

        id = self.ask(method, params, take)
        if self._closed:
            raise ClientFailed(GONE)
        try:
            with cancel.interrupting(came.set):
                came.wait(timeout)
        except Cancelled:
            give_up(id)
            raise
        with self._lock:
            given_up = not answers
        if given_up:
            give_up(id)
            raise ClientLate(f"the client did not answer {method} in time")
        if answers[0].error:
            raise (ClientFailed if self._closed else ClientRefused)(answers[0].error)
        return answers[0].result

    def take(self, answer: jsonrpc.Response) -> None:
        """Pass an answer to whoever waits for it."""
        with self._lock:
            then = self._open.pop(answer.id, None) if answer.id is not None else None
        if then is not None:
            then(answer)

    def close(self) -> None:
        """Take note that the client answers nothing any more. Idempotent."""
        with self._lock:
            self._closed = True
            waiting, self._open = self._open, {}
        for id, then in waiting.items():
            then(jsonrpc.Response(id, None, GONE))
