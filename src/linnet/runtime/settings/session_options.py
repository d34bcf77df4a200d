"""How sessions are kept, as all layers of configuration together say."""

import os

from msgspec import Struct

from linnet.core.setting_names import Spelling
from linnet.errors import ConfigError, Contradiction
from linnet.runtime.config.config import Config


class SessionOptions(Struct, frozen=True, kw_only=True):
    """How sessions are kept. `wanted`: there is one, if only in memory. `saves`: it is kept on disk; `insists`: or else
    nothing is started, since somebody asked for that.
    """

    wanted: bool
    insists: bool
    saves: bool
    home: str
    folder: str | None
    session: str | None
    resume: bool
    fork: str | None
    confine: bool
    spelled: Spelling

    @property
    def remembers(self) -> bool:
        """Whether it begins with a session that was there before."""
        return self.session is not None or self.resume or self.fork is not None


def session_options(config: Config, asked: Config, home: str, spelled: Spelling) -> SessionOptions:
    """`asked` is what whoever started this said, and wins over files. Raises ConfigError."""
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
