"""Chooses the error that a vendor's refusal stands for, by its HTTP status or the vendor's own code.

The one exception is a conversation that no longer fits: not every vendor has a code for it, so its words are read.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import DecodeError, Struct

from linnet.decoding import decoder_of
from linnet.errors import ContextOverflow, ProviderError, ProviderRejected, ProviderUnavailable

_SHOWN = 2048
_RETRYABLE = frozenset((408, 409, 425, 429))
_TRANSIENT = frozenset(
    (
        "api_error",
        "insufficient_system_resource",
        "internal_error",
        "internal_server_error",
        "overloaded",
        "overloaded_error",
        "rate_limit_error",
        "rate_limit_exceeded",
        "server_error",
        "service_unavailable",
        "service_unavailable_error",
        "timeout",
        "timeout_error",
    )
)
_KEYS = frozenset(("authentication_error", "invalid_api_key"))
_HOPELESS = frozenset(("insufficient_quota", "billing_error", "billing_hard_limit_reached"))
_OVERFLOW_CODES = frozenset(("context_length_exceeded", "request_too_large"))
_OVERFLOW_WORDS = (
    "prompt is too long",
    "maximum context length",
    "exceed context limit",
    "exceeds the context window",
    "context_length_exceeded",
    "exceeds the available context size",
)


class Fault(Struct):
    """What vendors put under `error`. Each uses some of these fields."""

    type: str | None = None
    code: Any = None
    message: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.code, str | int):
            self.code = None


class _Envelope(Struct):
    error: Fault | str | None = None


_decode = decoder_of(_Envelope).decode


def from_status(provider: str, status: int, headers: Mapping[str, str], body: bytes, now: float) -> ProviderError:
    """Return the error for an HTTP answer that is not a success. Header names are in lower case; `now` is Unix time."""
    text = body.decode("utf-8", "replace").strip()
    if len(text) > _SHOWN:
        text = text[:_SHOWN] + "…"
    if 300 <= status < 400:
        target = headers.get("location", "nowhere")[:_SHOWN]
        return ProviderRejected(
            provider, f"http {status}: redirects are not followed (to {target}); set the base URL", status
        )
    reason = f"http {status}: {text}" if text else f"http {status}"
    fault = _fault(body)
    if status == 413 or _overflows(fault.code, fault.type, fault.message or text):
        return ContextOverflow(provider, reason, status)
    if fault.code in _HOPELESS or fault.type in _HOPELESS:
        return ProviderRejected(provider, reason, status)
    if status in _RETRYABLE or status >= 500:
        return ProviderUnavailable(provider, reason, retry_after(headers, now), status)
    return ProviderRejected(provider, reason, status)


def from_fault(provider: str, fault: Fault | str) -> ProviderError:
    """Return the error for a fault that arrived inside a stream which had begun well."""
    if isinstance(fault, str):
        fault = Fault(message=fault)
    kind = fault.type or (fault.code if isinstance(fault.code, str) else None) or "error"
    reason = f"{kind}: {fault.message or 'no reason given'}"
    if _overflows(fault.code, fault.type, fault.message or ""):
        return ContextOverflow(provider, reason)
    if fault.code in _HOPELESS or fault.type in _HOPELESS:
        return ProviderRejected(provider, reason)
    if fault.code in _KEYS or fault.type in _KEYS or fault.code == 401:
        return ProviderRejected(provider, reason, 401)
    if isinstance(fault.code, int) and (fault.code in _RETRYABLE or fault.code >= 500):
        return ProviderUnavailable(provider, reason)
    if fault.type in _TRANSIENT or (isinstance(fault.code, str) and fault.code in _TRANSIENT):
        return ProviderUnavailable(provider, reason)
    return ProviderRejected(provider, reason)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds to wait, if the vendor said so in any of the three spellings; else None."""
    if (exact := _seconds(headers.get("retry-after-ms", ""))) is not None:
        return exact / 1000
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if (seconds := _seconds(value)) is not None:
        return seconds
    from email.utils import parsedate_to_datetime  # 5 ms that only a date should pay for

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError, TypeError, IndexError):  # It was written for mail, and trusts its senders.
        return None


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e9 else None


def _fault(body: bytes) -> Fault:
    try:
        error = _decode(body).error
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return Fault()
    if isinstance(error, str):
        return Fault(message=error)
    return error or Fault()


def _overflows(code: object, type: str | None, message: str) -> bool:
    if code in _OVERFLOW_CODES or type in _OVERFLOW_CODES:
        return True
    words = message.lower()
    return any(clue in words for clue in _OVERFLOW_WORDS)
