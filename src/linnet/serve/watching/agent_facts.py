"""What a list shows about a watched agent, beside what every monitor knows: a fold of its lines. Pure."""

from typing import Any, Final

from msgspec import UNSET, Struct, ValidationError, field
from msgspec.structs import replace

from linnet.core.messages import ToolCall
from linnet.core.permissions.rule import subject
from linnet.decoding import converted
from linnet.monitor.states import Asking, Compacting, Failed, Gone, Retrying, Running, Speaking, State, Thinking
from linnet.monitor.watch import Watch
from linnet.monitor.words import fields
from linnet.wire.pi.state import PermissionAsked, WaitingFor

MOST_LETTERS: Final = 200  # Of what a tool is about.
MOST_KEPT: Final = 1000  # Calls, and questions.
_DIALOGS: Final = ("select", "confirm", "input", "editor")
_CALLS: Final = ("tool_execution_start", "tool_call")
_CALLS_GO_ON: Final = ("tool_execution_update", "tool_execution_end", "tool_progress", "tool_result")
_RUN_GOES_ON: Final = ("message_start", "assistant_start", "turn_start")
_RUN_ENDS: Final = ("agent_end", "agent_settled", "done")
_ANSWERED: Final = ("answer", "extension_ui_response")
_NOTED: Final = frozenset(
    (
        *("response", "message_end", "session", "session_info_changed", "extension_ui_request", "extension_ui_closed"),
        *("question", "question_closed", "tool_request", "tool_request_closed", *_CALLS),
    )
)


class Asked(Struct, frozen=True):
    """A question that nobody is known to have answered."""

    question: WaitingFor
    deadline: float | None
    """When the agent stops waiting for an answer, in the time of the watch."""


class AgentFacts(Watch):
    """What is known of one agent. Invariant: its size does not depend on how much was heard.

    What the client answers is not heard. In both protocols a question is closed by a line only if it was not answered;
    so one counts as answered when the agent goes on with what it asked about.
    """

    model: str = ""
    provider: str = ""
    name: str = ""
    cwd: str = ""
    session_id: str = ""
    session_file: str | None = None
    titles: dict[str, str] = field(default_factory=dict)
    """What calls that have not ended are about, by id."""
    asked: dict[str, Asked] = field(default_factory=dict)

    def frame(self, at: float, type: str, line: bytes) -> None:
        super().frame(at, type, line)
        if type in _NOTED:
            self._note(type, fields(line))
        elif self.asked or self.titles:
            self._go_on(type, line)

    def ended(self, at: float, code: int | None = None) -> None:
        super().ended(at, code)
        self.asked.clear()

    @property
    def doing(self) -> State:
        """Return the state that lasts, whatever was refused meanwhile."""
        return self._under

    def waiting(self, now: float) -> list[WaitingFor]:
        """Return the open questions, with the time that is left for an answer."""
        return [
            _with_time(each.question, each.deadline, now)
            for each in self.asked.values()
            if each.deadline is None or each.deadline > now
        ]

    def _note(self, type: str, said: dict[str, Any]) -> None:
        match type:
            case "response":
                self._answered_with(said)
            case "message_end":
                message = said.get("message")
                if isinstance(message, dict) and message.get("role") == "assistant":
                    self.model = _text(message.get("model")) or self.model
                    self.provider = _text(message.get("provider")) or self.provider
            case "tool_execution_start" | "tool_call":
                self._called(said)
            case "session":
                self.session_id, self.cwd = _text(said.get("id")), _text(said.get("cwd")) or self.cwd
            case "session_info_changed":
                self.name = _text(said.get("name"))
            case "extension_ui_request" | "question" | "tool_request":
                self._ask(type, said)
            case _:
                self.asked.pop(_text(said.get("id") or said.get("request_id") or said.get("requestId")), None)

    def _answered_with(self, said: dict[str, Any]) -> None:
        """Take in a response: what it says about the session, or that a question was answered."""
        data = said.get("data")
        if said.get("command") in _ANSWERED and said.get("success") is True:
            id = _text(said.get("id"))  # pi's answers have the question's, zot's have one of their own.
            self.asked.pop(id if id in self.asked else next(iter(self.asked), ""), None)
        elif said.get("command") == "prompt":
            self._close(of_calls=False)
        elif said.get("command") == "get_state" and isinstance(data, dict):
            model = data.get("model")
            named = model if isinstance(model, dict) else {"id": model, "provider": data.get("provider")}
            self.model = _text(named.get("id")) or self.model
            self.provider = _text(named.get("provider")) or self.provider
            self.name = _text(data.get("sessionName")) or self.name
            self.cwd = _text(data.get("cwd")) or self.cwd
            self.session_id = _text(data.get("sessionId")) or self.session_id
            self.session_file = _text(data.get("sessionFile")) or self.session_file

    def _called(self, said: dict[str, Any]) -> None:
        id, name = _text(said.get("toolCallId") or said.get("id")), _text(said.get("toolName") or said.get("name"))
        args = said.get("args")
        about = subject(ToolCall(id, name, args)) if isinstance(args, dict) else ""
        lines = about.strip().splitlines()
        if len(self.titles) < MOST_KEPT:
            self.titles[id] = lines[0][:MOST_LETTERS] if lines else ""
        self._close_of_call(id)

    def _ask(self, type: str, said: dict[str, Any]) -> None:
        if type == "extension_ui_request" and said.get("method") not in _DIALOGS:
            return  # It shows something, and asks nothing.
        question = _question(type, said)
        timeout = said.get("timeout", said.get("timeout_ms"))
        left = timeout / 1000 if isinstance(timeout, int) and 0 < timeout < 1e12 else None
        if len(self.asked) < MOST_KEPT:
            self.asked[question.id] = Asked(question, None if left is None else self.at + left)

    def _go_on(self, type: str, line: bytes) -> None:
        """Close the questions that this line shows to be answered."""
        if type in _CALLS_GO_ON:
            said = fields(line)
            id = _text(said.get("toolCallId") or said.get("id"))
            self._close_of_call(id)
            if type in ("tool_execution_end", "tool_result"):
                self.titles.pop(id, None)
        elif type in _RUN_GOES_ON:
            self._close(of_calls=False)
        elif type in _RUN_ENDS:
            self._close(of_calls=True)
            self.titles.clear()

    def _close_of_call(self, id: str) -> None:
        for key in [key for key, each in self.asked.items() if each.question.tool_call_id == id]:
            del self.asked[key]

    def _close(self, *, of_calls: bool) -> None:
        """Close the questions that are about no call, or all."""
        for key in [key for key, each in self.asked.items() if of_calls or each.question.tool_call_id is UNSET]:
            del self.asked[key]


