"""A provider that logs what is asked of a vendor, how it went and how long it took, for whoever looks for a fault."""

from collections.abc import Callable, Iterator, Sequence
from time import monotonic

from linnet.core.cancel import Cancel
from linnet.core.deltas import Delta
from linnet.errors import Cancelled, ProviderError
from linnet.providers.base import Provider, Request


class Traced:
    """Implements Provider around another one. Tells every try, in lines that have no word of the conversation."""

    def __init__(self, provider: Provider, trace: Callable[[str], None], where: str = "") -> None:
        """`where` is the address that is asked."""
        self.name = provider.name
        self._provider = provider
        self._trace = trace
        self._where = where

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        model, began = request.model, monotonic()
        what = f"{len(request.messages)} messages, {len(request.tools)} tools, thinking {request.reasoning}"
        self._trace(f"request: {self.name}/{model.id}{self._where and ' at ' + self._where}: {what}")
        answered = False
        try:
            for batch in self._provider.stream(request, cancel):
                if not answered:
                    answered = True
                    self._trace(f"answer: first bytes after {monotonic() - began:.3f} s")
                yield batch
        except ProviderError as error:
            status = f", status {error.status}" if error.status else ""
            passing = ", may pass" if error.retryable else ""
            self._trace(f"answer: failed after {monotonic() - began:.3f} s{status}{passing}: {error}")
            raise
        except Cancelled:
            self._trace(f"answer: interrupted after {monotonic() - began:.3f} s")
            raise
        self._trace(f"answer: complete after {monotonic() - began:.3f} s")

    def warm(self) -> None:
        self._provider.warm()

    def close(self) -> None:
        self._provider.close()
