"""Opens the sessions of a process: new ones, earlier ones and copies, each with the settings of its own folder."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from linnet.core.setting_names import Spelling
from linnet.errors import SessionError
from linnet.runtime.config.config import Config, flag
from linnet.runtime.config.merged_layers import layered
from linnet.runtime.listener import Listener
from linnet.runtime.project.resource_folders import peer_home
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.settings.folders import home_folder
from linnet.runtime.settings.settings import Settings, resolve

if TYPE_CHECKING:
    from linnet.concurrency.foreign import EventLoop
    from linnet.store.factory import LogFactory
    from linnet.store.header import Header
    from linnet.tools.toolset import Around

NOTHING = Config()


class SessionFactory:
    """Invariant: sessions share what was asked for when the process began, and nothing that changes. Each has the
    settings of its own folder: that folder's files, trust, extensions and tools.

    A session is opened in two steps, so that whoever opens it can look at its settings in between.
    """

    def __init__(
        self,
        asked: Config,
        environ: Mapping[str, str],
        *below: Config,
        spelled: Spelling = flag,
        client_tools: bool = False,
        own_process: bool = False,
        logs: "LogFactory | None" = None,
    ) -> None:
        """`own_process` is that of Resources, `logs` is that of Session; everything else is what `resolve` takes."""
        self._asked = asked
        self._environ = environ
        self._below = below
        self._spelled = spelled
        self._client_tools = client_tools
        self._own_process = own_process
        self._logs = logs

    @property
    def session_dir(self) -> str | None:
        """Return the folder of sessions that was asked for, if one was."""
        chosen = self._asked.session_dir
        return None if chosen is None else os.path.abspath(os.path.expanduser(chosen))

    def first(self) -> Settings:
        """Return what holds for the session that was asked for when the process began. Raises ConfigError."""
        return self._resolved(self._asked)

    def new(self, said: Config = NOTHING) -> Settings:
        """Return what holds for a session that was not there before. `said` wins over what was asked for when the
        process began, and may name another folder. Raises ConfigError.
        """
        return self._resolved(self._besides(said))

    def resume(self, session: str, said: Config = NOTHING) -> Settings:
        """Return what holds for a session that was there before: a path, or the beginning of an id. It goes on in the
        folder that it was begun in, unless `said` names one. Raises ConfigError or SessionError.
        """
        path, asked = self._found(session, said)
        return self._resolved(replace(asked, session=path))

    def fork(self, session: str, said: Config = NOTHING) -> Settings:
        """Return what holds for a copy of a session, which itself stays as it is. Otherwise as `resume`."""
        path, asked = self._found(session, said)
        return self._resolved(replace(asked, fork=path))

    def open(
        self,
        settings: Settings,
        listeners: Sequence[Listener] = (),
        *,
        answerable: bool = False,
        loop: "EventLoop | None" = None,
        trace: Callable[[str], None] | None = None,
        around: "Around | None" = None,
    ) -> Session:
        """Open the session that the settings ask for; `answerable` and `around` are those of Session, `loop` and
        `trace` are those of Resources. Raises ConfigError or SessionError, and then nothing is left behind.
        """
        resources = Resources(settings, loop, trace, own_process=self._own_process)
        try:
            return Session(resources, listeners, answerable=answerable, logs=self._logs, around=around)
        except BaseException:
            resources.close()
            raise

    def _resolved(self, asked: Config) -> Settings:
        return resolve(asked, self._environ, *self._below, spelled=self._spelled, client_tools=self._client_tools)

    def _besides(self, said: Config) -> Config:
        """Return what was asked for when the process began, but for the session itself, with `said` on top."""
        nothing = dict.fromkeys(("session", "resume", "fork", "session_id", "session_name"))
        return layered(replace(self._asked, **nothing), said)

    def _found(self, word: str, said: Config) -> tuple[str, Config]:
        """Return the session's key, and all that is asked for with it. Raises SessionError."""
        asked = self._besides(said)
        key = self._key(word, asked)
        if key is None:
            from linnet.store.session_folder import NoSuchSession

            raise NoSuchSession(word)
        header = self._header(key)
        if header is None:
            raise SessionError(f"{key} is not a session")
        return key, replace(asked, cwd=said.cwd or header.cwd or asked.cwd)

    def _key(self, word: str, asked: Config) -> str | None:
        """Return the key of the session that the word names: a path, or the beginning of an id; None if none does."""
        if self._logs is not None:
            return self._logs.find(word)
        from linnet.store.session_folder import find, folders

        # Sessions of all projects are equal here, so none of their folders comes first and hides the others.
        chosen = "" if asked.session_dir is None else os.path.abspath(os.path.expanduser(asked.session_dir))
        theirs = folders(peer_home("pi", self._environ)) if self._stands_in_for_pi(asked) else []
        return find(word, [chosen, *theirs, *folders(home_folder(self._environ))])

    def _stands_in_for_pi(self, asked: Config) -> bool:
        return layered(*self._below, asked).stands_in_for == "pi"

    def _header(self, key: str) -> "Header | None":
        """Return the header of that session; None if the file is not one."""
        if self._logs is not None:
            return self._logs.read(key).header
        from linnet.store.file import first_header

        return first_header(key)
