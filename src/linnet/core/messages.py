"""What a conversation is made of. How any wire or vendor spells it is not known here."""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

StopReason: TypeAlias = Literal["end", "tool_use", "length", "error", "aborted"]


class Text(Struct, frozen=True, tag="text"):
    text: str


class Thinking(Struct, frozen=True, tag="thinking"):
    """`signature` is the vendor's proof that the text is its own; without it the block cannot be sent back.

    A redacted block has no text, only a signature that stands for it.
    """

    text: str
    signature: str = ""
    redacted: bool = False


class Image(Struct, frozen=True, tag="image"):
    """`data` is empty for one that the vendor fetches from `url`."""

    mime_type: str
    data: str  # Base64, as every vendor and both wires carry it. Whoever makes one may give bytes.
    url: str = ""

    if TYPE_CHECKING:

        def __init__(self, mime_type: str, data: str | bytes, url: str = "") -> None: ...

    def __post_init__(self) -> None:
        given: Any = self.data
        if isinstance(given, bytes | bytearray | memoryview):
            from binascii import b2a_base64

            force_setattr(self, "data", b2a_base64(given, newline=False).decode())

    @property
    def size(self) -> int:
        """Return how many bytes the image has once it is decoded."""
        return len(self.data) * 3 // 4 - self.data[-2:].count("=")


class ToolCall(Struct, frozen=True, tag="tool_call"):
    """`unparsed` holds what the model wrote when it was not a JSON object; `args` is then empty."""

    id: str
    name: str
    args: dict[str, Any]
    unparsed: str = ""


class Cost(Struct, frozen=True):
    """What tokens cost, in US dollars."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0

    @property
    def total(self) -> float:
        return round(self.input + self.output + self.cache_read + self.cache_write, 10)


class Usage(Struct, frozen=True):
    """Tokens. `input` counts only what was neither read from nor written to a cache.

    Of so many as `unpriced` says nobody knows the price: `cost` is that of the others.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: Cost = Cost()
    unpriced: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    @property
    def cost_known(self) -> bool:
        """Return whether `cost` covers all of the tokens."""
        return not self.unpriced


UserPart: TypeAlias = Text | Image
ReplyPart: TypeAlias = Text | Thinking | ToolCall


class Sent(Struct, frozen=True):
    """A prompt with attachments as its client sent it: its words, its images, and the attachments in the client's own
    JSON. `content` is what all of it amounts to.
    """

    text: str
    images: tuple[Image, ...]
    attachments: bytes
    content: tuple[UserPart, ...]


class UserMessage(Struct, frozen=True, tag_field="role", tag="user", omit_defaults=True, repr_omit_defaults=True):
    """`sent` is what it was made of, if it came with attachments and this process was sent it. Nobody keeps it."""

    content: tuple[UserPart, ...]
    time: int  # Milliseconds since 1970, here and below.
    sent: Sent | None = None


class AssistantMessage(Struct, frozen=True, tag_field="role", tag="assistant"):
    content: tuple[ReplyPart, ...]
    time: int
    provider: str
    model: str
    usage: Usage = Usage()
    stop: StopReason = "end"
    error: str = ""
    api: str = ""

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple([part for part in self.content if isinstance(part, ToolCall)])

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content if isinstance(part, Text))


class ToolResult(Struct, frozen=True, tag_field="role", tag="tool"):
    """`details` is for clients that show more than the model sees: plain JSON values only."""

    call_id: str
    name: str
    content: tuple[UserPart, ...]
    time: int
    is_error: bool = False
    details: dict[str, Any] | None = None


class BashRun(Struct, frozen=True, tag_field="role", tag="bash"):
    """A command that the client ran, for the model to know of with the next prompt. No exit code: it was killed.

    `private`: the model is not told.
    """

    command: str
    output: str
    exit_code: int | None
    time: int
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | None = None
    private: bool = False


class Summary(Struct, frozen=True, tag_field="role", tag="summary"):
    """Stands for the part of a conversation that was compacted away."""

    text: str
    tokens_before: int
    time: int


class BranchSummary(Struct, frozen=True, tag_field="role", tag="branch_summary"):
    """Stands for a branch of the conversation that was left; `from_id` is the entry it left from."""

    text: str
    from_id: str
    time: int


class Note(Struct, frozen=True, tag_field="role", tag="note"):
    """Something that neither the user nor the model said. The model is shown it; people are, if `display` says so."""

    kind: str
    content: tuple[UserPart, ...]
    time: int
    display: bool = True
    details: Any = None


Message: TypeAlias = UserMessage | AssistantMessage | ToolResult | BashRun | Summary | BranchSummary | Note


def texts(content: tuple[ReplyPart | UserPart, ...]) -> str:
    """Return the words of a message, without its images, thoughts and calls."""
    return "\n".join(part.text for part in content if isinstance(part, Text))
