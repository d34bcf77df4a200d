"""The project that a session works in: telling clients what is untrusted in it, and taking their answer, by which other
settings may come to hold.
"""

import os
from typing import TYPE_CHECKING

from linnet.core import commands
from linnet.core.events import Event
from linnet.errors import BadInput, ConfigError
from linnet.runtime.broadcast import Broadcast
from linnet.runtime.extensions.lazy_extensions import LazyExtensions
from linnet.runtime.requester import Requester
from linnet.runtime.settings.settings import LiveSettings, Settings

if TYPE_CHECKING:
    from linnet.runtime.adoption import Adoption
    from linnet.runtime.session import Session


class SessionProject:
    """The project's files are read without the session's lock, and settings are changed under it."""

    def __init__(
        self, session: "Session", live: LiveSettings, broadcast: Broadcast, extensions: LazyExtensions
    ) -> None:
        self._session = session
        self._live = live
        self._broadcast = broadcast
        self._extensions = extensions
        extensions.before_reload = self.decide_again
        self._adoption: Adoption | None = None
        self._reloaded = False

    def survey(self, *, at_first: bool = False) -> None:
        """Tell, if nobody has said whether the project is trusted, what is left out of what it brings; `at_first`
        unless a `reload` came before, which tells it.
        """
        untrusted = self._live.now.project.survey()
        if untrusted is not None:
            with self._broadcast.lock:
                if not (at_first and self._reloaded):
                    self._broadcast.publish_locked([untrusted])

    def trust(self, command: commands.Trust, requester: Requester) -> None:
        """Take an answer about the project, from which other settings may follow, for the next run.

        Raises LinnetError if it cannot be taken: BadInput if the project is not what was asked about, ConfigError if
        what it says cannot be used.
        """
        settings, was = self._live.now, self._live.now.project.standing
        try:
            settings.project.answer(command.answer)
        except BadInput:
            self.survey()  # There is something else by now, which should be seen before it is trusted.
            raise
        changed = settings.project.standing != was
        if changed:
            settings = _resolved_again(settings)
        with self._broadcast.lock:
            if changed:
                self._offer_locked(settings)
            requester.finished(commands.Ok())

    def decide_again(self) -> None:
        """Find out, before extensions are read again, whether the project is what was trusted.

        Raises ConfigError if what holds then cannot be used.
        """
        self._reloaded = True
        if self._live.now.project.decide_again():
            settings = self._live.now.again()
            with self._broadcast.lock:
                self._offer_locked(settings)
                # They are about to be read. Nothing follows from this fact alone, so that the lock may be held.
                self._session.jobs.outdate_extensions(outdated=False)
        self.survey()

    def _offer_locked(self, settings: Settings) -> None:
        """Let these hold from the next run on, whenever that is."""
        from linnet.runtime.adoption import Adoption

        if self._adoption is None:
            self._adoption = Adoption(self._live, self._changed_locked)
            self._broadcast.add(self._adoption)
        self._adoption.offer_locked(settings, active=self._session.jobs.active)

    def _changed_locked(self, before: Settings, events: list[Event]) -> None:
        """Tell that other settings hold. Extensions were read by those before, and are read again."""
        self._extensions.outdate_locked()
        self._broadcast.publish_locked(events)
        if self._live.now.unheard_tools != before.unheard_tools:
            self._extensions.tell_doubts()


def check_named(settings: Settings) -> None:
    """Raise ConfigError if an extension that was named is not there. Nothing is imported where none was."""
    if settings.extensions:
        from linnet.extensions.named import check

        check(settings.extensions, os.environ)


def _resolved_again(settings: Settings) -> Settings:
    """Return what the same words come to by now. Raises ConfigError, with the trust in the project withdrawn."""
    try:
        settings = settings.again()
        check_named(settings)
        return settings
    except ConfigError:
        settings.project.withdraw()  # What cannot be used is not trusted either.
        raise
