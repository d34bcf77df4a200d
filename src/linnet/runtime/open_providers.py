"""The providers that a session has opened, one for each server that its models are asked at."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.core.models import Model
    from linnet.providers.base import Provider
    from linnet.providers.endpoint import Run
    from linnet.providers.watch import Watch
    from linnet.runtime.settings.settings import Settings
    from linnet.runtime.tape import Tape

_Server: TypeAlias = tuple[str, str, str]
"""What has connections of its own: a provider, an API and an address."""


class OpenProviders:
    """Not safe for threads: whoever has it sees to that."""

    def __init__(
        self,
        trace: Callable[[str], None] | None = None,
        tape: "Tape | None" = None,
        run: "Run | None" = None,
        watch: "Callable[[], Watch | None] | None" = None,
    ) -> None:
        """`trace` is told what is asked of models and how it went. `tape` records it, or is played instead. `run` runs
        what prints credentials. `watch` returns who sees requests and replies, if anybody does.
        """
        self._trace = trace
        self._tape = tape
        self._run = run
        self._watch = watch
        self._open: dict[_Server, Provider] = {}

    def find(self, model: "Model") -> "Provider | None":
        """Return what asks this model, if it was opened."""
        return self._open.get(_server(model))

    def provider(
        self, model: "Model", key: str, settings: "Settings", token: "Callable[[Cancel], str] | None" = None
    ) -> "Provider":
        """Return what asks this model; open it with this key, if it was not. `token` gets the key again. Raises
        ConfigError.
        """
        server = _server(model)
        if server not in self._open:
            opened = partial(self._opened, model, key, settings, token)
            self._open[server] = opened() if self._tape is None else self._tape.provider(opened, key)
        return self._open[server]

    def take_all(self) -> "list[Provider]":
        """Return all of them, to be closed by the caller, and forget them."""
        known, self._open = self._open, {}
        return list(known.values())

    def _opened(
        self, model: "Model", key: str, settings: "Settings", token: "Callable[[Cancel], str] | None"
    ) -> "Provider":
        from linnet.providers.factory import build
        from linnet.providers.http.client import Timeouts

        name = model.provider
        info = settings.known_providers.info(name)
        return build(
            name,
            key,
            model.base_url,
            api=model.api,
            headers=info.headers,
            auth=settings.accounts.key(name).auth,
            attempts=1 if settings.retry_runs else settings.retries + 1,
            timeouts=Timeouts(settings.connect_timeout, settings.timeout, settings.first_byte_timeout),
            trace=self._trace,
            advice=settings.accounts.advice(name),
            max_reply=settings.max_reply,
            environ=settings.environ,
            token=token,
            given=settings.known_providers.given(name) or settings.script,
            run=self._run,
            watch=self._watch,
            secrets=[settings.environ.get(variable, "") for variable in info.header_variables],
        )


def _server(model: "Model") -> _Server:
    return model.provider, model.api, model.base_url
