"""Types for every object of the zot protocol that linnet prints. Clients and the SDK read into the same types.

An addition is something that zot itself does not print.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from linnet.wire.zot.responses import GreetingData as GreetingData
from linnet.wire.zot.responses import ModelData as ModelData
from linnet.wire.zot.responses import ModelInfo as ModelInfo
from linnet.wire.zot.responses import ModelsData as ModelsData
from linnet.wire.zot.responses import PermissionAsked as PermissionAsked
from linnet.wire.zot.responses import PongData as PongData
from linnet.wire.zot.responses import Response as Response
from linnet.wire.zot.responses import StartedData as StartedData
from linnet.wire.zot.responses import StateData as StateData
from linnet.wire.zot.responses import Tokens as Tokens
from linnet.wire.zot.responses import WaitingFor as WaitingFor

Stop: TypeAlias = Literal["end_turn", "tool_use", "length", "error", "aborted"]


class Frame(Struct, frozen=True, tag_field="type"):
    @property
    def type(self) -> str:
        """Return the `type` of the JSON object."""
        return str(self.__struct_config__.tag)


class TextBlock(Frame, frozen=True, tag="text"):
    """A text."""

    text: str


class ImageBlock(Frame, frozen=True, tag="image"):
    """An image. Its data is never sent back."""

    mime_type: str
    bytes: int  # The size of the image.


class ToolCallBlock(Frame, frozen=True, tag="tool_call"):
    """A call of a tool."""

    id: str
    name: str
    args: dict[str, Any]


class ToolResultBlock(Frame, frozen=True, tag="tool_result"):
    """What a tool call came to."""

    call_id: str
    is_error: bool
    content: list[TextBlock | ImageBlock]


Block: TypeAlias = TextBlock | ImageBlock | ToolCallBlock | ToolResultBlock


class Message(Struct, frozen=True):
    """A message; the results of one reply are one of role `tool`."""

    role: Literal["user", "assistant", "tool"]
    content: list[Block]
    time: str


class TurnStart(Frame, frozen=True, tag="turn_start"):
    """A model call begins; `step` counts from 1 within a prompt."""

    step: int


class UserMessage(Frame, frozen=True, tag="user_message"):
    """The prompt, as it was added to the conversation."""

    content: list[TextBlock | ImageBlock]
    time: str


class AssistantStart(Frame, frozen=True, tag="assistant_start"):
    """The model has begun to answer."""


class TextDelta(Frame, frozen=True, tag="text_delta", gc=False):
    """A piece of text."""

    delta: str


class ThinkingDelta(Frame, frozen=True, tag="thinking_delta", gc=False):
    """A piece of what the model thinks. An addition, sent only when asked for with --show-thinking."""

    delta: str


class ToolUseStart(Frame, frozen=True, tag="tool_use_start"):
    """The model begins to write a tool call."""

    id: str
    name: str


class ToolUseArgs(Frame, frozen=True, tag="tool_use_args", gc=False):
    """A piece of the call's arguments, as JSON text."""

    id: str
    delta: str


class ToolUseEnd(Frame, frozen=True, tag="tool_use_end"):
    """The call is written."""

    id: str


