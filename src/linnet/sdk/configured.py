"""What a runtime is made of, said in keywords. Both faces take the same ones."""

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

    from linnet.sdk.awaiting import HostLoop

P = ParamSpec("P")


class _Asked(Keywords, frozen=True, kw_only=True):
    """All keywords: those that are settings, and the one that is not."""

    on_question: OnQuestion | None = None


class _Arguments(_Asked, frozen=True):
    """What a constructor takes: a Config, also by position, or the keywords."""

    config: Config | None = None


def _taking(
    make: Callable[P, _Arguments],
) -> Callable[[Callable[[Any, _Arguments], None]], Callable[Concatenate[Any, P], None]]:
    """Let a constructor take what this takes: the settings are written once, and type checkers know them all."""

    def decorated(begin: Callable[[Any, _Arguments], None]) -> Callable[Concatenate[Any, P], None]:
        def init(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> None:
            begin(self, make(*args, **kwargs))

        init.__doc__ = begin.__doc__
        return init

    return decorated


class _Signature:
    """Shows the keywords to `help` and to completion, which look at a class and not at its constructor's types."""

    def __get__(self, instance: object, owner: type) -> "Signature":
        from inspect import Parameter, Signature

        types = {**Keywords.__annotations__, **_Asked.__annotations__}
        keywords = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=types[name]) for name in types]
        config = Parameter("config", Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=Config | None)
        return Signature([config, *keywords], return_annotation=None)


class Configured:
    """What both faces have in common: their constructor, and how they open a session."""

    __signature__ = _Signature()

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
        """Open the session that the keywords ask for. `listener` is told what happens in it; `loop` is where coroutines
        of the program's own run, without one in a thread of the runtime's.

        Raises ConfigError or SessionError if that cannot be done.
        """
        settings = resolve(self._config, os.environ, SDK, spelled=keyword)
        for remark in settings.remarks:
            from linnet.runtime.project.text_files import warn

            warn(remark)
        resources = Resources(settings, loop)
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
        """Called with the configuration; what cannot be used raises ConfigError or SessionError."""
