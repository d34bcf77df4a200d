"""The settings about how sessions are kept, resolved and checked."""

import os

from msgspec import Struct

from linnet.core.setting_names import Spelling
from linnet.errors import ConfigError, Contradiction
from linnet.runtime.config.config import Config


class BadSessionId(ConfigError):
    """An id that no session can have."""

    def __init__(self, flag: str, id: str) -> None:
        super().__init__(
            f"{flag} must be letters, digits, dots, dashes and underscores, with a letter or a digit at both ends, not "
            f"{id!r}"
        )


class SessionOptions(Struct, frozen=True, kw_only=True):
    """How sessions are kept, and which one to begin with."""

    wanted: bool
    """There is a session, if only in memory."""
    insists: bool
    """If it cannot be saved, nothing is started: somebody asked for that in so many words."""
    saves: bool
    """Sessions are saved, on disk or in a log of the program's."""
    home: str
    kept_in: str | None
    """The home in which sessions are begun, if it is another agent's; those in `home` are found there, too."""
    folder: str | None
    """Where files are kept, if not in `home`."""
    session: str | None
    resume: bool
    fork: str | None
    id: str | None
    """The id that the session has, or gets if it is new."""
    name: str | None
    """The name that the session gets."""
    confine: bool
    spelled: Spelling

    @property
    def remembers(self) -> bool:
        """Return whether the agent begins with a session that was there before, or a copy of one."""
        return self.session is not None or self.resume or self.fork is not None or self.id is not None

    @property
    def begins_unsaved(self) -> bool:
        """Return whether the agent begins with a new session, without a name, which is not saved."""
        return not (self.saves or self.remembers) and self.name is None


def session_options(
    config: Config, asked: Config, home: str, spelled: Spelling, kept_in: str | None = None
) -> SessionOptions:
    """Return the options of `config`, all layers together; `asked` is the strongest of them. `kept_in` is that of
    SessionOptions. Raises ConfigError if they contradict each other.
    """
    given = [
        ("session", config.session is not None),
        ("resume", config.resume),
        ("fork", config.fork is not None),
    ]
    named = [spelled(field) for field, is_given in given if is_given]
    if len(named) > 1:
        raise Contradiction(*named)
    if config.session_id is not None:
        if named and config.fork is None:
            raise Contradiction(spelled("session_id"), *named)
        if not _is_id(config.session_id):
            raise BadSessionId(spelled("session_id"), config.session_id)
    if config.session_name is not None and not config.session_name.strip():
        raise ConfigError(f"{spelled('session_name')} must say a name: it is empty")
    if asked.save is False and (config.session is not None or config.resume):
        raise Contradiction(spelled("no_session"), *named)
    for field, word in (("session", config.session), ("fork", config.fork)):
        if word is not None and not os.fspath(word).strip():
            raise ConfigError(f"{spelled(field)} must name a file, or the beginning of a session's id")
    said = [*named, *(each for each in (config.session_id, config.session_name) if each is not None)]
    saves = asked.save if asked.save is not None else bool(config.save or said)
    return SessionOptions(
        insists=asked.save is True or bool(named),
        wanted=bool(saves or config.sessions or said),
        saves=saves,
        home=home,
        kept_in=kept_in,
        folder=os.path.abspath(os.path.expanduser(config.session_dir)) if config.session_dir else None,
        session=None if config.session is None else os.fspath(config.session),
        resume=bool(config.resume),
        fork=None if config.fork is None else os.fspath(config.fork),
        id=config.session_id,
        name=None if config.session_name is None else config.session_name.strip(),
        confine=bool(config.confine),
        spelled=spelled,
    )


def _is_id(word: str) -> bool:
    """Return whether a session can have this id, which becomes part of a file's name."""
    plain = word.translate({ord(each): "x" for each in "._-"})
    return word.isascii() and plain.isalnum() and word[0].isalnum() and word[-1].isalnum()
