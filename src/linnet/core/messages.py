"""The messages that a conversation is made of, and their parts. How a protocol or a vendor spells them is not here."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

from linnet.core.toolspec import ToolSpec

StopReason: TypeAlias = Literal["end", "tool_use", "length", "error", "aborted"]


class Text(Struct, frozen=True, tag="text"):
    text: str
    signature: str = ""
    """What the vendor wants back with the text, in its own words; only the model that gave it understands it."""


class Thinking(Struct, frozen=True, tag="thinking"):
    """A block of what the model thought."""

    text: str
    signature: str = ""
    """The vendor's proof that the text is its own; without it the block cannot be sent back."""
    redacted: bool = False
    """The block has no text, only a signature that stands for it."""
    bound: str = ""
    """A digest of all that the model was sent when it thought this, if its vendor refuses the block after anything
    else.
    """


class Image(Struct, frozen=True, tag="image"):
    """An image, by its bytes or by its address."""

    mime_type: str
    data: str  # Base64, as every vendor and both wires carry it. Whoever makes one may give bytes.
    url: str = ""  # Where the vendor fetches it from; `data` is then empty.

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
    """A call of a tool that the model asks for."""

    id: str
    name: str
    args: dict[str, Any]
    unparsed: str = ""
    """What the model wrote as arguments where that was not a JSON object; `args` is then empty."""
    signature: str = ""
    """What the vendor wants back with the call, as that of a text."""


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
    """How many tokens were used, and what they cost."""

    input: int = 0
    """Counts only what was neither read from nor written to a cache."""
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: Cost = Cost()
    unpriced: int = 0
    """Of so many tokens nobody knows the price: `cost` is that of the others."""
    cache_write_long: int = 0
    """So many of those written to a cache are kept there for an hour or longer."""

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
    """A prompt with attachments, as its client sent it."""

    text: str
    images: tuple[Image, ...]
    attachments: bytes
    """The attachments in the client's own JSON."""
    content: tuple[UserPart, ...]
    """What words, images and attachments together amount to."""


class UserMessage(Struct, frozen=True, tag_field="role", tag="user", omit_defaults=True, repr_omit_defaults=True):
    """Something that the user said."""

    content: tuple[UserPart, ...]
    time: int  # Milliseconds since 1970, here and below.
    sent: Sent | None = None
    """What the message was made of, if it came with attachments and was sent to this process. It is not stored."""


class AssistantMessage(Struct, frozen=True, tag_field="role", tag="assistant"):
    content: tuple[ReplyPart, ...]
    time: int
    provider: str
    model: str
    usage: Usage = Usage()
    stop: StopReason = "end"
    error: str = ""
    api: str = ""
    duration: int | None = None
    """How many milliseconds it took, if that is known."""

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple([part for part in self.content if isinstance(part, ToolCall)])

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content if isinstance(part, Text))


class Verbatim(dict[str, Any]):
    """Details of a result whose names are somebody else's: no protocol spells them otherwise."""


class ToolResult(Struct, frozen=True, tag_field="role", tag="tool"):
    """What a tool call came to, as the model is told."""

    call_id: str
    name: str
    content: tuple[UserPart, ...]
    time: int
    is_error: bool = False
    details: dict[str, Any] | None = None
    """For clients that show more than the model sees: plain JSON values only."""
    duration: int | None = None
    """How many milliseconds the tool took; None if it did not run."""
    ends_run: bool = False
    """The tool says that the model need not be asked again. It is not stored."""


class BashRun(Struct, frozen=True, tag_field="role", tag="bash"):
    """A command that the client ran, for the model to know of with the next prompt."""

    command: str
    output: str
    exit_code: int | None  # None if it was killed.
    time: int
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | None = None
    private: bool = False  # The model is not told.


class Summary(Struct, frozen=True, tag_field="role", tag="summary"):
    """Stands for the part of a conversation that was compacted away."""

    text: str
    tokens_before: int
    time: int


class BranchSummary(Struct, frozen=True, tag_field="role", tag="branch_summary"):
    """Stands for a branch of the conversation that was left."""

    text: str
    from_id: str  # The entry it was left from.
    time: int


class Note(Struct, frozen=True, tag_field="role", tag="note"):
    """Something that neither the user nor the model said, and that the model is shown."""

    kind: str
    content: tuple[UserPart, ...]
    time: int
    display: bool = True  # People are shown it too.
    details: Any = None


class SystemMessage(Struct, frozen=True, tag_field="role", tag="system"):
    """A change of what the model is told before the conversation, and of its tools. The first has all of it. A model is
    not sent it as a message.
    """

    sections: Mapping[str, str | None]
    """By name, those that have changed; None takes one away."""
    time: int
    added: tuple[ToolSpec, ...] = ()
    """Tools that are new, or described otherwise than before."""
    removed: tuple[str, ...] = ()
    """Names of tools that there are no more."""


Message: TypeAlias = (
    UserMessage | AssistantMessage | ToolResult | BashRun | Summary | BranchSummary | Note | SystemMessage
)


def texts(content: tuple[ReplyPart | UserPart, ...]) -> str:
    """Return the words of a message, without its images, thoughts and calls."""
    return "\n".join(part.text for part in content if isinstance(part, Text))
