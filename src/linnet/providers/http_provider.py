"""A provider over HTTP, made of three parts: an API, what lets a request in, and an HTTP client."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec.structs import replace

from linnet.core.cancel import Cancel
from linnet.core.deltas import Delta, merged
from linnet.errors import ProviderError, ProviderUnavailable
from linnet.providers.base import Request
from linnet.providers.endpoint import Endpoint
from linnet.providers.http.call import HttpCall
from linnet.providers.http.client import HttpClient, HttpReply
from linnet.providers.http.sse import EventTooLarge

if TYPE_CHECKING:
    from linnet.providers.watch import Watch

# Once a reply has more bytes, the deltas of one network read are merged: pi's clients get the whole message with each.
# No model writes as much; a server that floods us does.
LONG = 16 << 20


class Reader(Protocol):
    """Turns the payloads of one reply into deltas."""

    finished: bool  # The reply is whole.
    failure: ProviderError | None  # Why the reply has failed, if it has.

    def feed(self, payloads: Sequence[bytes]) -> list[Delta]:
        """Return the deltas of these payloads."""

    def end(self, cut: ProviderError | None = None) -> list[Delta]:
        """Return the last deltas: no more payloads will come, for the reason `cut` if there is one. Sets `failure` if
        the reply is not whole.
        """


class Framing(Protocol):
    """Splits the body of one reply into payloads."""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the payloads that these bytes complete. Raises EventTooLarge, or ValueError for what is no frame."""


class HttpApi(Protocol):
    """How requests are spelled and replies are read. It may keep what it has spelled, for the next request."""

    def exchange(self, request: Request) -> tuple[HttpCall, Reader]:
        """Return what is posted, and what reads the reply."""

    def framing(self, limit: int) -> Framing:
        """Return what splits the body of a reply. No payload may have more than `limit` bytes."""


Authorize: TypeAlias = Callable[[HttpCall, Cancel], Mapping[str, str]]
"""Returns the headers that let this very request in: a signature, or a token that may have to be fetched. Raises
ProviderError or Cancelled.
"""


Resume: TypeAlias = Callable[[Request, Reader], HttpCall | None]
"""Returns what is posted for the rest of a reply that its vendor sends in more than one answer, and has the reader
expect it; None if the reply is whole.
"""


class HttpProvider:
    """Implements Provider over HTTP."""

    def __init__(
        self,
        endpoint: Endpoint,
        client: HttpClient,
        api: HttpApi,
        authorize: Authorize | None = None,
        resume: Resume | None = None,
    ) -> None:
        """`authorize` is for what the client's own headers do not do. `resume` is for an API that has long replies in
        several answers.
        """
        self.name = client.provider
        self._endpoint = endpoint
        self._client = client
        client.bare_overflow = endpoint.bare_overflow
        if endpoint.max_reply is not None:
            client.max_reply = endpoint.max_reply
        self._api = api
        self._authorize = authorize
        self._resume = resume
        self._spelling = Lock()

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        """Yield the deltas of one reply. No error that leaves through here has our key in it, whoever worded it."""
        cancel.check()
        reply: HttpReply | None = None
        try:
            with self._spelling:
                following, reader = self._api.exchange(request)
            call: HttpCall | None = following
            watch = self._endpoint.watch() if self._endpoint.watch is not None else None
            while call is not None:
                if watch is not None:
                    call = self._watched(_watched(call, request, watch, cancel), request, watch, cancel)
                if self._authorize is not None:
                    call = replace(call, headers={**call.headers, **self._authorize(call, cancel)})
                reply = self._client.post(call, cancel)
                if watch is not None:
                    watch.answered(reply.head.status, reply.head.headers)
                yield from self._batches(reply, reader, request, watch)
                if reader.failure is not None:
                    raise reader.failure
                reply.release()
                reply = None
                call = self._rest(request, reader)
        except BaseException as error:
            if reply is not None:
                reply.close()
            if isinstance(error, ProviderError):
                error.args = (self._told(error, request),)
            raise

    def warm(self) -> None:
        self._client.warm()

    def close(self) -> None:
        self._client.close()

    def _rest(self, request: Request, reader: Reader) -> HttpCall | None:
        if self._resume is None:
            return None
        with self._spelling:
            return self._resume(request, reader)

    def _told(self, error: ProviderError, request: Request) -> str:
        from linnet.core.text.known_secrets import of_headers
        from linnet.core.text.secret_forms import without  # 4 ms that only a failure should pay for

        endpoint = self._endpoint
        written = [*of_headers(endpoint.headers), *of_headers(request.model.headers)]
        sentence = without(str(error), [*self._client.secrets, *endpoint.secrets, *written])
        return f"{sentence} ({endpoint.advice})" if endpoint.advice and error.status == 401 else sentence

    def _watched(self, call: HttpCall, request: Request, watch: "Watch", cancel: Cancel) -> HttpCall:
        """Return the call with the headers that extensions want. They see none that may be a secret."""
        from linnet.core.text.known_secrets import of_headers

        given = {**self._endpoint.headers, **request.model.headers}
        before = {name: value for name, value in given.items() if not of_headers({name: value})}
        after = {name: value for name, value in watch.headers(before, cancel).items() if name.lower() not in _FRAMING}
        changed = {name: value for name, value in after.items() if value != before.get(name, "")}
        if not changed:
            return call
        named = {name.lower() for name in changed}
        kept = {name: value for name, value in call.headers.items() if name.lower() not in named}
        added = {name: value for name, value in changed.items() if value is not None}
        return replace(call, headers={**kept, **added}, without=frozenset(named - {name.lower() for name in added}))

    def _batches(
        self, reply: HttpReply, reader: Reader, request: Request, watch: "Watch | None"
    ) -> Iterator[Sequence[Delta]]:
        most = self._client.max_reply
        frames = self._api.framing(most)
        while not reader.finished and reader.failure is None:
            try:
                data = reply.read()
                payloads = frames.feed(data)
            except ProviderUnavailable as cut:
                if deltas := reader.end(cut):
                    yield deltas
                return
            except EventTooLarge:
                raise self._client.too_large() from None
            except ValueError as error:
                raise ProviderUnavailable(self.name, f"the reply was garbled: {error}") from None
            if watch is not None:
                for payload in payloads:
                    watch.heard(payload, request.model)
            if deltas := reader.feed(payloads) if data else reader.end():
                yield merged(deltas) if reply.heard > LONG else deltas


_FRAMING = frozenset(("connection", "content-length", "host", "transfer-encoding"))
"""Headers that say where a request goes and where it ends, which are nobody's to change."""


def _watched(call: HttpCall, request: Request, watch: "Watch", cancel: Cancel) -> HttpCall:
    """Return the call as extensions want it; one whose body is no JSON is theirs neither to see nor to change."""
    from msgspec import DecodeError, json

    try:
        before = json.decode(b"".join(bytes(piece) for piece in call.body))
    except DecodeError:
        return call
    after = watch.asked(before, request.model, cancel)
    return call if after == before else replace(call, body=(json.encode(after),))
