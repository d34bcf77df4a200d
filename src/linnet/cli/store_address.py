"""Where agents are kept for many machines: `--store`, LINNET_STORE, or a file that one of them names.

An address with a password is for the variable or for a file: everybody on a machine sees the words of a command line.
"""

import os
import stat
from time import monotonic, sleep
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from linnet.errors import ConfigError, LogUnavailable
from linnet.flags.flags import UsageError
from linnet.server.concealed import take_variable

if TYPE_CHECKING:
    from linnet.depot.postgres.postgres_depot import PostgresDepot

VARIABLE = "LINNET_STORE"
PATIENCE = 5.0  # Seconds for which a database that is not there is waited for at the start.
_SCHEMES = ("postgres", "postgresql")


def address(said: str | None) -> str:
    """Return the address of the database. The variable is not handed on to anything that this process starts. Raises
    UsageError, ConfigError.
    """
    variable = take_variable(VARIABLE)
    if said is not None and _is_url(said) and _has_password(said):
        raise UsageError(
            "a password in --store is seen by everybody on this machine: put the address into a file that only you can "
            f"read and give its path, or into {VARIABLE}, or the password into ~/.pgpass"
        )
    word = said or variable
    if not word:
        raise UsageError(f"say where agents are kept: --store postgresql://HOST/DATABASE, --store FILE or {VARIABLE}")
    found = word if _is_url(word) else _in_file(word)
    if not _is_url(found):
        raise ConfigError(f"{word} does not have an address of Postgres in its first line: postgresql://HOST/DATABASE")
    return found


def shown(address: str) -> str:
    """Return the address as it may be shown to anybody."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"


def reach(depot: "PostgresDepot") -> None:
    """Return when the database answers, which may just be starting. Raises LinnetError if it does not."""
    until = monotonic() + PATIENCE
    while True:
        try:
            depot.marked("", 0)
        except LogUnavailable:
            if monotonic() > until:
                raise
            sleep(0.1)
        else:
            return


def _is_url(word: str) -> bool:
    return word.partition("://")[0] in _SCHEMES and "://" in word


def _has_password(url: str) -> bool:
    parts = urlsplit(url)
    return parts.password is not None or any(name == "password" for name, _ in parse_qsl(parts.query))


def _in_file(path: str) -> str:
    try:
        with open(os.path.expanduser(path)) as file:
            status = os.fstat(file.fileno())
            if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise ConfigError(f"{path} can be read or changed by others: chmod 600 {path}")
            return file.readline().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigError(f"--store {path} is neither an address of Postgres nor a file with one: {reason}") from None


def postgres() -> "type[PostgresDepot]":
    """Return what keeps agents in Postgres. Raises ConfigError if that is not installed."""
    try:
        from linnet.depot.postgres.postgres_depot import PostgresDepot
    except ImportError as error:
        raise ConfigError(
            f"--store needs the extra `postgres`: pip install 'linnet-agent[postgres]' ({error.name} is missing)"
        ) from None
    return PostgresDepot
