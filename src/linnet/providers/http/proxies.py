"""Chooses the proxy that a request goes through.

The customary variables count, in either case: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY. A server on this very
machine is always spoken to directly.
"""

from collections.abc import Mapping

from linnet.errors import ConfigError
from linnet.providers.http.urls import Url, parse


def choose(url: Url, environ: Mapping[str, str]) -> Url | None:
    """Return the proxy for this URL; None if it is spoken to directly. Raises ConfigError for a proxy that cannot be
    used: going around it unasked could leak a request.
    """
    value = _lookup(environ, f"{url.scheme}_proxy") or _lookup(environ, "all_proxy")
    if not value or _local(url.host) or _excepted(url, _lookup(environ, "no_proxy")):
        return None
    proxy = parse(value if "://" in value else f"http://{value}")
    if proxy.secure:
        raise ConfigError(f"the proxy {proxy.address} wants TLS of its own, which is not supported; use http://")
    return proxy


def authorization(proxy: Url) -> str | None:
    """Return the value of Proxy-Authorization; None if the proxy's URL carries no name and password."""
    if not proxy.user:
        return None
    from base64 import b64encode
    from urllib.parse import unquote_to_bytes  # It takes longer to import than all else here.

    return "Basic " + b64encode(unquote_to_bytes(proxy.user)).decode()


def secrets(proxy: Url) -> list[str]:
    """Return what is sent to the proxy to be let in: the header's value, and the password as it is and as the URL has
    it.
    """
    from urllib.parse import unquote_to_bytes

    password = proxy.user.partition(":")[2]
    found = [
        (authorization(proxy) or "").removeprefix("Basic "),
        password,
        unquote_to_bytes(password).decode(errors="replace"),
    ]
    return [each for each in dict.fromkeys(found) if each]


def _lookup(environ: Mapping[str, str], name: str) -> str:
    return (environ.get(name) or environ.get(name.upper()) or "").strip()


def _local(host: str) -> bool:
    return host in ("localhost", "::1") or host.endswith(".localhost") or host.startswith("127.")


def _excepted(url: Url, exceptions: str) -> bool:
    return any(_matches(url, entry.strip().lower()) for entry in exceptions.split(",") if entry.strip())


def _matches(url: Url, entry: str) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        return _in_network(url.host, entry)
    name, colon, port = entry.rpartition(":")
    if colon and port.isdigit() and (":" not in name or name.endswith("]")):
        if int(port) != url.port:
            return False
        entry = name
    entry = entry.strip("[]").removeprefix("*").removeprefix(".")
    return url.host == entry or url.host.endswith(f".{entry}")


def _in_network(host: str, network: str) -> bool:
    from ipaddress import ip_address, ip_network

    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
