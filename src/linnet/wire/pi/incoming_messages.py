"""Types for messages as clients of pi read them: one lenient type for all roles, since each version of pi adds some."""

from typing import Any

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


class Cost(Heard, frozen=True):
    """What tokens cost, in US dollars. JavaScript writes null for what is no number."""

    input: float | None = 0
    output: float | None = 0
    cache_read: float | None = 0
    cache_write: float | None = 0
    total: float | None = 0


class Usage(Heard, frozen=True):
    """How many tokens were used, and what they cost."""

    input: int | None = 0
    output: int | None = 0
    cache_read: int | None = 0
    cache_write: int | None = 0
    total_tokens: int | None = None
    cost: Cost | None = None
    cost_known: bool = True  # linnet's own, here and elsewhere: false if the price of some is not known.


class Message(Heard, frozen=True):
    """A message of any role."""

    role: str = ""
    """Says which of the other fields count: `user`, `assistant`, `toolResult`, `bashExecution`, `compactionSummary`, …
    """
    content: list[Block] | str = ""
    timestamp: float | None = None
    attachments: Any = None
    api: str = ""
    provider: str = ""
    model: str = ""
    usage: Usage | None = None
    stop_reason: str = ""
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

    content: list[Block] = field(default_factory=list)
    details: Any = None

    @property
    def text(self) -> str:
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
