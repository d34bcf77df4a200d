"""Parses and matches the hosts that commands in the sandbox may reach. Pure: nothing is resolved or connected here.

A name says who is meant, but whoever owns it says where it leads. So an address that is this machine's, or of a private
network, counts only if it was named itself.
"""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from msgspec import Struct

from linnet.errors import ConfigError

Address: TypeAlias = IPv4Address | IPv6Address
_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_PORT = re.compile(r"(.*?):([0-9]{1,5})")
_LOCAL = ("127.0.0.0/8", "::1/128")
_TRANSLATED = IPv6Network("64:ff9b::/96")
LOCALHOST = "localhost"


class HostRule(Struct, frozen=True):
    """A name, all names below one, or a network."""

    name: str = ""  # Empty if it is a network.
    below: bool = False  # Whether names below it are meant, and not the name itself.
    network: str = ""
    port: int | None = None  # None is any.

    def has_name(self, host: str, port: int) -> bool:
        """Return whether this rule allows a name, as `normal` spells it."""
        fits = host.endswith(f".{self.name}") if self.below else host == self.name
        return bool(self.name) and fits and self.port in (None, port)

    def has_address(self, address: Address, port: int) -> bool:
        """Return whether this rule names an address, or is for localhost and the address is that."""
        networks = (self.network,) if self.network else _LOCAL if self.name == LOCALHOST and not self.below else ()
        return self.port in (None, port) and any(address in ip_network(each) for each in networks)


class Hosts(Struct, frozen=True):
    """All hosts that may be reached."""

    entries: tuple[HostRule, ...]

    def names(self, host: str, port: int) -> bool:
        """Return whether a name or an address, as `normal` spells it, may be asked for."""
        address = as_address(host)
        if address is not None:
            return self.has_address(address, port)
        return any(entry.has_name(host, port) for entry in self.entries)

    def has_address(self, address: Address, port: int) -> bool:
        """Return whether an address was named itself."""
        return any(entry.has_address(plain(address), port) for entry in self.entries)

    @property
    def local(self) -> bool:
        """Whether 127.0.0.1 or ::1 is among them: then this machine is meant, and not the inside of the sandbox."""
        return any(
            self.has_address(ip_address(each), entry.port or 0)
            for entry in self.entries
            for each in ("127.0.0.1", "::1")
        )


def parsed(words: Iterable[str], flag: str = "--sandbox-hosts") -> Hosts:
    """Return the hosts that these words name. Raises ConfigError with a sentence that says what they may look like."""
    entries = tuple(_entry(word.strip(), flag) for word in words)
    if not entries:
        raise ConfigError(f"{flag} names no host; leave it out, and commands reach none")
    return Hosts(entries)


def _entry(word: str, flag: str) -> HostRule:
    if word in ("*", "*.", "0.0.0.0/0", "::/0"):
        raise ConfigError(f"{flag} is for hosts by name, not for all of them; that is what --sandbox-network is for")
    rest, port = word, None
    if found := _PORT.fullmatch(word) if word.count(":") == 1 or word.startswith("[") else None:
        rest, port = found[1], int(found[2])
        if not 0 < port < 65536:
            raise ConfigError(_misspelled(word, flag))
    if "/" in rest or as_address(rest) is not None:
        try:
            return HostRule(network=str(ip_network(str(as_address(rest) or rest))), port=port)
        except ValueError:
            raise ConfigError(_misspelled(word, flag)) from None
    below = rest.startswith("*.")
    name = normal(rest[2:] if below else rest)
    # What ends in a number is an address in a spelling of its own, such as 127.1.
    if name is None or name.rpartition(".")[2].isdigit():
        raise ConfigError(_misspelled(word, flag))
    return HostRule(name=name, below=below, port=port)


def _misspelled(word: str, flag: str) -> str:
    return (
        f"{flag} takes names such as github.com, *.example.org, localhost or 10.0.0.5, each with a :port if it is for "
        f'one, and commas between them, not "{word}"'
    )


def normal(host: str) -> str | None:
    """Return the one spelling of a host: lower case, no last dot, IDNA; None if it is no name and no address."""
    host = host.lower().removesuffix(".")
    address = as_address(host)
    if address is not None:
        return str(address)
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    return host if _NAME.fullmatch(host) and len(host) <= 253 else None


def as_address(text: str) -> Address | None:
    """Return the address that this is, in brackets or not; None if it is a name."""
    try:
        return plain(ip_address(text[1:-1] if text.startswith("[") and text.endswith("]") else text))
    except ValueError:
        return None


def plain(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address stands for, or else the address itself."""
    return (isinstance(address, IPv6Address) and address.ipv4_mapped) or address


def is_public(address: Address) -> bool:
    """Return whether an address is of the public Internet; of a tunnel's address, the one inside of it counts."""
    address = plain(address)
    if isinstance(address, IPv6Address):
        inner = address.sixtofour or (address.teredo and address.teredo[1])
        if address in _TRANSLATED:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner:
            return is_public(inner)
        if address.is_site_local:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)
