"""Converts messages, models and compactions from the core's shape to pi's; `from_pi` is the reverse for messages."""

from collections.abc import Iterable
from typing import Any, assert_never

from msgspec import UNSET, Raw, UnsetType, structs

from linnet.core import messages
from linnet.core.events import Compaction
from linnet.core.text.printable import printable
from linnet.wire.pi import frames
from linnet.wire.pi.from_pi import ABORTED
from linnet.wire.pi.generations import PI, Generation
from linnet.wire.pi.state import known

NO_ATTACHMENTS = Raw(b"[]")
NO_ARGUMENTS = "The arguments are not a JSON object.\n\nReceived arguments:\n{}"
_STOP: dict[messages.StopReason, frames.Stop] = {
    "end": "stop",
    "tool_use": "toolUse",
    "length": "length",
    "error": "error",
    "aborted": "aborted",
}


class Words:
    """Spells messages as one generation of pi does. The earlier pi protocol and the session files override some
    of it.
    """

    def __init__(self, generation: Generation = PI) -> None:
        self.generation = generation

    def among(self, said: Iterable[messages.Message]) -> list[messages.Message]:
        """Return those of the messages that the generation has."""
        shown = self.generation.system_messages
        return [each for each in said if shown or not isinstance(each, messages.SystemMessage)]

    def listed(self, said: Iterable[messages.Message]) -> list[frames.Message]:
        """Return the same as the generation spells them."""
        return list(map(self.message, self.among(said)))

    def sent_as(self, message: messages.UserMessage) -> messages.Sent | None:
        """Return a message that came with attachments as it was sent; None if it had none, or was changed since."""
        sent = message.sent
        return sent if sent is not None and sent.content == message.content else None

    def message(self, message: messages.Message) -> frames.Message:
        match message:
            case messages.UserMessage():
                return self.user(message)
            case messages.AssistantMessage():
                return self.assistant(message)
            case messages.ToolResult():
                return self.result(message)
            case messages.BashRun():
                return self.bash(message)
            case messages.BranchSummary(text, from_id, time):
                return frames.BranchSummaryMessage(text, from_id, time)
            case messages.Note(kind, content, time, display, details):
                told = UNSET if details is None else details
                return frames.CustomMessage(kind, blocks(content), display, told, time)
            case messages.Summary(text, tokens_before, time):
                return frames.CompactionSummaryMessage(text, tokens_before, time)
            case messages.SystemMessage():
                return system(message)
            case _:
                assert_never(message)

    def user(self, message: messages.UserMessage) -> frames.UserMessage:
        sent = self.sent_as(message) if self.generation.attachments else None
        if sent is None:
            none = NO_ATTACHMENTS if self.generation.attachments else UNSET
            return frames.UserMessage(blocks(message.content), message.time, none)
        said: tuple[messages.UserPart, ...] = sent.images
        if sent.text:
            said = (messages.Text(sent.text), *said)
        return frames.UserMessage(blocks(said), message.time, Raw(sent.attachments))

    def assistant(self, message: messages.AssistantMessage) -> frames.AssistantMessage:
        error = failure(message.error) or (ABORTED if message.stop == "aborted" else "")
        return frames.AssistantMessage(
            [part(each, errors=self.generation.argument_errors) for each in message.content],
            message.api,
            message.provider,
            message.model,
            self.usage(message.usage),
            _STOP[message.stop],
            message.time,
            error or UNSET,
            self._duration(message),
        )

    def _duration(self, message: messages.AssistantMessage | messages.ToolResult) -> int | UnsetType:
        told = self.generation.durations and message.duration is not None
        return message.duration if told and message.duration is not None else UNSET

    def begun(self, message: messages.AssistantMessage) -> frames.AssistantMessage:
        """Return a reply that has only begun."""
        told = self.assistant(message)
        return structs.replace(told, stop_reason="pending") if self.generation.pending else told

    def result(self, result: messages.ToolResult) -> frames.ToolResultMessage:
        return frames.ToolResultMessage(
            result.call_id,
            result.name,
            blocks(result.content),
            UNSET if result.details is None else camel(result.details),
            result.is_error,
            result.time,
            self._duration(result),
        )

    def outcome(self, result: messages.ToolResult) -> frames.ToolOutcome:
        """Return what a tool came to."""
        empty: dict[str, Any] | UnsetType = {} if self.generation.no_details else UNSET
        return frames.ToolOutcome(blocks(result.content), camel(result.details) if result.details else empty)

    def bash(self, run: messages.BashRun) -> frames.BashExecutionMessage:
        return frames.BashExecutionMessage(
            run.command,
            printable(run.output),
            self._if_any(run.exit_code),
            run.cancelled,
            run.truncated,
            self._if_any(run.full_output_path),
            run.time,
            run.private or UNSET,
        )

    def _if_any(self, value: Any) -> Any:
        return UNSET if value is None and self.generation.cancelled_without_code else value

    def usage(self, usage: messages.Usage) -> frames.Usage:
        return frames.Usage(
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
            usage.total,
            cost(usage.cost),
            known(cost=usage.cost_known),
        )


