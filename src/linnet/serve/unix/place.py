"""Where the server's socket is: found, locked, bound for its owner alone, and removed at the end."""

import os
import socket
import stat
import struct
from collections.abc import Mapping
from contextlib import suppress

from linnet.attach.command_line import LONGEST, Refused, socket_path
from linnet.errors import ConfigError
from linnet.files.folders import make
from linnet.files.lock import holder, lock
from linnet.serve.unix import systemd

BACKLOG = 1024


class Place:
    """The path of a socket, which one process has at a time: the one that holds the lock of the file beside it. That
    file stays; it is empty, and whoever removed it would let two have the place.
    """

    def __init__(self, named: str | None, environ: Mapping[str, str]) -> None:
        """`named` is the path if the command line has one. Raises ConfigError."""
        try:
            self.path = os.path.abspath(socket_path(named or "", environ))
        except Refused as refused:
            raise ConfigError(str(refused)) from None
        self._lock: int | None = None
        self._socket: socket.socket | None = None
        self._made: tuple[int, int] | None = None  # Device and inode of the socket that we made.

    def listen(self) -> socket.socket:
        """Return the listening socket: the one that systemd has passed, or one that is bound now. What a killed server
        left is removed. Raises ConfigError if the place is taken, or cannot be used.
        """
        passed = systemd.inherited()
        if passed is not None:
            self.path = os.fsdecode(passed.getsockname()).replace("\0", "@")
        try:
            if passed is None or os.path.isabs(self.path):  # Others have no file.
                self._take()
            self._socket = passed if passed is not None else self._bound()
        except ConfigError:
            self.close()
            raise
        except (OSError, ValueError) as error:
            self.close()
            raise ConfigError(f"{getattr(error, 'strerror', '') or error}: {self.path}") from None
        return self._socket

    def close(self) -> None:
        """Close the socket, remove it if it is ours, and let go of the lock. Idempotent."""
        if self._made is not None:
            with suppress(OSError):
                if _identity(self.path) == self._made:
                    os.unlink(self.path)
            self._made = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take(self) -> None:
        """Take the lock. Raises ConfigError if another process has it."""
        folder = os.path.dirname(self.path)
        make(folder, 0o700)
        found = os.stat(folder)
        # A group of our own is no other: where users have one each, folders are made for it to write to.
        by_group = found.st_mode & stat.S_IWGRP and found.st_gid != os.getegid()
        others = found.st_mode & stat.S_IWOTH or by_group
        if found.st_uid not in (0, os.geteuid()) or (others and not found.st_mode & stat.S_ISVTX):
            raise ConfigError(f"others could put a socket of their own in place of this one: {self.path}")
        self._lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        if not lock(self._lock):
            who = holder(self._lock)
            raise ConfigError(f"a server is already there: {self.path}{f' (process {who})' if who else ''}")

    def _bound(self) -> socket.socket:
        size = len(os.fsencode(self.path))
        if size > LONGEST:
            raise ConfigError(f"the path of the socket has {size} bytes, and may have {LONGEST}: {self.path}")
        self._remove_left()
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            os.fchmod(listening.fileno(), 0o600)  # What is bound has this mode, at no moment another one.
            listening.bind(self.path)
            self._made = _identity(self.path)
            listening.listen(BACKLOG)
        except BaseException:
            listening.close()
            raise
        return listening

    def _remove_left(self) -> None:
        """Remove the socket of a server that is gone. Raises ConfigError if something else is there, or one answers who
        has no lock, as systemd does for a service that has not been started.
        """
        try:
            kind = os.lstat(self.path).st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISSOCK(kind):
            raise ConfigError(f"there is something else, which is no socket: {self.path}")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.setblocking(False)  # Where so many wait that no more fit, somebody is there.
            try:
                asking.connect(self.path)
            except ConnectionRefusedError:
                os.unlink(self.path)
                return
            except BlockingIOError:
                pass
        raise ConfigError(f"a server is already there: {self.path}")


def peer_uid(connection: socket.socket) -> int:
    """Return the user at the other end of a connection, as the kernel knows it. Raises OSError."""
    about = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII"))
    _, user, _ = struct.unpack("iII", about)
    return int(user)


def _identity(path: str) -> tuple[int, int]:
    about = os.lstat(path)
    return about.st_dev, about.st_ino
