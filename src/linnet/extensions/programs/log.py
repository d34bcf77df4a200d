"""The log file of an extension that is a program: what it prints on stderr, and what linnet notes about it."""

import os
from contextlib import suppress
from threading import Lock

LARGEST = 1024 * 1024  # Bytes.


class ExtensionLog:
    """A file that is made when there is something to write, by any thread.

    Invariant: it and the one before it, which has `.old` at the end of its name, stay near `largest` bytes each. What
    cannot be written is lost, and nobody is held up.
    """

    def __init__(self, path: str, largest: int = LARGEST) -> None:
        self.path = path
        self._largest = largest
        self._lock = Lock()
        self._fd: int | None = None
        self._size = 0

    def write(self, data: bytes) -> None:
        """Append what the program printed. Never raises."""
        with self._lock, suppress(OSError):
            if self._fd is not None and self._size >= self._largest:
                os.close(self._fd)
                self._fd = None
            if self._fd is None:
                self._open()
            assert self._fd is not None
            self._size += os.write(self._fd, data)

    def say(self, text: str) -> None:
        """Append a line of linnet's own."""
        self.write(f"[linnet] {text}\n".encode(errors="replace"))

    def close(self) -> None:
        """Close the file; whatever is written later opens it again."""
        with self._lock:
            fd, self._fd = self._fd, None
            if fd is not None:
                os.close(fd)

    def _open(self) -> None:
        """Open the file, with the lock held; rename it before if it is large. Raises OSError."""
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with suppress(FileNotFoundError):
            if os.path.getsize(self.path) >= self._largest:
                os.replace(self.path, f"{self.path}.old")
        self._fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._fd).st_size
