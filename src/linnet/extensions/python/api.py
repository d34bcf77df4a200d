"""The object that `extend(linnet)` is given: registers tools, commands, handlers and flags, and makes decisions."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args, overload

from linnet.core.extensions import extension_events, hooks
from linnet.errors import ConfigError
from linnet.extensions.extension import AddedProvider

if TYPE_CHECKING:
    from linnet.tools.functions.function import FunctionTool

Function = TypeVar("Function", bound=Callable[..., Any])
Event: TypeAlias = hooks.Hook | extension_events.Observed
ASKED: tuple[str, ...] = tuple(name for name in get_args(hooks.Name) if name != "turn_start")
"""Events whose handlers decide. A handler of `turn_start` is only told of it."""
TOLD: tuple[str, ...] = get_args(extension_events.Name)
"""Events whose handlers are only told."""


class Linnet:
    """What an extension registers with, while `extend` runs, and decides with, in its handlers."""

    api_version = 1
    """Grows when something is added; what is there stays as it is."""

    def __init__(self, name: str, path: str, flags: Mapping[str, Any], home: str, cwd: str) -> None:
        self.name = name
        self.path = path
        self.home = home
        self.cwd = cwd
        self._given = flags
        self._tools: list[FunctionTool] = []
        self._commands: dict[str, tuple[str, Callable[..., Any]]] = {}
        self._handlers: dict[str, list[Callable[..., Any]]] = {}
        self._flags: dict[str, tuple[str, Any]] = {}
        self._providers: dict[str, AddedProvider] = {}

    @overload
    def tool(self, function: Function, /) -> Function: ...

    @overload
    def tool(
        self, function: None = None, /, *, name: str = "", description: str = ""
    ) -> Callable[[Function], Function]: ...

    def tool(self, function: Callable[..., Any] | None = None, /, *, name: str = "", description: str = "") -> Any:
        """Let the model call this function: its annotations and its docstring are what it reads. A parameter that is
        called `ctx` gets the Context. Raises TypeError for a function whose parameters a model cannot be told of.
        """

        def register(function: Any) -> Any:
            from linnet.tools.functions.function import FunctionTool

            self._tools.append(FunctionTool(function, name, description, context="ctx"))
            return function

        return register if function is None else register(function)

    def command(self, name: str, *, description: str = "") -> Callable[[Function], Function]:
        """Let the user type `/name arguments`: the function gets the arguments, as they are, and a Context.

        Raises ConfigError for a name that cannot be typed so.
        """
        if not name or any(letter.isspace() for letter in name) or name.startswith("/"):
            raise ConfigError(f"{name!r} cannot be the name of a command: it is one word, without the slash")

        def register(function: Function) -> Function:
            self._commands[name] = (description or (function.__doc__ or "").strip().partition("\n")[0], function)
            return function

        return register

    def on(self, event: str) -> Callable[[Function], Function]:
        """Call the function with each such event, and a Context. Before something happens, what it returns decides
        about it: `block`, `cancel`, `handled`, `replace`, or nothing. Raises ConfigError if there is no such event.
        """
        event = hooks.OTHER_NAMES.get(event, event)
        if event not in ASKED and event not in TOLD:
            raise ConfigError(f'no event is called "{event}"; there are {", ".join(sorted({*ASKED, *TOLD}))}')

        def register(function: Function) -> Function:
            self._handlers.setdefault(event, []).append(function)
            return function

        return register

    def flag(self, name: str, *, description: str = "", default: Any = False) -> Any:
        """Let `--name` be given on the command line: alone if the default is False, or else with a value. Return what
        was given, or the default.
        """
        self._flags[name] = (description, default)
        return self._given.get(name, default)

    def provider(
        self,
        name: str,
        *,
        models: Sequence[Any],
        base_url: str = "",
        api: str = "",
        key_variable: str = "",
        stream: Callable[..., Any] | None = None,
    ) -> None:
        """Add a provider of models: a server, by its address and the name of its API, or a function that yields the
        reply to a request, as `linnet.provider` describes it. `models` are ids, or Models. Raises ConfigError.
        """
        if (stream is None) is (not base_url):
            raise ConfigError(f"the provider {name} needs either base_url and api, or stream")
        self._providers[name] = AddedProvider(name, tuple(models), base_url, api, key_variable, stream)

    @property
    def flags(self) -> Mapping[str, tuple[str, Any]]:
        """The flags that were registered: a description and a default for each."""
        return self._flags

    @staticmethod
    def block(reason: str = "") -> hooks.Block:
        """Decide that it must not happen; the model, or whoever asked for it, is told why."""
        return hooks.Block(reason)

    @staticmethod
    def cancel() -> hooks.Cancel:
        """Decide that it is called off, and nothing has changed."""
        return hooks.Cancel()

    @staticmethod
    def handled() -> hooks.Handled:
        """Decide that it goes no further, for the extension has seen to it."""
        return hooks.Handled()

    @staticmethod
    def replace(**changes: Any) -> hooks.Replace:
        """Decide that it happens with other values in these fields."""
        return hooks.Replace(changes)
