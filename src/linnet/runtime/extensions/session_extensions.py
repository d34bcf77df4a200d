"""The extensions of a session: finds, loads, reloads and closes them, tells them what happens, and hands their tools
and commands to the session.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from types import ModuleType

from linnet.concurrency.cancel import CancelToken
from linnet.core.events import PASSING, Cleared, Event, HookFailed, SessionEntered
from linnet.core.extensions.extension_events import SessionEnded, SessionStarted, observed
from linnet.core.slash import Location, SlashCommand
from linnet.errors import ConfigError
from linnet.extensions.chain import Chain, explained
from linnet.extensions.extension import Extension
from linnet.extensions.installed import installed
from linnet.extensions.loader import MODULES, LoadedExtensions, found, load, tell_failure
from linnet.runtime.broadcast import Broadcast
from linnet.runtime.extensions.brought_providers import BroughtProviders
from linnet.runtime.extensions.extension_host import SessionHost
from linnet.runtime.listener import Listener
from linnet.runtime.settings.packages import EXTENSIONS, entry_points
from linnet.runtime.settings.settings import LiveSettings, Settings
from linnet.runtime.tools.session_tools import SessionTools

FOLDER = "extensions"
PATIENCE = 10.0  # Seconds that one of them has to be loaded, where nobody said otherwise.
CLOSING = 2.0  # Seconds that all of them together have to hear that it is over.


class SessionExtensions(Listener):
    """Invariants: `chain` is there once they are loaded, if there are any; each extension is told `session_start` once
    for each session that it sees, and `session_shutdown` once.

    `_loading` is held while extensions load, which may take long. It is taken before the session's lock, and never with
    that held: an extension that loads may well use the session.
    """

    def __init__(
        self, live: LiveSettings, broadcast: Broadcast, session_tools: SessionTools, host: SessionHost
    ) -> None:
        self._live = live
        self._broadcast = broadcast
        self._session_tools = session_tools
        self._host = host
        self._providers = BroughtProviders(broadcast)
        self._loading = Lock()
        self._closing = CancelToken()  # Ends a load that goes on as the session is closed.
        self._closed = False
        self._loaded = False

    @property
    def chain(self) -> Chain | None:
        """Return the extensions that are loaded; None if there are none."""
        return self._session_tools.chain

    def load(self, hurry: CancelToken) -> None:
        """Load the extensions; if they are loaded, wait for those that are not ready yet. Once `hurry` is set, nobody
        waits for those that can join later. What cannot be loaded is told. Not to be called under the session's lock.

        Raises ConfigError if one that was named cannot be had.
        """
        with self._loading:
            if not self._loaded:
                self._enter(self._read(hurry))
                return
            chain = self.chain
            for extension in chain.extensions if chain is not None else ():
                self._await(extension, hurry)

    def reload(self) -> None:
        """Load the extensions anew, and then close those that there were. Not to be called under the session's lock.

        Raises ConfigError if one that was named cannot be had, and then those that there were stay.
        """
        with self._loading, self._kept_modules():
            loaded = self._read(self._closing)
            self._end("reload")
            self._host.note_reload()
            self._enter(loaded)

    def close(self) -> None:
        """Close the extensions, and keep any that still load from joining. Idempotent."""
        with self._broadcast.lock:
            if self._closed:
                return
            self._closed = True
        self._closing.set()
        self._host.close()
        self._end("quit")

    def commands(self) -> Sequence[SlashCommand]:
        """Return what extensions let a user type as `/name`. Never blocks."""
        chain = self.chain  # Asked once: another thread may take it away.
        return [
            SlashCommand(command.name, command.description, "extension", extension.location, extension.path)
            for extension, command in (chain.commands() if chain is not None else ())
        ]

    def hear(self, events: Sequence[Event]) -> None:
        chain = self.chain
        for event in events:
            if isinstance(event, SessionEntered | Cleared):
                self._host.forget_locked()
            if chain is None:
                continue
            if chain.hears_all:
                chain.hear(event)
            if type(event) in PASSING and not chain.hears_passing:
                continue
            for told in observed(event):
                chain.tell(told)

    def _read(self, hurry: CancelToken) -> LoadedExtensions:
        """Find and load what the settings name and allow. Raises ConfigError if one that was named cannot be had, and
        then those that were loaded are closed.
        """
        settings = self._live.now
        folders = extension_folders(settings.sessions.home, settings.project.resources)
        others = (
            (folders, installed(entry_points(EXTENSIONS)), zot_folders(settings), settings.resource_folders.pi_folders)
            if settings.find_extensions
            else ((), (), (), ())
        )
        places = found(settings.extensions, *others)
        loaded = load(places, self._host, PATIENCE, settings.extension_wait, settings.hook_timeout, hurry)
        if not loaded.missing or self._closed:
            return loaded
        for extension in loaded.extensions:
            extension.close(0)
        raise self._told(*loaded.missing)

    def _await(self, extension: Extension, hurry: CancelToken) -> None:
        """Wait until an extension is ready. Raises ConfigError if it failed instead."""
        try:
            extension.wait_ready(max(PATIENCE, self._live.now.extension_wait), hurry)
        except Exception as fault:
            raise self._told((extension.path, explained(fault))) from None

    def _told(self, *missing: tuple[str, str]) -> ConfigError:
        """Tell which extensions were named and cannot be had, and return the error to raise about the first."""
        with self._broadcast.lock:
            self._broadcast.publish_locked([HookFailed(path, "load", error) for path, error in missing])
        from linnet.extensions.named import unusable

        return unusable(*missing[0])

    def _enter(self, loaded: LoadedExtensions) -> None:
        """Give the session what was loaded, unless it was closed meanwhile: then that is closed, too."""
        chain = None
        failures = [*loaded.failures, *self._providers.renew(loaded.extensions, self._live.now.known_models)]
        if loaded.extensions:
            chain = Chain(loaded.extensions, self._host.failed, self._live.now.hook_timeout)
        # In one step: what is published before it is not told to them, and `session_start` is the first that is.
        with self._broadcast.lock:
            closed = self._closed
            if not closed:
                self._session_tools.extend(chain)
                self._start_locked(chain, failures)
            self._loaded = True
        self._tell_doubts()
        if chain is not None and not closed:
            chain.settle()  # What they do when the session starts comes before what is said in it.
        if closed:
            for extension in loaded.extensions:
                extension.close(0)

    @contextmanager
    def _kept_modules(self) -> Iterator[None]:
        """Put the modules of extensions back if the body fails: the extensions that stay still use them."""
        before = _extension_modules()
        try:
            yield
        except BaseException:
            for name in _extension_modules():
                del sys.modules[name]
            sys.modules.update(before)
            raise

    def _start_locked(self, chain: Chain | None, failures: Sequence[tuple[str, str]]) -> None:
        """Tell which ones could not be loaded, and tell the others that the session has started."""
        for path, error in failures:
            tell_failure(path, error)
        self._broadcast.publish_locked([HookFailed(path, "load", error) for path, error in failures])
        if chain is not None:
            state = self._broadcast.state
            chain.tell(SessionStarted("startup", state.session_id, state.session_file))

    def _tell_doubts(self) -> None:
        """Tell which tools are named in rules and had by nobody, now that it is known what extensions bring."""
        unheard = self._live.now.unheard_tools
        if not unheard:
            return
        from linnet.runtime.settings.rules import doubtful, doubts

        others = [name for name, _ in self._session_tools.owners()]
        for sentence in doubts(unheard, others):
            self._broadcast.warn(sentence)
        with self._broadcast.lock:
            self._broadcast.publish_locked(doubtful(unheard, others))

    def _end(self, reason: str) -> None:
        """Take the extensions from the session, and then tell and close them without the lock: they may use it."""
        with self._broadcast.lock:
            chain = self.chain
            self._session_tools.extend(None)
        if chain is not None:
            chain.tell(SessionEnded("reload" if reason == "reload" else "quit"))
            chain.close(CLOSING)


def _extension_modules() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.copy().items() if name.startswith(MODULES)}


def extension_folders(home: str, project: str | None) -> list[tuple[str | None, Location]]:
    """Return where extensions are looked for: in the project's folder, if that is trusted, and in the user's own."""
    return [(project and os.path.join(project, FOLDER), "project"), (os.path.join(home, FOLDER), "user")]


def zot_folders(settings: Settings) -> list[tuple[str, Location]]:
    """Return where zot looks for extensions, if linnet stands in for it; the project's only while it is trusted."""
    if settings.zot_home is None:
        return []
    user: tuple[str, Location] = (os.path.join(settings.zot_home, FOLDER), "user")
    project = settings.project.folder(".zot")
    return [(os.path.join(project, FOLDER), "project"), user] if project is not None else [user]
