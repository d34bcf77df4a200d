"""Parses the URLs of vendors and proxies.

The standard library's parser is more lenient than is good for an address that a key is sent to: it drops line ends, and
takes `http://a[::1]b` for `::1`.
"""

from msgspec import Struct

from linnet.errors import ConfigError

_PORTS = {"http": 80, "https": 443}


class Url(Struct, frozen=True):
    """A URL of the schemes http and https."""

    scheme: str
    host: str  # Without brackets.
    port: int
    path: str = "/"  # Starts with a slash.
    user: str = ""  # What came before an @, still quoted.

    @property
    def secure(self) -> bool:
        return self.scheme == "https"

    @property
    def address(self) -> str:
        """Return host and port, as people and the CONNECT method write them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authority(self) -> str:
        """Return the value of the Host header: the address, without the port if that is the usual one."""
        return self.address.rpartition(":")[0] if self.port == _PORTS[self.scheme] else self.address


def parse(text: str) -> Url:
    """Return the URL that a text says. Raises ConfigError, because a person typed it."""
    scheme, separator, rest = text.strip().partition("://")
    scheme = scheme.lower()
    rest = rest.partition("#")[0]
    cut = min((at for at in map(rest.find, "/?") if at >= 0), default=len(rest))
    authority, path = rest[:cut], rest[cut:]
    user, _, place = authority.rpartition("@")
    host, port = _place(place, _PORTS.get(scheme, 0))
    if not separator or scheme not in _PORTS or not host or not 0 < port < 65536 or not _plain(rest):
        raise ConfigError(
            f'"{shown(text)}" is not a URL that can be used; it should look like https://host[:port][/path]'
        )
    return Url(scheme, host, port, path if path.startswith("/") else "/" + path, user)


def parse_base(text: str) -> Url:
    """Return the URL of a server that is asked. Raises ConfigError, also for a name and a password in it: they would
    be shown wherever the address is, and nobody would send them.
    """
    url = parse(text)
    if url.user:
        raise ConfigError(
            f'"{shown(text)}" has a name or a password before the host; send them with a header instead (models.json)'
        )
    return url


def shown(text: str) -> str:
    """Return a URL, or what should be one, without what may be secret in it: whatever is before an @, and a query."""
    text = text.partition("?")[0] + "?…" if "?" in text else text
    before, at, place = text.rpartition("@")
    scheme, separator, _ = before.partition("://")
    return f"{scheme + separator if separator else ''}…@{place}" if at else text


def endpoint(base: str, version: str, path: str) -> str:
    """Return the address of an API under a base URL that may or may not already name its version.

    A bare origin gets the version; any other path is taken at its word, but for a version of its own at the end. One
    that ends with the API's path is the address itself. What the base URL asks for behind a question mark stays at the
    end.
    """
    base, mark, query = base.strip().partition("?")
    base = base.rstrip("/")
    if base.endswith(f"/{path}"):
        return f"{base}{mark}{query}"
    if not base.endswith(f"/{version}") and "/" not in base.partition("://")[2]:
        base = f"{base}/{version}"
    return f"{base}/{path}{mark}{query}"


def _place(text: str, default: int) -> tuple[str, int]:
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, _, port = text.partition(":")
    if not port:
        return host.lower(), default
    return host.lower(), int(port) if port.isascii() and port.isdigit() else 0


def _plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text
