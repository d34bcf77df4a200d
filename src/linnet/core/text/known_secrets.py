"""Knows secrets: keys by their shape, and the values of variables by their names. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from linnet.core.text.secret_forms import ANCHOR, SHORTEST, forms

_NAMES = re.compile(r"(?:^|[_-])(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)


_PAIR = re.compile(r"(?:^|[\s;,])[\w.-]+=\"?([^\s;,\"]+)")
_SCHEMES: Final = frozenset(("basic", "bearer", "key", "token"))
_HARMLESS: Final = frozenset(
    (
        "accept",
        "accept-charset",
        "accept-encoding",
        "accept-language",
        "anthropic-beta",
        "anthropic-version",
        "cache-control",
        "connection",
        "content-language",
        "content-type",
        "copilot-integration-id",
        "editor-plugin-version",
        "editor-version",
        "http-referer",
        "openai-beta",
        "openai-intent",
        "pragma",
        "referer",
        "user-agent",
        "x-app",
        "x-github-api-version",
        "x-goog-api-client",
        "x-initiator",
        "x-openrouter-categories",
        "x-openrouter-title",
        "x-title",
    )
)
"""Headers that say who asks for what, in lower case. What others say may be a secret."""


class Value(Struct, frozen=True):
    """A secret whose bytes are known. Any beginning of them that has the anchor counts."""

    anchor: bytes  # What it begins with.
    form: bytes  # All of it.


class Shape(Struct, frozen=True):
    """Secrets that are known by what they look like."""

    anchor: bytes  # What they begin with.
    least: re.Pattern[bytes]  # What they match, from the anchor on.
    open: re.Pattern[bytes]  # What may still become one, so that a stream knows how long to wait.
    body: bytes  # They go on for as long as bytes are in this class.


_WORD = rb"A-Za-z0-9_\-"


def _shape(anchor: bytes, body: bytes, least: int) -> Shape:
    head = re.escape(anchor)
    return Shape(
        anchor,
        re.compile(rb"%b[%b]{%d,}" % (head, body, least)),
        re.compile(rb"%b[%b]{0,%d}" % (head, body, least)),
        body,
    )


SHAPES: Final[tuple[Shape, ...]] = (
    *(
        _shape(head, _WORD, 20)
        for head in (b"sk-", b"github_pat_", b"glpat-", b"AIza", b"pypi-", b"sk_live_", b"rk_live_")
    ),
    *(
        _shape(head, _WORD, 20)
        for head in (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"hf_", b"npm_", b"gsk_", b"xai-")
    ),
    *(_shape(head, _WORD, 10) for head in (b"xoxa-", b"xoxb-", b"xoxp-", b"xoxr-", b"xoxs-")),
    *(_shape(head, b"A-Z0-9", 16) for head in (b"AKIA", b"ASIA")),
    *(_shape(head, rb"A-Za-z0-9._~+/=\-", 16) for head in (b"Bearer ", b"bearer ", b"Basic ", b"basic ")),
    Shape(
        b"eyJ",
        re.compile(rb"eyJ[%b]{6,4000}\.[%b]{6,}" % (_WORD, _WORD)),
        re.compile(rb"eyJ[%b]{0,4000}(?:\.[%b]{0,5})?" % (_WORD, _WORD)),
        rb"%b." % _WORD,
    ),
    Shape(
        b"-----BEGIN ",
        re.compile(rb"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----"),
        re.compile(rb"-----BEGIN [A-Z ]{0,42}-{0,5}"),
        rb"A-Za-z0-9+/=\s\\\-",
    ),
)


def is_secret_name(name: str) -> bool:
    """Return whether a variable or a flag of this name holds a secret: it ends in key, token, secret or password."""
    return bool(_NAMES.search(name))


def of_environment(environ: Mapping[str, str]) -> list[str]:
    """Return the secrets in the environment."""
    return [value for name, value in environ.items() if is_secret_name(name)]


def of_headers(headers: Mapping[str, str]) -> list[str]:
    """Return what may be a secret in the headers that somebody has written down: the value of each whose name does not
    say that it is harmless, the part of it behind a word such as Bearer, and the values of pairs as in a cookie.
    """
    found: list[str] = []
    for name, value in headers.items():
        words = value.split()
        if not words or name.lower() in _HARMLESS:
            continue
        if len(words) == 2:
            found.append(words[1])
        if len(words) != 2 or words[0].lower() not in _SCHEMES:
            found.append(_beyond_scheme(value.strip()))
        found += _PAIR.findall(value)
    return found


def _beyond_scheme(value: str) -> str:
    """Return a value without what every URL begins with: a few of its first bytes are enough to know a secret by."""
    return re.sub(r"^https?://", "", value)


def values(secrets: Iterable[str]) -> tuple[Value, ...]:
    """Return every form in which the secrets may be printed, the longest first, without those below SHORTEST."""
    found = {form for secret in secrets if len(secret) >= SHORTEST for form in forms(secret) if len(form) >= SHORTEST}
    return tuple(Value(form[:ANCHOR], form) for form in sorted(found, key=lambda form: (-len(form), form)))
