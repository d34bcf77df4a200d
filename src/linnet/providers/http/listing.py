"""Asks a server which models it has: one short GET, which is bounded in time and in size."""

import os
from collections.abc import Mapping
from threading import Timer
from time import monotonic, time

from msgspec import MsgspecError, Struct

from linnet import __version__
from linnet.core.cancel import Cancel
from linnet.decoding import decoder_of
from linnet.errors import ConfigError, ProviderError, ProviderRejected, ProviderUnavailable
from linnet.providers.http import head, proxies, urls, vendor_errors
from linnet.providers.http.chunked import BadChunk
from linnet.providers.http.dial import describe, dial
from linnet.providers.http.exchange import READ, Broken, Connection, NoAnswer, ask

DEADLINE = 5.0  # Seconds, for all of it.
LARGEST = 8 << 20  # Bytes of the answer.


class Offer(Struct, frozen=True):
    """A model that a server has."""

    id: str
    context_length: int | None = None
    context_window: int | None = None
    max_model_len: int | None = None

    @property
    def window(self) -> int:
        """Return the tokens of its context, under whichever name the server says it; 0 if it does not."""
        return max(self.context_length or 0, self.context_window or 0, self.max_model_len or 0)


class _Offers(Struct, frozen=True):
    data: list[Offer] | None = None


def offers(
    provider: str, base_url: str, headers: Mapping[str, str], cancel: Cancel, deadline: float = DEADLINE
) -> list[Offer]:
    """Return the models that `GET /v1/models` lists. Raises ProviderError with a sentence that has nothing secret of
    the headers in it if that cannot be known, ConfigError if the address is none, and Cancelled.
    """
    url = urls.parse_base(urls.endpoint(base_url, "v1", "models"))
    proxy = proxies.choose(url, os.environ)
    try:
        return _asked(provider, url, proxy, headers, cancel, deadline)
    except ProviderError as error:
        from linnet.core.text.known_secrets import of_headers
        from linnet.core.text.secret_forms import without

        error.args = (without(str(error), [*of_headers(headers), *(proxies.secrets(proxy) if proxy else ())]),)
        raise


def _asked(
    provider: str, url: urls.Url, proxy: urls.Url | None, headers: Mapping[str, str], cancel: Cancel, deadline: float
) -> list[Offer]:
    status, fields, body = _got(provider, url, proxy, headers, cancel, deadline)
    if not 200 <= status < 300:
        raise vendor_errors.from_status(provider, status, fields, body, time())
    try:
        return decoder_of(_Offers).decode(body).data or []
    except (MsgspecError, UnicodeError, RecursionError):
        raise ProviderRejected(provider, f"{url.address} does not list its models at {url.path}") from None


def _got(
    provider: str, url: urls.Url, proxy: urls.Url | None, headers: Mapping[str, str], cancel: Cancel, deadline: float
) -> tuple[int, Mapping[str, str], bytes]:
    until = monotonic() + deadline
    connection = Connection(dial(provider, url, proxy, deadline, cancel))
    timer = Timer(max(until - monotonic(), 0), connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        with cancel.interrupting(connection.interrupt):
            answer = ask(connection, _request(url, proxy, headers), (), deadline)
            if answer is None and monotonic() < until:
                raise ProviderUnavailable(provider, f"{url.address} closed the connection without answering")
            if answer is None:
                raise TimeoutError
            said, body, first = answer
            return said.status, said.headers, _everything(provider, connection, body, first)
    except (NoAnswer, Broken):
        why = "did not answer within" if monotonic() >= until else "broke off its answer within"
        raise ProviderUnavailable(provider, f"{url.address} {why} {deadline:g} s") from None
    except OSError as error:
        why = f"did not answer within {deadline:g} s" if monotonic() >= until else f"is lost: {describe(error)}"
        raise ProviderUnavailable(provider, f"{url.address} {why}") from None
    except (head.BadHead, BadChunk) as error:
        why = f"did not answer within {deadline:g} s" if monotonic() >= until else f"does not speak HTTP: {error}"
        raise ProviderUnavailable(provider, f"{url.address} {why}") from None
    finally:
        timer.cancel()
        connection.close()


def _request(url: urls.Url, proxy: urls.Url | None, headers: Mapping[str, str]) -> bytes:
    target, extra = url.path, ""
    if proxy is not None and not url.secure:
        target = f"http://{url.authority}{target}"
        if pass_ := proxies.authorization(proxy):
            extra = f"Proxy-Authorization: {pass_}\r\n"
    said = {
        "Host": url.authority,
        "User-Agent": f"linnet/{__version__}",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Connection": "close",
        **headers,
    }
    for name, value in said.items():
        if not (value.isascii() and value.isprintable()):
            raise ConfigError(f"the {name} header would hold a character that cannot be sent; check the API key")
    lines = "".join(f"{name}: {value}\r\n" for name, value in said.items())
    return f"GET {target} HTTP/1.1\r\n{lines}{extra}\r\n".encode("latin-1")


def _everything(provider: str, connection: Connection, body: head.Body, first: bytes) -> bytes:
    pieces, size = [first], len(first)
    while not body.finished and size <= LARGEST:
        data = connection.sock.recv(READ)
        if not data:
            if isinstance(body, head.OpenBody):
                break
            raise ProviderUnavailable(provider, "the list of models was cut short")
        piece = body.feed(data)
        pieces.append(piece)
        size += len(piece)
    if size > LARGEST:
        raise ProviderRejected(provider, f"the list of models is larger than {LARGEST >> 20} MiB")
    return b"".join(pieces)