class Usage(Frame, frozen=True, tag="usage", omit_defaults=True):
    """What the reply has used, and in `cumulative` the session."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float
    cumulative: Tokens
    cost_known: bool = True


class AssistantMessage(Frame, frozen=True, tag="assistant_message"):
    """The complete reply, if it has text or calls."""

    content: list[TextBlock | ToolCallBlock]
    time: str


class ToolCall(Frame, frozen=True, tag="tool_call"):
    """A call that will be answered."""

    id: str
    name: str
    args: dict[str, Any]


class TurnEnd(Frame, frozen=True, tag="turn_end"):
    """The model call is over."""

    stop: Stop
    error: str | UnsetType = UNSET


class ToolProgress(Frame, frozen=True, tag="tool_progress"):
    """A running tool has printed something."""

    id: str
    text: str


class ToolResult(Frame, frozen=True, tag="tool_result"):
    """A tool has finished."""

    id: str
    is_error: bool
    content: list[TextBlock | ImageBlock]


class Error(Frame, frozen=True, tag="error"):
    """Why a prompt or a compaction failed; `done` follows."""

    message: str


class CompactDone(Frame, frozen=True, tag="compact_done"):
    """A compaction has succeeded: the last of its events."""

    summary: str


class Question(Frame, frozen=True, tag="question", omit_defaults=True):
    """A question to whoever drives the agent, to be answered with `answer`. An addition."""

    request_id: str
    method: Literal["select", "confirm", "input", "editor"]
    title: str
    message: str | UnsetType = UNSET
    options: Sequence[str] | UnsetType = UNSET
    placeholder: str | UnsetType = UNSET
    prefill: str | UnsetType = UNSET
    timeout_ms: int | UnsetType = UNSET
    permission: PermissionAsked | UnsetType = UNSET


class QuestionClosed(Frame, frozen=True, tag="question_closed"):
    """Nobody waits for the answer to a question any more. An addition."""

    request_id: str
    reason: Literal["expired", "withdrawn", "answered"]


class ToolRequest(Frame, frozen=True, tag="tool_request"):
    """The client is to run a tool that it declared. An addition."""

    request_id: str
    call_id: str
    name: str
    args: dict[str, Any]
    timeout_ms: int | UnsetType = UNSET


class ToolRequestClosed(Frame, frozen=True, tag="tool_request_closed"):
    """Nobody waits for the tool's result any more. An addition."""

    request_id: str
    call_id: str
    reason: Literal["expired", "withdrawn", "answered"]


class Found(Struct, frozen=True):
    """Something that a project brings."""

    kind: str
    path: str


class ProjectUntrusted(Frame, frozen=True, tag="project_untrusted"):
    """Nobody has said whether this folder is trusted, so what was found in it is left out. An addition."""

    path: str
    found: list[Found]
    changed: tuple[str, ...] | UnsetType = UNSET


class SessionError(Frame, frozen=True, tag="session_error"):
    """What was said last could not be saved. The run goes on. An addition."""

    session_file: str
    message: str


class ExtNotify(Frame, frozen=True, tag="ext_notify"):
    """A message of an extension."""

    extension: str
    level: str
    message: str


class ExtDisplay(Frame, frozen=True, tag="ext_display"):
    """A text that a command of an extension shows."""

    extension: str
    text: str


class ExtError(Frame, frozen=True, tag="ext_error"):
    """An extension did something wrong, or nothing in time. An addition."""

    path: str
    event: str
    error: str


class ExtStatus(Frame, frozen=True, tag="ext_status"):
    """A short text is shown until it is set again. null takes it away. An addition."""

    extension: str
    key: str
    text: str | None


class ExtWidget(Frame, frozen=True, tag="ext_widget"):
    """Some lines are shown until they are set again. null takes them away. An addition."""

    extension: str
    key: str
    lines: Sequence[str] | None
    placement: Literal["above_editor", "below_editor"]


class ExtTitle(Frame, frozen=True, tag="ext_title"):
    """The window has got a title. An addition."""

    extension: str
    title: str


class ExtEditorText(Frame, frozen=True, tag="ext_editor_text"):
    """The editor has got a text for the user to begin with. An addition."""

    extension: str
    text: str


class Output(Frame, frozen=True, tag="output"):
    """The answer to a prompt that had an `output_schema` has been read. An addition."""

    value: Any = UNSET
    error: str | UnsetType = UNSET  # Why there is no value.


class Done(Frame, frozen=True, tag="done"):
    """A prompt, or a compaction that failed, is over: the last of its events."""


Event: TypeAlias = (
    TextDelta
    | ToolUseArgs
    | ThinkingDelta
    | TurnStart
    | UserMessage
    | AssistantStart
    | ToolUseStart
    | ToolUseEnd
    | Usage
    | AssistantMessage
    | ToolCall
    | TurnEnd
    | ToolProgress
    | ToolResult
    | Error
    | CompactDone
    | SessionError
    | ProjectUntrusted
    | Question
    | QuestionClosed
    | ToolRequest
    | ToolRequestClosed
    | ExtNotify
    | ExtDisplay
    | ExtError
    | ExtStatus
    | ExtWidget
    | ExtTitle
    | ExtEditorText
    | Output
    | Done
)


class SessionKept(Frame, frozen=True, tag="session"):
    """The session that a prompt from the command line is kept in: the first line of `--mode json`. An addition."""

    id: str
    session_file: str


class MessagesData(Struct, frozen=True):
    messages: list[Message]
