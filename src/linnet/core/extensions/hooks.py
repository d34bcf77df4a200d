"""What extensions are asked before something happens, and what they may decide about it.

Who asks them and when is not known here. What they are only told, afterwards, is in `extension_events`.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct, ValidationError
from msgspec.structs import fields, replace

from linnet.core.messages import Image, Message, Note, Text, UserPart
from linnet.decoding import converted

Name: TypeAlias = Literal[
    "input",
    "before_agent_start",
    "turn_start",
    "context",
    "before_provider_request",
    "assistant_message",
    "tool_call",
    "tool_result",
    "session_before_switch",
    "session_before_branch",
    "session_before_compact",
    "user_bash",
]

OTHER_NAMES: dict[str, Name] = {
    "before_switch": "session_before_switch",
    "before_branch": "session_before_branch",
    "before_fork": "session_before_branch",
    "before_compact": "session_before_compact",
    "session_before_fork": "session_before_branch",
}
"""How pi's documents, and its later versions, spell some of these names."""


class Hook(Struct, frozen=True):
    """Something that is about to happen."""

    name: ClassVar[Name]
    stops: ClassVar[tuple[str, ...]] = ()
    """How a handler may keep it from happening."""
    replaceable: ClassVar[tuple[str, ...]] = ()
    """Which of its fields a handler may change."""
    guard: ClassVar[bool] = False
    """A handler that fails or does not answer counts as one that says no."""


class InputGiven(Hook, frozen=True):
    """The user said this; commands are gone by now, and templates expanded. What is handled goes no further."""

    name = "input"
    stops = ("handled",)
    replaceable = ("text", "images")

    text: str
    images: tuple[Image, ...] = ()
    queued: bool = False
    """It was said while the agent worked, and waited until it could be heard."""


class AgentStarting(Hook, frozen=True):
    """A run is about to begin with this prompt."""

    name = "before_agent_start"
    replaceable = ("system_prompt", "note", "notes")

    prompt: str
    system_prompt: str
    images: tuple[Image, ...] = ()
    note: str = ""
    """What is said to the model after the prompt; empty for nothing."""
    notes: tuple[Note, ...] = ()
    """The same, for handlers that say more about it: what kind it is, and whether people are shown it."""


class TurnStarting(Hook, frozen=True):
    """The model is about to be asked. A block ends the run, with its reason as the run's error."""

    name = "turn_start"
    stops = ("block",)
    guard = True

    step: int


class ContextSent(Hook, frozen=True):
    """The model is about to be sent this. What is changed here is not stored."""

    name = "context"
    replaceable = ("messages",)

    messages: tuple[Message, ...]


class ProviderAsking(Hook, frozen=True):
    """A vendor is about to be sent this, in the words of its API."""

    name = "before_provider_request"
    replaceable = ("payload",)

    payload: Any
    """Plain JSON."""


class ReplyGiven(Hook, frozen=True):
    """The model has said this, and nobody has been told yet. What is blocked is never told."""

    name = "assistant_message"
    stops = ("block",)
    replaceable = ("text",)
    guard = True

    text: str


class ToolCalling(Hook, frozen=True):
    """A tool is about to run."""

    name = "tool_call"
    stops = ("block",)
    replaceable = ("args",)
    guard = True

    call_id: str
    tool: str
    args: dict[str, Any]
    """What the model asked for, as earlier handlers have changed it."""


class ToolReturning(Hook, frozen=True):
    """A tool has run, and the model is about to be told its result."""

    name = "tool_result"
    replaceable = ("content", "is_error", "details")

    call_id: str
    tool: str
    args: dict[str, Any]
    content: tuple[UserPart, ...]
    is_error: bool = False
    details: dict[str, Any] | None = None


class SessionSwitching(Hook, frozen=True):
    """Another session is about to be begun or opened."""

    name = "session_before_switch"
    stops = ("cancel",)

    reason: Literal["new", "resume"]
    target: str | None = None  # The session as the command named it.


class SessionBranching(Hook, frozen=True):
    """The conversation is about to go on from another entry, or in a copy."""

    name = "session_before_branch"
    stops = ("cancel",)

    reason: Literal["branch", "clone", "navigate"]
    entry: str | None = None


