"""Spells messages as session files have them: as on pi's wire, with a few exceptions."""

from collections.abc import Mapping

from msgspec import UNSET, structs

from linnet.core import messages
from linnet.core.session_info import SessionFormat
from linnet.wire.pi import frames, to_pi
from linnet.wire.pi.frames import Files as Files
from linnet.wire.pi.to_pi import blocks as blocks
from linnet.wire.pi.to_pi import system as system


class DiskWords(to_pi.Words):
    """Spells messages as on the wire, with these exceptions: a command's output has its colours, beside the text that
    pi shows; a call has what the model wrote where that was no JSON object; attachments are a part of the content.
    """

    def sent_as(self, message: messages.UserMessage) -> None:
        return None

    def bash(self, run: messages.BashRun) -> frames.BashExecutionMessage:
        told = super().bash(run)
        return told if told.output == run.output else structs.replace(told, raw_output=run.output)

    def assistant(self, message: messages.AssistantMessage) -> frames.AssistantMessage:
        told = super().assistant(message)
        if not any(call.unparsed for call in message.calls):
            return told
        return structs.replace(told, content=[_with_unparsed(part) for part in message.content])


class TodaysWords(DiskWords):
    """Spells messages as pi 1.5 keeps them: with how long they took, and without attachments, which are content."""

    def user(self, message: messages.UserMessage) -> frames.UserMessage:
        return frames.UserMessage(blocks(message.content), message.time)

    def assistant(self, message: messages.AssistantMessage) -> frames.AssistantMessage:
        told = super().assistant(message)
        return told if message.duration is None else structs.replace(told, duration_ms=message.duration)

    def result(self, result: messages.ToolResult) -> frames.ToolResultMessage:
        told = super().result(result)
        return told if result.duration is None else structs.replace(told, duration_ms=result.duration)


def _with_unparsed(part: messages.ReplyPart) -> frames.ReplyBlock:
    told = to_pi.part(part)
    if isinstance(part, messages.ToolCall) and isinstance(told, frames.ToolCall):
        return structs.replace(told, unparsed=part.unparsed or UNSET)
    return told


WORDS: Mapping[SessionFormat, DiskWords] = {"0.73": DiskWords(), "1.5": TodaysWords()}