def system(message: messages.SystemMessage) -> frames.SystemMessage:
    added = [frames.ToolAdded(tool.name, tool.description, tool.schema) for tool in message.added]
    removed = [frames.ToolRemoved(name) for name in message.removed]
    return frames.SystemMessage("", message.sections, message.time, added or UNSET, removed or UNSET)


def part(part: messages.ReplyPart, *, errors: bool = False) -> frames.ReplyBlock:
    """Return a part of a reply. With `errors`, a call whose arguments are no JSON object says so."""
    match part:
        case messages.Text(text, signature):
            return frames.Text(text, signature or UNSET)
        case messages.Thinking(text, signature, redacted, bound):
            return frames.Thinking(text, signature or UNSET, redacted or UNSET, bound or UNSET)
        case messages.ToolCall():
            error = NO_ARGUMENTS.format(part.unparsed) if errors and part.unparsed else UNSET
            return frames.ToolCall(part.id, part.name, part.args, part.signature or UNSET, error)
        case _:
            assert_never(part)


def blocks(content: Iterable[messages.UserPart]) -> list[frames.UserBlock]:
    """Return texts and images as pi's blocks."""
    return [frames.Text(part.text) if isinstance(part, messages.Text) else _image(part) for part in content]


def _image(image: messages.Image) -> frames.Image:
    return frames.Image(image.data, image.mime_type, frames.Link(image.url) if image.url else UNSET)


def cost(cost: messages.Cost) -> frames.Cost:
    return frames.Cost(cost.input, cost.output, cost.cache_read, cost.cache_write, cost.total)


def compaction(result: Compaction, words: Words) -> frames.CompactionResult:
    told = words.generation.compaction_sizes
    return frames.CompactionResult(
        result.summary.text,
        result.first_kept,
        result.summary.tokens_before,
        result.tokens_after if told else UNSET,
        words.usage(result.usage) if told else UNSET,
        frames.Files(result.read_files, result.modified_files),
    )


def failure(error: str) -> str:
    """Return an error as pi words it: a vendor's refusal begins with its status, `529 {…}`."""
    _, http, rest = error.partition(": http ")
    status, colon, body = rest.partition(": ")
    return f"{status} {body}" if http and colon and status.isdecimal() else error


def summary_failure(error: str) -> str:
    """Return why a compaction failed, as later generations of pi word it: a vendor's refusal is said to be one."""
    told = failure(error)
    return error if told == error else f"Summarization failed: {told}"


def camel(details: dict[str, Any]) -> dict[str, Any]:
    """Return the details of a tool with their names in camel case; what is inside them stays as it is."""
    if isinstance(details, messages.Verbatim):
        return details
    return {_camel(name): value for name, value in details.items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
