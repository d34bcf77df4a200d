"""Decides whether the project that is worked on is trusted, and with it the files in it that can run code or speak
to the model.
"""

import os
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Literal, TypeAlias

from linnet.errors import BadInput, ConfigError

if TYPE_CHECKING:
    from linnet.core.events import ProjectUntrusted
    from linnet.runtime.project.project_fingerprint import Print

Answer: TypeAlias = Literal["once", "always", "never"]
Peer: TypeAlias = Literal["zot", "pi"]
FOLDER = ".linnet"
SHARED = os.path.join(".agents", "skills")  # Of this folder, and of those above it up to the repository's.
PEERS: dict[Peer, tuple[str, ...]] = {"zot": (".zot", os.path.join(".claude", "skills")), "pi": (".pi",)}
GUARDED = (FOLDER, *(name for peer in PEERS.values() for name in peer))  # And SHARED, wherever that is.
LOADED = frozenset(name.split(os.sep)[0] for name in (*GUARDED, SHARED))


class Project:
    """Invariant: what lies in `resources` is used only while `trusted`.

    Whoever reads something from there asks `resources` at the moment of reading, for the answer may change; a
    ProjectTrustSet is published when it does. `read` gives what was vouched for, and nothing that was put there since.

    What has changed is trusted again only if somebody says so again: when extensions are read anew it is compared with
    what was vouched for. After `watch`, what appears is not used either, however the project was trusted.
    """

    def __init__(self, root: str, home: str = "", *, trusted: bool = False, stands_for: Peer | None = None) -> None:
        self.root = root
        self.trusted = trusted
        self.folders: tuple[str, ...] = ()  # Those that are guarded and were there at the last `look`.
        self.home = home
        self._stands_for = stands_for
        self.decided = trusted  # Whether somebody has said yes or no.
        self._lock = Lock()  # It is surveyed in one thread and answered about in another. Held while files are read.
        self._vouched: Print | None = None  # What the answer was about.
        self._listed: Print | None = None  # What somebody was told of last, who may answer.
        self._before: Mapping[str, str] = {}  # What was trusted once, and has changed.
        self._barred = False  # It has changed while this process lives: what was said at its start no longer counts.
        self._at_first: frozenset[str] | None = None  # What of all that is protected was there, if it is watched.
        self._told: frozenset[str] = frozenset()  # What appeared later, and was told.

    @property
    def resources(self) -> str | None:
        """Return the project's `.linnet` folder; None if there is none, or nobody trusts it."""
        return self.folder(FOLDER)

    @property
    def neutral_folder(self) -> str | None:
        """Return the folder in which MCP servers of the user start while the project is not trusted, which is never
        inside of it; None if it is trusted.
        """
        if self.trusted:
            return None
        home = os.path.realpath(self.home)
        inside = os.path.commonpath([home, self.root]) == self.root
        return "/" if inside else os.path.join(home, "mcp")

    def folder(self, name: str) -> str | None:
        """Return another guarded folder of the project's, such as `.pi`; None if there is none, or nobody trusts it."""
        path = os.path.join(self.root, name)
        return path if self.admits(path) and path in self.folders and os.path.isdir(path) else None

    def admits(self, path: str) -> bool:
        """Return whether what is at this path may be used: the project is trusted, and it was there when the watch
        began, if there is one.
        """
        if not self.trusted or self._at_first is None:
            return self.trusted
        return self._protected(path) is None or self._protected(path) in self._at_first

    @property
    def standing(self) -> object:
        """Return a value that is equal to an earlier one as long as the same may be used."""
        return self.trusted, self.folders, self._at_first

    def watch(self) -> None:
        """Remember what is there now: commands in a sandbox may put something here, which is not to be used outside."""
        if self._at_first is None:
            self._at_first = self._present()
            if self.trusted and self._vouched is None:
                self._vouched = self._fingerprint()

    def appeared(self) -> "ProjectUntrusted | None":
        """Return what has appeared since the watch began, and is not used; None if nothing has. Each is
        returned once.
        """
        if self._at_first is None or (self.decided and not self.trusted):
            return None
        new = {name for name in self._present() - self._at_first - self._told if name in LOADED}
        if not new:
            return None
        from linnet.core.events import ProjectUntrusted
        from linnet.runtime.project.project_fingerprint import brought, fingerprint

        with self._lock:
            folders = [path for path in self._there(GUARDED) if self._protected(path) in new]
            changed = sorted(fingerprint(self.root, folders).files)
            if not changed:
                return None  # There is nothing in it yet.
            self._told |= new
            self._listed = self._fingerprint()
            return ProjectUntrusted(self.root, brought(folders), tuple(changed))

    def decide_again(self) -> bool:
        """Compare the project with what was trusted. If it has changed, nobody has said anything about it any more.
        Returns whether settings are to be resolved anew.
        """
        with self._lock:
            before = self.standing
            if self.trusted and self._vouched is not None:
                found = self._fingerprint()
                if not found.whole or found.changes(self._vouched.files):
                    self._bar()
            elif self.trusted:
                self.look()
            elif not self.decided:
                return self._is_settled_elsewhere()
            return self.standing != before

    def decide(self, flag: bool | None, setting: bool | None, remarks: list[str]) -> None:
        """Decide whether the project is trusted: by the flag, else by what was said for good, else by the user's
        setting. If there is nothing to guard, nothing is decided, and no file is read. What goes wrong is added to
        `remarks`.
        """
        self.look()
        if self._barred:
            flag = setting = None
        if not self.folders or flag is not None:
            self.trusted, self.decided = bool(flag), flag is not None
            return
        from linnet.runtime.project.trust import TrustFile

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
            self._barred = self._barred and not self.trusted
            self._readmit()
        else:
            self.trusted, self.decided = bool(setting), setting is not None

    def survey(self) -> "ProjectUntrusted | None":
        """Return what is left out because nobody has said whether the project is trusted; None if nothing is."""
        with self._lock:
            return self._survey()

    def answer(self, answer: Answer) -> None:
        """Trust the project for as long as this process lives, or for good, or never.

        Raises BadInput if it is not what was surveyed last, and then it is not trusted; ConfigError if the answer
        cannot be kept, and then nothing has changed.
        """
        with self._lock:
            self._answer(answer)

    def withdraw(self) -> None:
        """Take back the answer, as if nobody had given one. Raises ConfigError if the file of answers cannot be
        written.
        """
        with self._lock:
            self.trusted = self.decided = False
            if self.home:
                from linnet.runtime.project.trust import TrustFile

                TrustFile(self.home).forget(self.root)

    def _survey(self) -> "ProjectUntrusted | None":
        if self.decided or not self.folders:
            return None
        from linnet.core.events import ProjectUntrusted
        from linnet.runtime.project.project_fingerprint import brought

        found = brought(self.folders)
        if not found:
            return None
        self._listed = self._fingerprint()
        changed = self._listed.changes(self._before) if self._before else ()
        return ProjectUntrusted(self.root, found, changed)

    def _answer(self, answer: Answer) -> None:
        self.look()
        found = self._fingerprint()
        known = self._listed or self._vouched
        if answer != "never" and known is not None and found.changes(known.files):
            self._bar()
            raise BadInput(
                "What this folder brings has changed since it was listed; look at it again, and answer then."
            )
        if answer != "once":
            from linnet.runtime.project.trust import TrustFile

            TrustFile(self.home).put(self.root, answer, found)
        self.trusted, self.decided = answer != "never", True
        self._vouched, self._listed, self._before, self._barred = found, None, {}, False
        self._readmit()

    def read(self, path: str, most: int | None = None) -> bytes | None:
        """Return the content of a file of the project's; None if it is not there, or not trusted. Raises ConfigError if
        it cannot be read, or is not what was trusted.
        """
        if not self.trusted:
            return None
        from linnet.files.reading import MOST, contents
        from linnet.runtime.project.project_fingerprint import digest_of, relative

        text = contents(path, most or MOST)
        if text is not None and self._vouched is not None:
            known = self._vouched.files.get(relative(path, self.root), "")
            if known[1:] != digest_of(text):
                raise ConfigError(f"{path} is not what was trusted: it has changed since")
        return text

    def look(self, *, for_all: bool = False) -> None:
        """See which guarded folders exist: those that this program would use, or `for_all` those that any would."""
        peers = PEERS if for_all else (self._stands_for,)
        self.folders = self._there((FOLDER, *(name for peer in peers if peer for name in PEERS[peer])))

    def _fingerprint(self) -> "Print":
        """Return the fingerprint of all that is guarded, whichever program would use it: an answer counts for all of
        them.
        """
        from linnet.runtime.project.project_fingerprint import fingerprint

        return fingerprint(self.root, self._there(GUARDED))

    def _bar(self) -> None:
        """Take back the trust in a project that is no longer what was trusted or listed. Flags and settings do not
        count for it any more; only an answer does.
        """
        self._barred = self._barred or self.trusted
        self._before = self._vouched.files if self._vouched is not None else self._before
        self.trusted = self.decided = False
        self._vouched = self._listed = None

    def _is_settled_elsewhere(self) -> bool:
        """Return whether somebody has answered for good meanwhile, in another process, about the project as it is."""
        from linnet.runtime.project.trust import TrustFile

        try:
            entry = TrustFile(self.home).of(self.root)
        except ConfigError:
            return False
        if entry is None or entry.answer == "never":
            return entry is not None
        found = self._fingerprint()
        return found.whole and not found.changes(entry.files)

    def _readmit(self) -> None:
        """Count what is there now among what may be used: somebody trusts the project as it is."""
        if self._at_first is not None and self.trusted:
            self._at_first |= self._present()

    def _present(self) -> frozenset[str]:
        """Return the protected names that exist in the folder."""
        from linnet.core.project.protected import PROTECTED_NAMES

        return frozenset(name for name in PROTECTED_NAMES if os.path.lexists(os.path.join(self.root, name)))

    def _protected(self, path: str) -> str | None:
        """Return the protected name that this path leads into; None if it leads into none."""
        from linnet.core.project.protected import PROTECTED_NAMES

        inside = f"{path}/".removeprefix(f"{self.root}/")
        return next((name for name in PROTECTED_NAMES if inside.startswith(f"{name}/")), None)

    def _there(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the paths of these names that exist, and of shared skills; but for linnet's own home folder, which is
        never a project's, whichever link leads there.
        """
        places = [os.path.join(self.root, name) for name in names]
        places += [os.path.join(folder, SHARED) for folder in reversed(folders(self.root, repository(self.root)))]
        return tuple(path for path in places if os.path.lexists(path) and not _same(path, self.home))


def repository(folder: str) -> str:
    """Return the nearest folder, this one or above, that has a `.git`; this one if there is none."""
    for above in reversed(folders(folder, "/")):
        if os.path.lexists(os.path.join(above, ".git")):
            return above
    return folder


def folders(folder: str, root: str) -> list[str]:
    """Return the folders from `root`, which is above this one, down to this one."""
    found = [folder]
    while folder != root and (above := os.path.dirname(folder)) != folder:
        folder = above
        found.append(folder)
    return found[::-1]


def _same(path: str, home: str) -> bool:
    try:
        return os.path.samefile(path, home)
    except OSError:
        return False
