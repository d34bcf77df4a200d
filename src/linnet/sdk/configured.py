"""The constructor of Runtime and AsyncRuntime, whose keywords are the settings, and how both open a session."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from linnet.core.setting_names import keyword
from linnet.runtime.config.config import SDK, Config, Keywords
from linnet.runtime.listener import Listener
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.settings.settings import resolve
from linnet.sdk.question_callback import Answering, OnQuestion

if TYPE_CHECKING:
    from inspect import Signature

    from linnet.runtime.tape import Tape
    from linnet.sdk.awaiting import HostLoop

P = ParamSpec("P")


class _Asked(Keywords, frozen=True, kw_only=True):
    """All keywords: the settings, and the one that is none."""

    on_question: OnQuestion | None = None


class _Arguments(_Asked, frozen=True):
    """What a constructor takes: a Config, by position or name, or the keywords."""

    config: Config | None = None


def _taking(
    make: Callable[P, _Arguments],
) -> Callable[[Callable[[Any, _Arguments], None]], Callable[Concatenate[Any, P], None]]:
    """Return a decorator that gives a constructor the parameters of `make`: settings are written once, in Keywords, and
    type checkers know them all.
    """

    def decorated(begin: Callable[[Any, _Arguments], None]) -> Callable[Concatenate[Any, P], None]:
        def init(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> None:
            begin(self, make(*args, **kwargs))

        init.__doc__ = begin.__doc__
        return init

    return decorated


class _Signature:
    """The `__signature__` of a class, for `help` and completion, which do not see the types of `_taking`."""

    def __get__(self, instance: object, owner: type) -> "Signature":
        from inspect import Parameter, Signature

        types = {**Keywords.__annotations__, **_Asked.__annotations__}
        keywords = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=types[name]) for name in types]
        config = Parameter("config", Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=Config | None)
        return Signature([config, *keywords], return_annotation=None)


class Configured:
    """The base of Runtime and AsyncRuntime: their constructor, and how they open a session."""

    __signature__ = _Signature()
    _tape: "Tape | None" = None

    @_taking(_Arguments)
    def __init__(self, said: _Arguments) -> None:
        """Takes a Config, or its fields as keywords; see `docs/sdk.md` for what they mean.

        `permission` is a mode, or a function that is given each call. `rules` are such as "allow bash:git status".
        `on_question` answers what else is asked.
        """
        fields = {name: getattr(said, name) for name in Keywords.__struct_fields__}
        if said.config is not None and any(value is not None for value in fields.values()):
            raise TypeError("give either a Config or its fields, not both")
        self._config = said.config or Config(**fields)
        self._on_question = said.on_question
        self._set_up()

    def _open_session(self, listener: Listener, loop: "HostLoop | None" = None) -> Session:
        """Open the session that the keywords ask for. `listener` is told what happens in it; `loop` runs coroutines of
        the program, and without one a thread of the runtime does.

        Raises ConfigError or SessionError if that cannot be done.
        """
        settings = resolve(self._config, os.environ, SDK, spelled=keyword)
        for remark in settings.remarks:
            from linnet.runtime.project.text_files import warn

            warn(remark)
        resources = Resources(settings, loop)
        self._tape = resources.tape
        try:
            if self._on_question is None:
                return Session(resources, [listener])
            answering = Answering(self._on_question, resources)
            answering.session = session = Session(resources, [listener, answering], answerable=True)
        except BaseException:
            resources.close()
            raise
        return session

    def _set_up(self) -> None:
        """Make what a face needs. Called once, when the configuration is known; may raise ConfigError or
        SessionError.
        """
