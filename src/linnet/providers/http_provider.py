"""A provider over HTTP, made of three parts: a writer of requests, a reader of replies, and an HTTP client."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from linnet.core.cancel import Cancel
from linnet.core.deltas import Delta, merged
from linnet.errors import ProviderError, ProviderUnavailable
from linnet.providers.base import Request
from linnet.providers.http.client import HttpClient, HttpReply
from linnet.providers.http.sse import EventSplitter, EventTooLarge

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


class HttpProvider:
    """Implements Provider over HTTP."""

    def __init__(
        self, client: HttpClient, write: Callable[[Request], bytes], reader: Callable[[Request], Reader]
    ) -> None:
        self.advice = ""  # What to do about a key that is refused, as part of a sentence.
        self.name = client.provider
        self._client = client
        self._write = write
        self._reader = reader

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        """Yield the deltas of one reply. No error that leaves through here has our key in it, whoever worded it."""
        cancel.check()
        reply: HttpReply | None = None
        try:
            reply = self._client.post(self._write(request), cancel)
            reader = self._reader(request)
            yield from self._batches(reply, reader)
            if reader.failure is not None:
                raise reader.failure
        except BaseException as error:
            if reply is not None:
                reply.close()
            if isinstance(error, ProviderError):
                error.args = (self._told(error),)
            raise
        reply.release()

    def limit(self, max_reply: int) -> None:
        """Let no reply have more bytes than this."""
        self._client.max_reply = max_reply

    def warm(self) -> None:
        self._client.warm()

    def close(self) -> None:
        self._client.close()

    def _told(self, error: ProviderError) -> str:
        from linnet.core.text.secret_forms import without  # 4 ms that only a failure should pay for

        sentence = without(str(error), self._client.secrets)
        return f"{sentence} ({self.advice})" if self.advice and error.status == 401 else sentence

    def _batches(self, reply: HttpReply, reader: Reader) -> Iterator[Sequence[Delta]]:
        most = self._client.max_reply
        events = EventSplitter(most)
        while not reader.finished and reader.failure is None:
            try:
                data = reply.read()
                payloads = events.feed(data)
            except ProviderUnavailable as cut:
                if deltas := reader.end(cut):
                    yield deltas
                return
            except EventTooLarge:
                raise self._client.too_large() from None
            if deltas := reader.feed(payloads) if data else reader.end():
                yield merged(deltas) if reply.heard > LONG else deltas
