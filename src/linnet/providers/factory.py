"""Builds a provider by name. Nothing of an API is imported before it is asked for."""

from typing import TYPE_CHECKING, Any

from linnet.core.models import NOTHING
from linnet.errors import ConfigError, MissingKey, UnknownProvider
from linnet.providers import catalog
from linnet.providers.apis import api_named
from linnet.providers.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from linnet.core.cancel import Cancel
    from linnet.providers.base import Provider
    from linnet.providers.endpoint import Run
    from linnet.providers.http.client import Timeouts
    from linnet.providers.watch import Watch


def build(
    provider: str,
    api_key: str = "",
    base_url: str | None = None,
    *,
    api: str = "",
    headers: "Mapping[str, str]" = NOTHING,
    auth: str = "",
    attempts: int = 4,
    timeouts: "Timeouts | None" = None,
    trace: "Callable[[str], None] | None" = None,
    advice: str = "",
    max_reply: int | None = None,
    environ: "Mapping[str, str]" = NOTHING,
    token: "Callable[[Cancel], str] | None" = None,
    given: Any = None,
    run: "Run | None" = None,
    secrets: "Sequence[str]" = (),
    watch: "Callable[[], Watch | None] | None" = None,
) -> "Provider":
    """Return a provider. Raises ConfigError if it can be known now that no request would work.

    A provider that the catalogue does not know needs `api`, by its name in the table, and its `base_url`. Only a server
    at a URL of one's own choosing may go without a key. `trace` is told what is asked and how it went. `advice` says
    what to do about a key that the vendor refuses. A reply has at most `max_reply` bytes. The rest is as in Endpoint.
    """
    known = catalog.PROVIDERS.get(provider)
    if known is None and not api:
        raise UnknownProvider(provider, catalog.PROVIDERS)
    kind = api_named(api or (known.api if known else ""))
    url = base_url or (known.base_url if known else "")
    key = api_key.strip()
    if kind.remote:
        if not url:
            variables = " or ".join(known.address_variables) if known else ""
            ways = f"set {variables}, or see --base-url" if variables else "see --base-url"
            raise ConfigError(f'the provider "{provider}" needs a base URL: {ways}')
        if not key and known and not known.keyless and not known.credentials and not base_url:
            raise MissingKey(provider, known.key_variable)
    endpoint = Endpoint(
        provider,
        url,
        key,
        {**known.headers, **headers} if known else headers,
        auth or (known.auth if known else ""),
        timeouts,
        max_reply,
        advice,
        environ,
        token,
        bare_overflow=known is not None and known.bare_overflow,
        given=given,
        run=run,
        secrets=secrets,
        watch=watch,
    )
    opened = kind.load()(known.placed(endpoint, kind.name) if known else endpoint)

    from linnet.providers.retry import RetryingProvider

    if trace is None:
        return RetryingProvider(opened, attempts)
    from linnet.providers.http.urls import shown
    from linnet.providers.trace import Traced

    return RetryingProvider(Traced(opened, trace, shown(url)), attempts, trace=trace)
