"""The settings about how sessions are kept, resolved and checked."""

import os

from msgspec import Struct

from linnet.core.setting_names import Spelling
from linnet.errors import ConfigError, Contradiction
from linnet.runtime.config.config import Config


class SessionOptions(Struct, frozen=True, kw_only=True):
    """How sessions are kept, and which one to begin with."""

    wanted: bool
    """There is a session, if only in memory."""
    insists: bool
    """If it cannot be saved, nothing is started: somebody asked for that in so many words."""
    saves: bool
    """Sessions are saved, on disk or in a log of the program's."""
    home: str
    folder: str | None
    """Where files are kept, if not in `home`."""
    session: str | None
    resume: bool
    fork: str | None
    confine: bool
    spelled: Spelling

    @property
    def remembers(self) -> bool:
        """Return whether the agent begins with a session that was there before, or a copy of one."""
        return self.session is not None or self.resume or self.fork is not None


def session_options(config: Config, asked: Config, home: str, spelled: Spelling) -> SessionOptions:
    """Return the options of `config`, all layers together; `asked` is the strongest of them. Raises ConfigError if they
    contradict each other.
    """
    given = [
        ("session", config.session is not None),
        ("resume", config.resume),
        ("fork", config.fork is not None),
    ]
    named = [spelled(field) for field, is_given in given if is_given]
    if len(named) > 1:
        raise Contradiction(*named)
    if asked.save is False and (config.session is not None or config.resume):
        raise Contradiction(spelled("no_session"), *named)
    for field, word in (("session", config.session), ("fork", config.fork)):
        if word is not None and not os.fspath(word).strip():
            raise ConfigError(f"{spelled(field)} must name a file, or the beginning of a session's id")
    saves = asked.save if asked.save is not None else bool(config.save or named)
    return SessionOptions(
        insists=asked.save is True or bool(named),
        wanted=bool(saves or config.sessions or named),
        saves=saves,
        home=home,
        folder=os.path.abspath(os.path.expanduser(config.session_dir)) if config.session_dir else None,
        session=None if config.session is None else os.fspath(config.session),
        resume=bool(config.resume),
        fork=None if config.fork is None else os.fspath(config.fork),
        confine=bool(config.confine),
        spelled=spelled,
    )
