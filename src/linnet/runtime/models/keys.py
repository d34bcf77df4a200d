"""Reads and writes `auth.json` in the home folder, which has providers' keys and which nobody but its owner
may read.
"""

import os
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from msgspec import MsgspecError, Struct

from linnet.errors import ConfigError

Source: TypeAlias = Literal["flag", "variable", "file"]
Signature: TypeAlias = tuple[int, int, int]
COMMAND = "!"


class Key(Struct, frozen=True):
    """A provider's key, and where it came from. It is false if there is none."""

    word: str = ""
    """The key, or `!` and a command that prints it; empty if there is none."""
    source: Source | None = None
    place: str = ""
    """The flag, the variable or the file that it came from."""
    problem: str = ""
    """Why an entry of the file is no key."""
    auth: str = ""
    """How it is sent, as in Endpoint."""

    def __repr__(self) -> str:
        return f"Key(source={self.source!r}, place={self.place!r})"  # A trace shows no key.

    def __bool__(self) -> bool:
        return bool(self.word)

    @property
    def command(self) -> str:
        """Return the command that prints the key; empty if the key itself is there."""
        return self.word[1:].strip() if self.word.startswith(COMMAND) else ""


class StoredKeys:
    """The keys in `auth.json`: {"anthropic": "sk-…"}, or as pi writes it, {"anthropic": {"type": "api_key", "key":
    "…"}}.

    The file is read when it is first needed, and again when it has changed: somebody may log in while an agent lives.
    """

    def __init__(self, home: str) -> None:
        self.path = os.path.join(home, "auth.json")
        self._entries: dict[str, Any] = {}
        self._seen: Signature | None = None

    def key(self, provider: str) -> Key:
        """Return the provider's key; an empty one if there is none. Raises ConfigError if the file cannot be used, or
        if others can read it.
        """
        state = state_of(self.path)
        if state != self._seen:
            self._entries, self._seen = _entries(self.path), state
        match self._entries.get(provider):
            case None:
                return Key()
            case str(word) | {"type": "api_key", "key": str(word)} if word.strip():
                return Key(word.strip(), "file", self.path)
            case {"type": "oauth"}:
                problem = f"its entry in {self.path} is a login by OAuth, which linnet cannot use"
                return Key(source="file", place=self.path, problem=problem)
            case _:
                raise ConfigError(f'{self.path}: "{provider}": expected a key, or {{"type": "api_key", "key": "…"}}')

    def check(self) -> None:
        """Raise ConfigError if the file cannot be used."""
        _entries(self.path)

    def put(self, provider: str, word: str) -> None:
        """Keep a key. Raises ConfigError or OSError if the file cannot be used or written."""
        self._change(lambda entries: {**entries, provider: {"type": "api_key", "key": word}})

    def remove(self, provider: str) -> bool:
        """Remove a provider's entry. Return whether there was one. Raises ConfigError or OSError."""
        if provider not in _entries(self.path):
            return False
        self._change(lambda entries: {name: entry for name, entry in entries.items() if name != provider})
        return True

    def _change(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Replace the entries by what `change` makes of them, under the file's lock; a reader sees the old or
        the new.
        """
        from msgspec import json

        from linnet.files.lock import changing
        from linnet.files.replacing import replace

        with changing(self.path):
            text = json.format(json.encode(change(_entries(self.path))), indent=2) + b"\n"
            replace(self.path, text, mode=0o600, durable=True)
        self._seen = None


def state_of(path: str) -> Signature | None:
    """Return numbers that differ once the file was written again; None if there is no file."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError:
        return 0, 0, 0  # Reading it will say what is wrong.
    return found.st_ino, found.st_mtime_ns, found.st_size


def _entries(path: str) -> dict[str, Any]:
    """Return what the file says. Raises ConfigError if it cannot be used, or if others can read it."""
    from linnet.decoding import decoder_of
    from linnet.files.reading import MOST, read

    try:
        found = read(path, MOST)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    if found.cut:
        raise ConfigError(f"{path} cannot be used: it is larger than {MOST >> 10} KiB")
    if found.mode & 0o077:  # Refused, as ssh does.
        raise ConfigError(f"{path} can be read by others; run: chmod 600 {path}")
    try:
        return decoder_of(dict[str, Any]).decode(found.data or b"{}")
    except (MsgspecError, UnicodeError, RecursionError) as error:
        from linnet.core.json.checked import explained

        wrong = explained(found.data, dict[str, Any], error)
        raise ConfigError(f"{path} cannot be used: {wrong.problem} (line {wrong.line})") from None