class SessionCompacting(Hook, frozen=True):
    """These messages are about to be replaced by a summary."""

    name = "session_before_compact"
    stops = ("cancel",)
    replaceable = ("summary", "instructions")

    reason: Literal["manual", "threshold", "overflow"]
    messages: tuple[Message, ...]
    kept: int  # So many more messages stay.
    tokens_before: int
    instructions: str = ""
    summary: str = ""
    """A handler's summary. The model is not asked for one then."""


class BashAsked(Hook, frozen=True):
    """The client is about to run a command."""

    name = "user_bash"
    stops = ("block",)
    replaceable = ("command", "output", "exit_code")
    guard = True

    command: str
    cwd: str
    output: str | None = None
    """What a handler says the command has written. It is not run then."""
    exit_code: int = 0
    private: bool = False  # The model will not be told.


class Block(Struct, frozen=True):
    """Decides that it must not happen, for this reason."""

    stop: ClassVar[str] = "block"

    reason: str = ""


class Cancel(Struct, frozen=True):
    """Decides that it is called off."""

    stop: ClassVar[str] = "cancel"


class Handled(Struct, frozen=True):
    """Decides that nothing more is to be done: the extension has seen to it itself."""

    stop: ClassVar[str] = "handled"


class Replace(Struct, frozen=True):
    """Decides that it happens with other values in these fields."""

    changes: dict[str, Any]


Stop: TypeAlias = Block | Cancel | Handled
Decision: TypeAlias = Stop | Replace
Asked = TypeVar("Asked", bound=Hook)

HOOKS: tuple[type[Hook], ...] = (
    InputGiven,
    AgentStarting,
    TurnStarting,
    ContextSent,
    ProviderAsking,
    ReplyGiven,
    ToolCalling,
    ToolReturning,
    SessionSwitching,
    SessionBranching,
    SessionCompacting,
    BashAsked,
)


class Misfit(Exception):
    """A decision that cannot be taken about what was asked. The message says why."""


class Outcome(Struct, Generic[Asked], frozen=True):
    """What handlers have made of what they were asked about."""

    event: Asked  # With all the changes.
    stop: Stop | None = None  # Set if it is not to happen.


def decided(event: Asked, decision: Decision | None) -> Outcome[Asked]:
    """Return what one decision makes of what was asked about. Raises Misfit for one that the hook does not allow."""
    if decision is None:
        return Outcome(event)
    if not isinstance(decision, Replace):
        if decision.stop not in event.stops:
            raise Misfit(f"{event.name} cannot be answered with {decision.stop}; {_possible(event)}")
        return Outcome(event, decision)
    unknown = [name for name in decision.changes if name not in event.replaceable]
    if unknown:
        raise Misfit(f"{event.name} has no {', '.join(unknown)} that could be replaced; {_possible(event)}")
    return Outcome(replace(event, **{name: _fitting(event, name, each) for name, each in decision.changes.items()}))


def folded(event: Asked, askers: Iterable[Callable[[Asked], Outcome[Asked]]]) -> Outcome[Asked]:
    """Ask one after the other, and return what all of them made of it. Raises what an asker raises.

    Each sees what those before it changed. The first stop is the last word: nobody is asked after it.
    """
    outcome = Outcome(event)
    for ask in askers:
        outcome = ask(outcome.event)
        if outcome.stop is not None:
            break
    return outcome


def _fitting(event: Hook, name: str, value: Any) -> Any:
    """Return the value as the field wants it: a text is content, a message may be a mapping."""
    if name == "content" and isinstance(value, str):
        return (Text(value),)
    [kind] = [field.type for field in fields(event) if field.name == name]
    try:
        return converted(value, kind)
    except ValidationError as error:
        raise Misfit(f"{event.name}: {name}: {error}") from None


def _possible(event: Hook) -> str:
    ways = [*event.stops, *(f"replace({name}=…)" for name in event.replaceable)]
    return f"possible: {', '.join(ways)}" if ways else "nothing can be decided about it"
