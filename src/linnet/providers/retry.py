"""A provider that repeats requests that failed for a passing reason, as long as nothing of the reply was shown."""

from collections.abc import Callable, Iterator, Sequence

from linnet.core.cancel import Cancel
from linnet.core.deltas import Delta
from linnet.errors import ProviderUnavailable
from linnet.providers.base import Provider, Request

PATIENCE = 60.0  # A vendor that asks for more than this is better reported than obeyed.


class RetryingProvider:
    """Implements Provider around another one."""

    def __init__(
        self,
        provider: Provider,
        attempts: int = 4,
        base: float = 0.25,
        cap: float = 8.0,
        trace: Callable[[str], None] | None = None,
    ) -> None:
        """`attempts` counts all tries: 1 tries once. `base` and `cap` are seconds: the first wait, which doubles with
        each try, and the longest one. `trace` is told of each further try.
        """
        self._trace = trace
        self.name = provider.name
        self.provider = provider
        self._attempts = attempts
        self._base = base
        self._cap = cap

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        attempt = 0
        while True:
            begun = False
            try:
                for batch in self.provider.stream(request, cancel):
                    begun = True
                    yield batch
                return
            except ProviderUnavailable as error:
                asked = error.retry_after or 0.0
                if begun or attempt + 1 >= self._attempts or asked > PATIENCE:
                    raise
            delay = max(min(self._cap, self._base * 2**attempt), asked)
            if self._trace is not None:
                self._trace(f"retry: {attempt + 1} of {self._attempts - 1} in {delay:g} s")
            cancel.sleep(delay)
            attempt += 1

    def warm(self) -> None:
        self.provider.warm()

    def close(self) -> None:
        self.provider.close()
