"""The two tokens of a server: one to drive agents, one to watch them. Each is in a file that only its owner can read.

A file that others may read or write is no secret any more, so it is refused, and the sentence says what to do.
"""

import os
import stat
from contextlib import suppress
from hashlib import sha256
from hmac import compare_digest, digest
from secrets import token_urlsafe
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from linnet.errors import ConfigError
from linnet.files.folders import make_own

Role: TypeAlias = Literal["drive", "watch"]
SHORTEST: Final = 32
_LONGEST_FILE: Final = 4096
_COOKIE_OF: Final = b"linnet cookie"


class Tokens(Struct, frozen=True):
    """The secrets that requests are known by. A cookie is made from a token and does not contain it: on one host,
    browsers send the cookies of one port to every other.
    """

    drive: str
    watch: str

    def role(self, token: str) -> Role | None:
        """Return what the bearer of this token may do. The time that takes says nothing about the tokens."""
        return self._compared(token, self.drive, self.watch)

    def role_of_cookie(self, value: str) -> Role | None:
        """Return what a browser with this cookie may do."""
        return self._compared(value, cookie(self.drive), cookie(self.watch))

    @staticmethod
    def _compared(said: str, drive: str, watch: str) -> Role | None:
        spelled = said.encode("utf-8", "surrogatepass")
        drives, watches = compare_digest(spelled, drive.encode()), compare_digest(spelled, watch.encode())
        return "drive" if drives else "watch" if watches else None


def cookie(token: str) -> str:
    """Return the value of the cookie that stands for a token."""
    return digest(token.encode(), _COOKIE_OF, sha256).hex()


def tokens_in(folder: str) -> Tokens:
    """Return the tokens of this state folder; those that are missing are made. Raises ConfigError."""
    try:
        make_own(folder)
        drive, watch = (_kept(os.path.join(folder, f"{role}.token")) for role in ("drive", "watch"))
    except OSError as error:
        raise ConfigError(f"the tokens in {folder} cannot be used: {error.strerror}") from None
    if drive == watch:
        raise ConfigError(f"the tokens in {folder} are the same, so whoever may watch could drive; delete one of them")
    return Tokens(drive, watch)


def _kept(path: str) -> str:
    if not os.path.lexists(path):
        _write_new(path, token_urlsafe(32))
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise ConfigError(
                f"{path} may be known to others: it is not a file of yours that only you can read; delete it, "
                "and a new one is made"
            )
        text = os.read(file, _LONGEST_FILE).decode("ascii", "replace").strip()
    finally:
        os.close(file)
    if len(text) < SHORTEST or not text.isascii() or not text.isprintable() or " " in text:
        raise ConfigError(f"{path} has no token of {SHORTEST} characters or more; delete it, and a new one is made")
    return text


def _write_new(path: str, token: str) -> None:
    """Write a file that is there with all of its content or not at all. One that is there by then stays."""
    written = f"{path}.{token_urlsafe(6)}"
    file = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(file, "w") as text:
            text.write(f"{token}\n")
        with suppress(FileExistsError):
            os.link(written, path)
    finally:
        os.unlink(written)
