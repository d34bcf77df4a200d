"""Chooses the error that a vendor's refusal stands for, by its HTTP status or the vendor's own codes.

The one exception is a conversation that no longer fits: not every vendor has a code for it, so its words are read.
"""

from collections.abc import Mapping

from linnet.errors import ContextOverflow, ProviderError, ProviderRejected, ProviderUnavailable
from linnet.providers.http import overflow
from linnet.providers.http.faults import Fault as Fault
from linnet.providers.http.faults import read, seconds_of

_SHOWN = 2048
_RETRYABLE = frozenset((408, 409, 425, 429))

# Types and codes, in the spelling of `Fault.words`.
_TRANSIENT = frozenset(
    (
        "aborted",  # Google
        "apierror",  # Anthropic
        "connectionfailed",  # OpenAI
        "deadlineexceeded",  # Google
        "flexunavailable",  # OpenAI
        "insufficientsystemresource",  # DeepSeek
        "internal",  # Google
        "internalerror",
        "internalserver",  # Bedrock
        "internalservererror",
        "networkerror",
        "overloaded",
        "overloadederror",  # Anthropic
        "ratelimiterror",  # Anthropic, OpenAI
        "ratelimitexceeded",  # OpenAI
        "requesttimeout",  # OpenAI
        "resourceexhausted",  # Google
        "servererror",  # OpenAI
        "serverisoverloaded",  # OpenAI
        "serveroverloaded",  # OpenAI
        "serviceunavailable",  # Bedrock, and others
        "serviceunavailableerror",  # OpenAI
        "slowdown",  # OpenAI
        "timeout",
        "timeouterror",  # Anthropic
        "unavailable",  # Google
    )
)
_TRANSIENT_ANYWHERE = frozenset(  # Bedrock's, which come with a status that would say otherwise.
    ("modelerror", "modelnotready", "modelstreamerror", "modeltimeout", "throttling", "toomanyrequests")
)
_KEYS = frozenset(
    (
        "authenticationerror",  # Anthropic, OpenAI
        "invalidapikey",  # OpenAI
        "apikeyinvalid",  # Google, with status 400
        "unauthenticated",  # Google
        "unrecognizedclient",  # AWS, with status 403
        "expiredtoken",  # AWS, with status 403
    )
)
_HOPELESS = frozenset(  # Only money, or somebody at the vendor, changes these.
    (
        "billingerror",  # Anthropic
        "billinghardlimitreached",  # OpenAI
        "billingnotactive",  # OpenAI
        "creditbalanceexhausted",  # OpenAI
        "enforcedspendlimitreached",  # Anthropic, as a detail of a rate_limit_error
        "insufficientquota",  # OpenAI
        "organizationonhold",  # Anthropic
        "organizationspendlimitexceeded",  # OpenAI
        "organizationusagelimitexceeded",  # OpenAI
        "projectspendlimitexceeded",  # OpenAI
        "servicequotaexceeded",  # Bedrock
        "usagelimitexceeded",  # OpenAI
    )
)
_PAY = 402


def from_status(
    provider: str,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    now: float,
    *,
    bare_overflow: bool = False,
) -> ProviderError:
    """Return the error for an HTTP answer that is not a success. Never raises.

    Header names are in lower case; `now` is Unix time. Where `bare_overflow` holds, a 400 without a word means that the
    conversation does not fit.
    """
    text = body.decode("utf-8", "replace").strip()
    if len(text) > _SHOWN:
        text = text[:_SHOWN] + "…"
    if 300 <= status < 400:
        target = headers.get("location", "nowhere")[:_SHOWN]
        return ProviderRejected(
            provider, f"http {status}: redirects are not followed (to {target}); set the base URL", status
        )
    reason = f"http {status}: {text}" if text else f"http {status}"
    fault = read(body, headers.get("x-amzn-errortype", ""))
    words = fault.words
    # With status 429, words about tokens are about the pace.
    if (
        status == 413
        or words & overflow.CODES
        or (status == 400 and bare_overflow and not text)
        or (status != 429 and overflow.told_by(fault.told or text))
    ):
        return ContextOverflow(provider, reason, status)
    if words & _HOPELESS or status == _PAY:
        return ProviderRejected(provider, reason, status)
    if words & _KEYS and status < 500:
        return ProviderRejected(provider, reason, 401)
    again = {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())
    if again is None:
        again = status in _RETRYABLE or status >= 500 or bool(words & _TRANSIENT_ANYWHERE)
    if not again:
        return ProviderRejected(provider, reason, status)
    asked = retry_after(headers, now)
    return ProviderUnavailable(provider, reason, fault.delay if asked is None else asked, status)


def cut_short(provider: str) -> ProviderError:
    """Return the error for a reply whose stream ended before the reply did."""
    return ProviderUnavailable(provider, "the reply was cut short")


def ended_oddly(provider: str, reason: str | None, said: str = "") -> ProviderError:
    """Return the error for a reply that ended for an unknown reason. `said` is what the vendor said beside it."""
    return ProviderRejected(provider, f'the reply ended for a reason that is not known here: "{reason}"{said}')


def from_fault(provider: str, fault: Fault | str) -> ProviderError:
    """Return the error for a fault that arrived inside a stream which had begun well. Never raises."""
    if isinstance(fault, str):
        fault = Fault(message=fault)
    words, number = fault.words, fault.number
    kind = fault.type or next((each for each in (fault.code, fault.status) if each and isinstance(each, str)), "error")
    reason = f"{kind}: {fault.message or 'no reason given'}"
    if words & overflow.CODES or (number != 429 and overflow.told_by(fault.told)):
        return ContextOverflow(provider, reason)
    if words & _HOPELESS or number == _PAY:
        return ProviderRejected(provider, reason)
    if words & _KEYS or number == 401:
        return ProviderRejected(provider, reason, 401)
    passing = number is not None and (number in _RETRYABLE or number >= 500)
    if passing or words & (_TRANSIENT | _TRANSIENT_ANYWHERE):
        return ProviderUnavailable(provider, reason, fault.delay)
    return ProviderRejected(provider, reason)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds to wait, if the vendor said so in any of the three spellings; else None."""
    if (exact := seconds_of(headers.get("retry-after-ms", ""))) is not None:
        return exact / 1000
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if (seconds := seconds_of(value)) is not None:
        return seconds
    from email.utils import parsedate_to_datetime  # 5 ms that only a date should pay for

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError, TypeError, IndexError):  # It was written for mail, and trusts its senders.
        return None
