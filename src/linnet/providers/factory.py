"""Builds a provider by name. Nothing of a vendor is imported before it is asked for."""

from typing import TYPE_CHECKING

from linnet.errors import ConfigError, MissingKey, UnknownProvider
from linnet.providers import catalog

if TYPE_CHECKING:
    from collections.abc import Callable

    from linnet.providers.base import Provider
    from linnet.providers.http.client import Timeouts
    from linnet.providers.http_provider import HttpProvider


def build(
    provider: str,
    api_key: str,
    base_url: str | None = None,
    *,
    api: catalog.Api | None = None,
    attempts: int = 4,
    timeouts: "Timeouts | None" = None,
    trace: "Callable[[str], None] | None" = None,
    advice: str = "",
    max_reply: int | None = None,
) -> "Provider":
    """Return a provider. Raises ConfigError if it can be known now that no request would work.

    A provider that the catalogue does not know needs `api`, the vendor protocol it speaks, and its `base_url`. Only a
    server at a URL of one's own choosing may go without a key. `trace` is told what is asked and how it went. `advice`
    says what to do about a key that the vendor refuses. A reply has at most `max_reply` bytes.
    """
    known = catalog.PROVIDERS.get(provider)
    kind = api or (known.api if known else None)
    url = base_url or (known.base_url if known else None)
    if kind is None:
        raise UnknownProvider(provider, catalog.PROVIDERS)
    if url is None:
        raise ConfigError(f'the provider "{provider}" needs a base URL')
    key = api_key.strip()
    if not key and known and not base_url:
        raise MissingKey(provider, known.key_variable)

    from linnet.providers.retry import RetryingProvider

    over_http: HttpProvider
    if kind == "anthropic":
        from linnet.providers.anthropic.provider import anthropic

        over_http = anthropic(provider, key, url, timeouts)
    else:
        from linnet.providers.openai_chat.provider import openai_chat

        over_http = openai_chat(provider, key, url, timeouts)
    over_http.advice = advice
    if max_reply is not None:
        over_http.limit(max_reply)
    if trace is None:
        return RetryingProvider(over_http, attempts)
    from linnet.providers.trace import Traced

    return RetryingProvider(Traced(over_http, trace, url), attempts, trace=trace)