def _question(type: str, said: dict[str, Any]) -> WaitingFor:
    """Return a question of either protocol in the words of pi."""
    id = _text(said.get("id") or said.get("request_id") or said.get("requestId"))
    call = _text(said.get("toolCallId") or said.get("call_id"))
    if type == "tool_request":
        name, args = _text(said.get("toolName") or said.get("name")), said.get("args")
        args = args if isinstance(args, dict) else {}
        return WaitingFor(id, "tool", name, call or UNSET, tool_name=name, args=args)
    permission = said.get("permission")
    about = _permission(permission) if isinstance(permission, dict) else UNSET
    kind, title = "question" if about is UNSET else "permission", _text(said.get("title"))
    known: dict[str, Any] = {
        name: said[name] for name in ("method", "message", "options", "placeholder", "prefill") if name in said
    }
    try:
        found = converted(known | {"id": id, "kind": kind, "title": title}, WaitingFor)
    except ValidationError:  # Fields of other kinds than the protocol says.
        found = WaitingFor(id, kind, title)
    of = about.tool_call_id if isinstance(about, PermissionAsked) else call
    return replace(found, tool_call_id=of or UNSET, permission=about)


def _permission(said: dict[str, Any]) -> PermissionAsked:
    args = said.get("args")
    return PermissionAsked(
        _text(said.get("toolCallId") or said.get("call_id")),
        _text(said.get("toolName") or said.get("name")),
        args if isinstance(args, dict) else {},
        _text(said.get("preview")),
    )


def _with_time(question: WaitingFor, deadline: float | None, now: float) -> WaitingFor:
    return question if deadline is None else replace(question, timeout=max(1, round((deadline - now) * 1000)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def shown_state(state: State, *, asked: bool) -> str:
    """Return the word that lists of agents have for a state."""
    if isinstance(state, Gone):
        return "gone"
    if asked:
        return "waiting"
    match state:
        case Running():
            return "tool"
        case Thinking() | Speaking() | Asking():  # What was asked is answered.
            return "working"
        case Retrying():
            return "retrying"
        case Compacting():
            return "compacting"
        case _:
            return "idle"


def error_of(state: State) -> str:
    """Return why the last run failed, or how the program ended before its time; empty if neither."""
    match state:
        case Failed(reason):
            return reason
        case Gone(code, during) if code or during:
            return f"It ended with exit code {code}{', while ' + during if during else ''}."
        case _:
            return ""
