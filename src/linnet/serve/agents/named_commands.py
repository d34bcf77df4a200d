"""The commands of clients that name themselves, each carried out once: a repetition gets the first one's answer.

That a command begins is written before it does, and its answer before it is told. So after a restart it is known of
each whether it was answered; one that had begun and was not is never carried out again by itself.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from errno import ESTALE
from hashlib import blake2b
from threading import Lock
from typing import Literal, TypeAlias

from msgspec import DecodeError, Struct
from msgspec.json import encode

from linnet.decoding import decoder_of
from linnet.files.folders import make
from linnet.files.reading import contents
from linnet.files.replacing import replace, write_all

MOST_BYTES = 16 * 1024 * 1024
"""A file that has more is written anew, without the older half."""
LONGEST_ANSWER = 1024 * 1024
"""A question whose answer is longer is asked again when it is repeated: it changes nothing."""

Name: TypeAlias = tuple[str, str]
"""A client, and the id that it gave the command."""
Send: TypeAlias = Callable[[bytes], None]
Verdict: TypeAlias = Literal["new", "waits", "unknown", "reused"]


class _Line(Struct, omit_defaults=True):
    c: str
    """The client."""
    i: str
    """The id of the command."""
    t: int = 0
    d: str = ""
    """What the command says, in short. With it the line tells that the command begins."""
    a: str | None = None
    """The answer. With it the line tells that the command was answered."""


class _Command(Struct):
    time: int
    digest: str
    answer: bytes | None = None
    waiting: list[Send] | None = None
    """Whoever waits for the answer. None if nobody carries it out: an earlier process had begun it."""


class NamedCommands:
    """Invariant: for a name, `begin` returns "new" once, for as long as it is kept. Any thread may call."""

    def __init__(self, path: str, clock: Callable[[], int], milliseconds: int) -> None:
        """What is older than so many milliseconds is forgotten when the file is read. Raises OSError."""
        self._path = path
        self._clock = clock
        make(os.path.dirname(path), 0o700)  # Not later: the agent may be removed, and nothing of it comes back.
        self._milliseconds = milliseconds
        self._lock = Lock()
        self._commands: dict[Name, _Command] = {}
        self._size = 0
        self._was_read = False  # What the file has is in memory.
        self._working = 0  # Commands that are being carried out.
        self._closed = False
        self._unwritten = False  # There is an answer that the disk had no room for: memory alone has it.

    def begin(self, name: Name, line: bytes, send: Send, *, changes: bool) -> Verdict | bytes:
        """Take note that a command begins, and return "new"; or what became of it: its answer; "waits", if `send` will
        be called with that; "unknown", if it had begun before a restart and was not answered; "reused", if another
        command has this name. With `changes` false, it only asks. Raises OSError if that cannot be written, and
        ConfigError if what was written before cannot be read.
        """
        digest = blake2b(line.strip(), digest_size=12).hexdigest()
        with self._lock:
            self._read()
            known = self._commands.get(name)
            if known is not None and known.digest != digest:
                return "reused"
            if known is None:
                if changes:
                    self._write(_Line(*name, self._clock(), digest))
                self._commands[name] = _Command(self._clock(), digest, None, [])
                self._working += 1
                return "new"
            if known.answer is not None:
                return known.answer
            if known.waiting is None:
                return "unknown"
            known.waiting.append(send)
            return "waits"

    def finish(self, name: Name, answer: bytes, *, changes: bool) -> None:
        """Write the answer, then tell whoever waits for it. Never raises: an answer that cannot be written is told all
        the same, and after a restart it is not known.
        """
        with self._lock:
            command = self._commands[name]
            waiting, command.waiting = command.waiting or [], None
            self._working -= 1
            if changes or len(answer) <= LONGEST_ANSWER:
                command.answer = answer
                try:
                    self._write(_Line(*name, command.time, command.digest, answer.decode("utf-8", "surrogatepass")))
                except OSError:
                    self._unwritten = True
            else:
                del self._commands[name]
            if self._size > MOST_BYTES and not self._closed:
                with suppress(OSError):
                    self._shorten()
        for send in waiting:
            send(answer)

    def rest(self) -> None:
        """Hold nothing in memory that the file has, until the next command comes: ten thousand agents may sleep."""
        with self._lock:
            if not self._working and not self._unwritten:
                self._commands, self._was_read = {}, False

    def close(self) -> None:
        """Write nothing any more: the folder may go."""
        with self._lock:
            self._closed = True

    def _write(self, line: _Line) -> None:
        self._append(encode(line) + b"\n")

    def _append(self, line: bytes) -> None:
        """Write to the end of the file, which is opened for it: ten thousand agents that sleep hold no descriptors."""
        if self._closed:
            raise OSError(ESTALE, "the agent is gone")
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            write_all(fd, line)
        except OSError:
            with suppress(OSError):
                os.ftruncate(fd, self._size)  # No half of a line stays, which would spoil the next one.
            raise
        finally:
            os.close(fd)
        self._size += len(line)

    def _read(self) -> None:
        """Read what was written, unless that is in memory. Raises OSError, ConfigError."""
        if self._was_read:
            return
        text = contents(self._path) or b""
        self._size = len(text)
        oldest = self._clock() - self._milliseconds
        decode = decoder_of(_Line).decode
        for line in text.splitlines():
            try:
                said = decode(line)
            except (DecodeError, UnicodeError):
                continue  # Half a line, as the end of a process leaves it: nobody was told what it says.
            if said.t >= oldest:
                answer = None if said.a is None else said.a.encode("utf-8", "surrogatepass")
                self._commands[said.c, said.i] = _Command(said.t, said.d, answer, None)
        if text and not text.endswith(b"\n"):  # A process was killed in the middle of a line.
            self._append(b"\n")
        self._was_read = True

    def _shorten(self) -> None:
        """Write the file anew with the newer half of what is answered, and all that is not."""
        answered = [name for name, each in self._commands.items() if each.answer is not None]
        for name in answered[: len(answered) // 2]:
            del self._commands[name]
        lines = [
            encode(_Line(*name, each.time, each.digest, None if each.answer is None else each.answer.decode())) + b"\n"
            for name, each in self._commands.items()
        ]
        replace(self._path, lines, mode=0o600)
        self._size = sum(map(len, lines))
