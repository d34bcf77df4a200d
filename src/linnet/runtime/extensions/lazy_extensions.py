"""Finds out whether a session may have extensions, and imports and builds what serves them only if it may."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from linnet.core import commands
from linnet.runtime.broadcast import Broadcast
from linnet.runtime.sessions.storage import Storage
from linnet.runtime.slash_commands import SlashCommands
from linnet.runtime.tools.open_questions import OpenQuestions
from linnet.runtime.tools.session_tools import SessionTools

if TYPE_CHECKING:
    from linnet.runtime.extensions.admission import CarryOut
    from linnet.runtime.extensions.session_extensions import SessionExtensions
    from linnet.runtime.session import Session


class LazyExtensions:
    """Invariant: SessionExtensions are built at most once, and stay until the session is closed, even if no extension
    is left.
    """

    def __init__(
        self,
        session: "Session",
        session_tools: SessionTools,
        broadcast: Broadcast,
        storage: Storage,
        questions: OpenQuestions,
        slash: SlashCommands,
        clock: Callable[[], int],
        carry_out: "CarryOut",
    ) -> None:
        """`carry_out` is for Admission, which says what it does."""
        self.before_reload: Callable[[], None] = lambda: None
        """Called before extensions are read again; what the project is to them is set here by whoever knows it."""
        self._session = session
        self._live = session_tools.resources.live
        self._broadcast = broadcast
        self._storage = storage
        self._questions = questions
        self._session_tools = session_tools
        self._slash = slash
        self._clock = clock
        self._carry_out = carry_out
        self._built: SessionExtensions | None = None
        self._looked = False  # Whether the settings that hold were asked.

    def may_exist(self, command: commands.Command | None = None) -> bool:
        """Return whether there may be any, and build what serves them. Looks at the disk once for given settings;
        `Reload` is about extensions, so that it needs no look.
        """
        reload = isinstance(command, commands.Reload)
        if self._built is None and (reload or not self._looked):
            wanted = reload or self._live.now.may_have_extensions  # Reads folders: without the lock.
            with self._broadcast.lock:
                if self._built is None and wanted:  # Another thread may have looked meanwhile.
                    self._built = self._build_locked()
                self._looked = True
        return self._built is not None

    def outdate_locked(self) -> None:
        """Take note that other settings hold: look again, and have extensions read again before they are next used."""
        self._looked = False
        if self._built is not None:
            self._session.jobs.outdate_extensions()  # It is kept for the next that needs them: nothing follows now.

    def tell_doubts(self) -> None:
        """Tell clients of tools that rules name and nobody has; if there may be extensions, leave it to those, who tell
        it once they are loaded.
        """
        unheard = self._live.now.unheard_tools
        if unheard and not self.may_exist():
            from linnet.runtime.settings.rules import doubtful

            with self._broadcast.lock:
                self._broadcast.publish_locked(doubtful(unheard))

    def close(self) -> None:
        """Close the extensions, if there are any. Idempotent."""
        if self._built is not None:
            self._built.close()

    def _build_locked(self) -> "SessionExtensions":
        from linnet.runtime.extensions.admission import Admission
        from linnet.runtime.extensions.extension_host import SessionHost
        from linnet.runtime.extensions.session_extensions import SessionExtensions

        host = SessionHost(
            self._session,
            self._session_tools,
            self._broadcast,
            self._storage,
            self._questions,
            self._session.jobs,
            self._clock,
        )
        extensions = SessionExtensions(self._live, self._broadcast, self._session_tools, host)
        self._broadcast.add(extensions)
        self._slash.add(extensions.commands)
        jobs = self._session.jobs
        jobs.admission = Admission(extensions, jobs, self._carry_out, self.before_reload, self._broadcast.broke)
        return extensions
