"""The folder of the project that is worked on, what it brings, and whether that may be used."""

import os
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Literal, TypeAlias

from linnet.errors import BadInput, ConfigError

if TYPE_CHECKING:
    from linnet.core.events import ProjectUntrusted
    from linnet.runtime.guarded import Print

Answer: TypeAlias = Literal["once", "always", "never"]
Peer: TypeAlias = Literal["zot", "pi"]
FOLDER = ".linnet"
SHARED = os.path.join(".agents", "skills")  # Of this folder, and of those above it up to the repository's.
PEERS: dict[Peer, tuple[str, ...]] = {"zot": (".zot", os.path.join(".claude", "skills")), "pi": (".pi",)}


class Project:
    """Invariant: what comes from `resources` is used only while `trusted`, since it can run code or speak to the model.

    Whoever reads something from there asks `resources` at the moment of reading, for the answer may change; a
    ProjectTrustSet is published when it does. `read` gives what was vouched for, and nothing that was put there since.
    `decided`: somebody has said yes or no.
    """

    def __init__(self, root: str, home: str = "", *, trusted: bool = False, stands_for: Peer | None = None) -> None:
        self.root = root
        self.trusted = trusted
        self.folders: tuple[str, ...] = ()
        self.home = home
        self._stands_for = stands_for
        self.decided = trusted
        self._lock = Lock()  # Surveyed in one thread, answered in another.
        self._vouched: Print | None = None  # What the answer was about.
        self._before: dict[str, str] = {}  # What was trusted once, and has changed.

    @property
    def resources(self) -> str | None:
        """The project's own `.linnet` folder; None if there is none, or nobody trusts it."""
        return self.folder(FOLDER)

    def folder(self, name: str) -> str | None:
        """The same for another folder that is guarded, such as `.pi`."""
        path = os.path.join(self.root, name)
        return path if self.trusted and path in self.folders and os.path.isdir(path) else None

    def decide(self, flag: bool | None, setting: bool | None, remarks: list[str]) -> None:
        """By what was said for this run, or what was said for good, or by the user's setting. Where nothing is guarded,
        nothing is decided, and nothing but the folder's name was looked at.
        """
        self.look()
        if not self.folders or flag is not None:
            self.trusted, self.decided = bool(flag), flag is not None
            return
        from linnet.runtime.trust import TrustFile

        try:
            entry = TrustFile(self.home).of(self.root)
        except ConfigError as error:
            remarks.append(f"{error}; so no project is trusted")
            entry, setting = None, None
        if entry is not None and entry.answer == "never":
            self.trusted, self.decided = False, True
        elif entry is not None:
            found = self._fingerprint()
            self.trusted = self.decided = found.whole and not found.changes(entry.files)
            self._vouched, self._before = (found, {}) if self.trusted else (None, entry.files)
        else:
            self.trusted, self.decided = bool(setting), setting is not None

    def survey(self) -> "ProjectUntrusted | None":
        """What is left out because nobody has said anything about it; None if there is nothing of the kind."""
        with self._lock:
            return self._survey()

    def answer(self, answer: Answer) -> None:
        """Trust it, for as long as this process lives or for good, or never. Only what was there when it was last
        surveyed is trusted. Raises BadInput or ConfigError, and then nothing has changed.
        """
        with self._lock:
            self._answer(answer)

    def withdraw(self) -> None:
        """As if nobody had answered. Raises ConfigError."""
        with self._lock:
            self.trusted = self.decided = False
            if self.home:
                from linnet.runtime.trust import TrustFile

                TrustFile(self.home).forget(self.root)

    def _survey(self) -> "ProjectUntrusted | None":
        if self.decided or not self.folders:
            return None
        from linnet.core.events import ProjectUntrusted
        from linnet.runtime.guarded import brought

        found = brought(self.folders)
        if not found:
            return None
        self._vouched = self._fingerprint()
        changed = self._vouched.changes(self._before) if self._before else ()
        return ProjectUntrusted(self.root, found, changed)

    def _answer(self, answer: Answer) -> None:
        self.look()
        found = self._fingerprint()
        if answer != "never" and self._vouched is not None and found.changes(self._vouched.files):
            self.decided, self._vouched = False, None
            raise BadInput(
                "What this folder brings has changed since it was listed; look at it again, and answer then."
            )
        if answer != "once":
            from linnet.runtime.trust import TrustFile

            TrustFile(self.home).put(self.root, answer, found)
        self.trusted, self.decided = answer != "never", True
        self._vouched, self._before = found, {}

    def read(self, path: str, most: int | None = None) -> bytes | None:
        """The content of a file of the project's; None if it is not there, or not trusted. Raises ConfigError if it
        cannot be read, or is not what was trusted.
        """
        if not self.trusted:
            return None
        from linnet.files.reading import MOST, contents
        from linnet.runtime.guarded import digest_of, relative

        text = contents(path, most or MOST)
        if text is not None and self._vouched is not None:
            known = self._vouched.files.get(relative(path, self.root), "")
            if known[1:] != digest_of(text):
                raise ConfigError(f"{path} is not what was trusted: it has changed since")
        return text

    def look(self, *, for_all: bool = False) -> None:
        """See which of the folders that are guarded are there: of those that would be used, or that anybody would."""
        peers = PEERS if for_all else (self._stands_for,)
        self.folders = self._there((FOLDER, *(name for peer in peers if peer for name in PEERS[peer])))

    def _fingerprint(self) -> "Print":
        """Of all that is guarded, whoever would use it: what one program was trusted with, another is."""
        from linnet.runtime.guarded import fingerprint

        return fingerprint(self.root, self._there((FOLDER, *(name for peer in PEERS.values() for name in peer))))

    def _there(self, names: Sequence[str]) -> tuple[str, ...]:
        """The user's own home is never a project's, whichever link led there."""
        places = [os.path.join(self.root, name) for name in names]
        places += [os.path.join(folder, SHARED) for folder in _up_to_repository(self.root)]
        return tuple(path for path in places if os.path.lexists(path) and not _same(path, self.home))


def _up_to_repository(root: str) -> list[str]:
    """This folder and those above it, up to the one that is a repository; only this one if none is."""
    passed = [root]
    while not os.path.lexists(os.path.join(passed[-1], ".git")):
        parent = os.path.dirname(passed[-1])
        if parent == passed[-1]:
            return [root]
        passed.append(parent)
    return passed


def _same(path: str, home: str) -> bool:
    try:
        return os.path.samefile(path, home)
    except OSError:
        return False
