"""Lets extensions see what is sent to a vendor, and what comes back."""

from collections.abc import Mapping
from typing import Any

from msgspec import DecodeError, json

from linnet.core.cancel import Cancel
from linnet.core.extensions.hooks import ProviderAsking
from linnet.core.models import Model
from linnet.extensions.chain import Chain


class ChainWatch:
    """Implements Watch. Each extension sees what those before it changed."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    def asked(self, payload: Any, model: Model, cancel: Cancel) -> Any:
        if not self._chain.handles("before_provider_request"):
            return payload
        return self._chain.ask(ProviderAsking(payload), cancel).event.payload

    def headers(self, headers: dict[str, str], cancel: Cancel) -> Mapping[str, str | None]:
        return self._chain.headers(headers, cancel) if self._chain.wants("before_provider_headers") else headers

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        self._chain.told_of("after_provider_response", {"status": status, "headers": dict(headers)})

    def heard(self, payload: bytes, model: Model) -> None:
        if not self._chain.wants("provider_stream_event"):
            return
        try:
            data = json.decode(payload)
        except DecodeError:
            return
        told = {"provider": model.provider, "api": model.api, "model": model.id, "data": data}
        self._chain.told_of("provider_stream_event", told)


def watch_of(chain: Chain) -> ChainWatch | None:
    """Return what sees requests and replies; None if no extension wants that now."""
    told = ("before_provider_headers", "after_provider_response", "provider_stream_event")
    return ChainWatch(chain) if chain.handles("before_provider_request") or any(map(chain.wants, told)) else None
