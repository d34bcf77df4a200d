"""Which folders the user trusts: `trust.json` in the home folder, by real path, with a print of what was there."""

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
    """`files` has the fingerprint of each file that was trusted."""

    answer: Kept
    files: dict[str, str] = {}


class TrustFile:
    """Read when it is asked. Entries that others write at the same time are kept."""

    def __init__(self, home: str) -> None:
        self.path = os.path.join(home, "trust.json")

    def entries(self) -> dict[str, TrustedFolder]:
        """By the folders' real paths. Raises ConfigError."""
        text = contents(self.path, LARGEST)
        return {} if text is None or not text.strip() else checked(text, dict[str, TrustedFolder], self.path)

    def of(self, root: str) -> TrustedFolder | None:
        """Raises ConfigError."""
        return self.entries().get(_key(root))

    def put(self, root: str, answer: Kept, found: Print) -> None:
        """Raises ConfigError if it cannot be kept; then nothing has changed."""
        if answer == "always" and not found.whole:
            raise ConfigError(f"{root} brings too much to be remembered; trust it for one run, with --trust")
        kept = TrustedFolder(answer, dict(found.files) if answer == "always" else {})
        self._change(lambda entries: {**entries, _key(root): kept})

    def forget(self, root: str) -> bool:
        """Return whether there was anything to forget. Raises ConfigError."""
        if self.of(root) is None:
            return False
        self._change(lambda entries: {path: entry for path, entry in entries.items() if path != _key(root)})
        return True

    def _change(self, change: Callable[[dict[str, TrustedFolder]], Mapping[str, TrustedFolder]]) -> None:
        """Two at once take turns."""
        from linnet.files.lock import changing
        from linnet.files.replacing import replace

        try:
            with changing(self.path):
                replace(self.path, json.format(json.encode(change(self.entries()))) + b"\n")
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}") from None


def _key(root: str) -> str:
    return os.fsencode(os.path.realpath(root)).decode(errors="backslashreplace")
