"""Types for messages, and for how they grow, as clients of pi read them: one lenient type for all roles, since each
version of pi adds some.
"""

from typing import Any, TypeAlias

from msgspec import Struct, field


class Heard(Struct, frozen=True, rename="camel"):
    """An object that was read. Unknown fields are left out, absent ones have their default."""


class Block(Heard, frozen=True):
    """A part of a message."""

    type: str = ""  # `text`, `thinking`, `image` or `toolCall`; says which of the other fields count.
    text: str = ""
    thinking: str = ""
    thinking_signature: str | None = None
    redacted: bool = False
    data: str = ""
    mime_type: str = ""
    source: dict[str, Any] | None = None
    id: str = ""
    name: str = ""
    arguments: Any = None
    arguments_error: str | None = None  # Why what the model wrote is no JSON; `arguments` is then empty.


class Cost(Heard, frozen=True):
    """What tokens cost, in US dollars. JavaScript writes null for what is no number."""

    input: float | None = 0
    output: float | None = 0
    cache_read: float | None = 0
    cache_write: float | None = 0
    total: float | None = 0
    total_from_provider: bool = False  # Whether the provider itself named the total.


class Usage(Heard, frozen=True):
    """How many tokens were used, and what they cost."""

    input: int | None = 0
    output: int | None = 0
    cache_read: int | None = 0
    cache_write: int | None = 0
    cache_write_1h: int | None = field(default=None, name="cacheWrite1h")  # Of those, for an hour.
    reasoning: int | None = None  # Of the output, thoughts.
    total_tokens: int | None = None
    cost: Cost | None = None
    cost_known: bool = True  # linnet's own, here and elsewhere: false if the price of some is not known.


class Message(Heard, frozen=True):
    """A message of any role."""

    role: str = ""
    """Says which of the other fields count: `system`, `user`, `assistant`, `toolResult`, `bashExecution`, …"""
    content: list[Block] | str = ""
    timestamp: float | None = None
    attachments: Any = None
    api: str = ""
    provider: str = ""
    model: str = ""
    usage: Usage | None = None
    stop_reason: str = ""  # `pending` while it is being said.
    raw_stop_reason: str | None = None  # In the provider's words.
    response_id: str | None = None
    duration_ms: float | None = None
    thinking_level: str | None = None
    error_message: str | None = None
    tool_call_id: str = ""
    tool_name: str = ""
    details: Any = None
    is_error: bool = False
    command: str = ""
    output: str = ""
    exit_code: int | None = None
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | None = None
    exclude_from_context: bool = False
    summary: str = ""
    tokens_before: float | None = None
    from_id: str = ""
    custom_type: str = ""
    display: bool = True
    sections: dict[str, Any] | None = None
    """Of the system prompt, by name: those that are new or changed, and None for one that went."""
    tools_added: list[dict[str, Any]] = field(default_factory=list)
    tools_removed: list[dict[str, Any]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return the text blocks, joined."""
        if isinstance(self.content, str):
            return self.content
        return "".join(block.text for block in self.content if block.type == "text")

    @property
    def tool_calls(self) -> list[Block]:
        return [] if isinstance(self.content, str) else [block for block in self.content if block.type == "toolCall"]


class Outcome(Heard, frozen=True):
    """What a tool came to, or has printed so far."""

    content: list[Block] | str = ""  # A string only from an extension that did not follow the rules.
    details: Any = None
    structured_content: Any = None
    is_error: bool | None = None

    @property
    def text(self) -> str:
        """Return the text blocks, joined."""
        if isinstance(self.content, str):
            return self.content
        return "".join(block.text for block in self.content if block.type == "text")


class Compaction(Heard, frozen=True):
    summary: str = ""
    first_kept_entry_id: str | None = None
    tokens_before: float | None = None
    estimated_tokens_after: float | None = None
    usage: Usage | None = None
    details: Any = None


class Permission(Heard, frozen=True):
    """The call that an `ExtensionUiRequest` asks about, and what to show of it. linnet's own."""

    tool_call_id: str = ""
    tool_name: str = ""
    args: dict[str, Any] = {}
    preview: str = ""


class Frame(Struct, frozen=True, tag_field="type", rename="camel"):
    @property
    def type(self) -> str:
        """Return the `type` of the JSON object."""
        return str(self.__struct_config__.tag)


class TextStart(Frame, frozen=True, tag="text_start"):
    content_index: int = 0


class TextDelta(Frame, frozen=True, tag="text_delta"):
    delta: str
    content_index: int = 0


class TextEnd(Frame, frozen=True, tag="text_end"):
    content: str = ""
    content_index: int = 0


class ThinkingStart(Frame, frozen=True, tag="thinking_start"):
    content_index: int = 0


class ThinkingDelta(Frame, frozen=True, tag="thinking_delta"):
    delta: str
    content_index: int = 0


class ThinkingEnd(Frame, frozen=True, tag="thinking_end"):
    content: str = ""
    content_index: int = 0


class ToolCallStart(Frame, frozen=True, tag="toolcall_start"):
    content_index: int = 0
    id: str = ""
    tool_name: str = ""


class ToolCallDelta(Frame, frozen=True, tag="toolcall_delta"):
    delta: str
    content_index: int = 0


class ToolCallEnd(Frame, frozen=True, tag="toolcall_end"):
    tool_call: dict[str, Any] = field(default_factory=dict)
    content_index: int = 0


class UpdateStart(Frame, frozen=True, tag="start"):
    pass


class UpdateDone(Frame, frozen=True, tag="done"):
    reason: str = ""


class UpdateError(Frame, frozen=True, tag="error"):
    reason: str = ""


Update: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | ToolCallDelta
    | TextStart
    | TextEnd
    | ThinkingStart
    | ThinkingEnd
    | ToolCallStart
    | ToolCallEnd
    | UpdateStart
    | UpdateDone
    | UpdateError
)
