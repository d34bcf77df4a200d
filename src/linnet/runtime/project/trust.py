"""Reads and writes `trust.json` in the home folder: which folders the user trusts, with a fingerprint of each."""

import os
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, json

from linnet.core.json.checked import checked
from linnet.errors import ConfigError
from linnet.files.reading import contents
from linnet.runtime.project.project_fingerprint import Print

LARGEST = 16 << 20
Kept: TypeAlias = Literal["always", "never"]


class TrustedFolder(Struct, frozen=True, forbid_unknown_fields=True):
    """What the user has said for good about a folder."""

    answer: Kept
    files: dict[str, str] = {}  # The digest of each file that was trusted.


class TrustFile:
    """The file is read at each call. Entries that other processes write at the same time are kept."""

    def __init__(self, home: str) -> None:
        self.path = os.path.join(home, "trust.json")

    def entries(self) -> dict[str, TrustedFolder]:
        """Return all answers, by the folders' real paths. Raises ConfigError if the file cannot be used."""
        text = contents(self.path, LARGEST)
        return {} if text is None or not text.strip() else checked(text, dict[str, TrustedFolder], self.path)

    def of(self, root: str) -> TrustedFolder | None:
        """Return the answer about a folder; None if there is none. Raises ConfigError if the file cannot be used."""
        return self.entries().get(_key(root))

    def put(self, root: str, answer: Kept, found: Print) -> None:
        """Keep an answer about a folder. Raises ConfigError if it cannot be kept; then nothing has changed."""
        if answer == "always" and not found.whole:
            raise ConfigError(f"{root} brings too much to be remembered; trust it for one run, with --trust")
        kept = TrustedFolder(answer, dict(found.files) if answer == "always" else {})
        self._change(lambda entries: {**entries, _key(root): kept})

    def forget(self, root: str) -> bool:
        """Forget the answer about a folder. Return whether there was one. Raises ConfigError."""
        if self.of(root) is None:
            return False
        self._change(lambda entries: {path: entry for path, entry in entries.items() if path != _key(root)})
        return True

    def _change(self, change: Callable[[dict[str, TrustedFolder]], Mapping[str, TrustedFolder]]) -> None:
        """Replace the answers by what `change` makes of them, under the file's lock. Raises ConfigError."""
        from linnet.files.lock import changing
        from linnet.files.replacing import replace

        try:
            with changing(self.path):
                replace(self.path, json.format(json.encode(change(self.entries()))) + b"\n")
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}") from None


def _key(root: str) -> str:
    return os.fsencode(os.path.realpath(root)).decode(errors="backslashreplace")
