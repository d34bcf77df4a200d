"""Signs requests as AWS wants it (Signature Version 4). Pure: the clock is given.

The path of a request is already percent-encoded, and is encoded once more for the signature; so AWS does for all of its
services but one, which is not used here.
"""

import hmac
from collections.abc import Iterable, Mapping
from hashlib import sha256
from time import gmtime, strftime
from urllib.parse import parse_qsl, quote

from msgspec import Struct

from linnet.providers.http.call import Bytes

_ALGORITHM = "AWS4-HMAC-SHA256"


class Credentials(Struct, frozen=True):
    """What a request is signed with."""

    access_key: str
    secret_key: str
    token: str = ""
    """What comes with keys that are only lent."""
    expires: float | None = None
    """The Unix time from which they are refused; None if they do not expire."""

    def __repr__(self) -> str:
        return f"Credentials(expires={self.expires!r})"  # A trace shows no key.


class Scope(Struct, frozen=True):
    """What a signature is good for."""

    region: str
    service: str


def signed(
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: Iterable[Bytes],
    credentials: Credentials,
    scope: Scope,
    now: float,
) -> dict[str, str]:
    """Return the headers to add to a request, which let it in. `path` may have a query; `headers` are all that shall be
    signed, among them `Host`; `now` is Unix time.
    """
    stamp = strftime("%Y%m%dT%H%M%SZ", gmtime(now))
    added = {"X-Amz-Date": stamp}
    if credentials.token:
        added["X-Amz-Security-Token"] = credentials.token
    named = {name.lower(): " ".join(value.split()) for name, value in {**headers, **added}.items()}
    names = ";".join(sorted(named))
    digest = sha256()
    for piece in body:
        digest.update(piece)
    place, _, query = path.partition("?")
    canonical = "\n".join(
        (
            method,
            quote(_normal(place), safe="/~"),
            _canonical_query(query),
            *(f"{name}:{named[name]}" for name in sorted(named)),
            "",
            names,
            digest.hexdigest(),
        )
    )
    area = f"{stamp[:8]}/{scope.region}/{scope.service}/aws4_request"
    to_sign = "\n".join((_ALGORITHM, stamp, area, sha256(canonical.encode()).hexdigest()))
    key = f"AWS4{credentials.secret_key}".encode()
    for word in area.split("/"):
        key = _mac(key, word)
    signature = _mac(key, to_sign).hex()
    added["Authorization"] = (
        f"{_ALGORITHM} Credential={credentials.access_key}/{area}, SignedHeaders={names}, Signature={signature}"
    )
    return added


def _mac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")


def _normal(path: str) -> str:
    """Return the path without empty and dotted steps."""
    steps: list[str] = []
    for step in path.split("/"):
        if step == "..":
            del steps[-1:]
        elif step not in ("", "."):
            steps.append(step)
    slash = "/" if steps and path.endswith("/") else ""
    return f"/{'/'.join(steps)}{slash}"


def _canonical_query(query: str) -> str:
    """Return the query in the order of its names, then of its values. Sorted as whole texts, `00=` would come before
    `0=`, because a digit comes before the equals sign.
    """
    pairs = parse_qsl(query, keep_blank_values=True)
    encoded = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in pairs)
    return "&".join(f"{name}={value}" for name, value in encoded)
