"""Access tokens for Google Cloud: from a command, from the key of a service account, or from a login by gcloud.

Where a token comes from a command, somebody else runs it.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from time import monotonic, time
from typing import TYPE_CHECKING, TypeAlias

from msgspec import MsgspecError, Struct
from msgspec.json import encode

from linnet.core.cancel import Cancel
from linnet.decoding import decoder_of
from linnet.errors import ConfigError, ProviderError, ProviderRejected
from linnet.providers.google.credentials_file import CredentialsFile
from linnet.providers.http.call import HttpCall
from linnet.providers.http.client import HttpClient

if TYPE_CHECKING:
    from linnet.providers.http.client import Timeouts

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_UNKNOWN_LIFE = 300.0  # Seconds for a token of which nobody says how long it lasts: gcloud prints none with less.
_MARGIN = 60.0  # So many seconds before its end a token is fetched again.
_LARGEST = 1 << 20  # Bytes of an answer.
_SECRETS = ("assertion", "client_secret", "refresh_token")


class Token(Struct, frozen=True):
    """A word that lets requests in, for so many seconds from now."""

    word: str
    life: float = _UNKNOWN_LIFE

    def __repr__(self) -> str:
        return f"Token(life={self.life!r})"


class _Granted(Struct, frozen=True):
    access_token: str
    expires_in: float = _UNKNOWN_LIFE


Fetch: TypeAlias = Callable[[Cancel], Token]
"""Gets a token. May block until it is cancelled. Raises ProviderError or Cancelled."""


class Tokens:
    """The token that is in use. It is fetched when it is first asked for, and again before it expires."""

    def __init__(self, fetch: Fetch, first: Token | None = None, clock: Callable[[], float] = monotonic) -> None:
        self._fetch = fetch
        self._clock = clock
        self._known: tuple[str, float] | None = None
        if first is not None:
            self._known = first.word, clock() + first.life

    def token(self, cancel: Cancel) -> str:
        """Return a token that still holds. Two threads that ask at once may both fetch one."""
        known = self._known
        if known is None or self._clock() >= known[1]:
            fetched = self._fetch(cancel)
            known = self._known = fetched.word, self._clock() + fetched.life
        return known[0]


def printed(provider: str, run: Callable[[Cancel], str]) -> Fetch:
    """Return what gets tokens from a command that prints one."""

    def fetch(cancel: Cancel) -> Token:
        try:
            return Token(run(cancel))
        except ConfigError as error:
            raise ProviderRejected(provider, str(error)) from None

    return fetch


def granted(provider: str, credentials: CredentialsFile, timeouts: "Timeouts | None" = None) -> Fetch:
    """Return what gets tokens for these credentials from the server that they name."""

    def fetch(cancel: Cancel) -> Token:
        if credentials.type == "service_account":
            form = {"grant_type": _JWT_BEARER, "assertion": assertion(provider, credentials, time())}
        else:
            form = {
                "grant_type": "refresh_token",
                "client_id": credentials.client_id,
                "client_secret": credentials.client_secret,
                "refresh_token": credentials.refresh_token,
            }
        return _asked(provider, credentials.token_uri, form, timeouts, cancel)

    return fetch


def assertion(provider: str, account: CredentialsFile, now: float) -> str:
    """Return what a service account signs to say who it is. Raises ProviderRejected."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise ProviderRejected(
            provider, "the key of a service account needs the cryptography package: pip install 'linnet-agent[vertex]'"
        ) from None
    try:
        key = load_pem_private_key(account.private_key.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, RSAPrivateKey):
        raise ProviderRejected(provider, f"the private key of {account.client_email} cannot be used")
    head = {"alg": "RS256", "typ": "JWT", **({"kid": account.private_key_id} if account.private_key_id else {})}
    claims = {
        "iss": account.client_email,
        "scope": SCOPE,
        "aud": account.token_uri,
        "iat": int(now),
        "exp": int(now) + 3600,
    }
    signed = b".".join((_plain(encode(head)), _plain(encode(claims))))
    return b".".join((signed, _plain(key.sign(signed, PKCS1v15(), SHA256())))).decode()


def _plain(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


def _asked(provider: str, address: str, form: Mapping[str, str], timeouts: "Timeouts | None", cancel: Cancel) -> Token:
    """Return the token that a server grants. Raises ProviderError, in which there is nothing of what it was sent."""
    from urllib.parse import urlencode

    client = HttpClient(provider, address, {"Content-Type": "application/x-www-form-urlencoded"}, timeouts)
    client.max_reply = _LARGEST
    call = HttpCall(client.url.path, body=[urlencode(form).encode()])
    try:
        reply = client.post(call, cancel, accept=lambda kind: kind == "application/json")
        pieces: list[bytes] = []
        try:
            while piece := reply.read():
                pieces.append(piece)
        finally:
            reply.close()
        found = decoder_of(_Granted).decode(b"".join(pieces))
    except ProviderError as error:
        error.args = (
            _told(provider, client, error, [*client.secrets, *(form[name] for name in _SECRETS if name in form)]),
        )
        raise
    except (MsgspecError, UnicodeError, RecursionError):
        raise ProviderRejected(provider, f"{client.url.address} answered with something that is no token") from None
    finally:
        client.close()
    word = found.access_token
    if not word or not word.isascii() or not word.isprintable() or " " in word:
        raise ProviderRejected(provider, f"{client.url.address} answered with something that is no token")
    return Token(word, max(found.expires_in - _MARGIN, 0.0))


def _told(provider: str, client: HttpClient, error: ProviderError, secrets: Sequence[str]) -> str:
    from linnet.core.text.secret_forms import without

    reason = str(error).removeprefix(f"{provider}: ")
    return f"{provider}: no access token from {client.url.address}: {without(reason, secrets)}"
