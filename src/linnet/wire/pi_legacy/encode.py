"""Encodes events as lines of the earlier pi protocol: fewer than pi's, and some of them spelled otherwise."""

from collections.abc import Sequence

from msgspec import UNSET, Raw, UnsetType, structs

from linnet.core import events, messages
from linnet.wire.pi import frames, to_pi
from linnet.wire.pi.asides import Outside
from linnet.wire.pi.decode import Manner
from linnet.wire.pi.encode import PiEncoder


class Compaction(frames.Frame, frozen=True, tag="compaction"):
    """Old messages were replaced by a summary."""

    summary: str
    tokens_before: int
    auto: bool | UnsetType = UNSET  # True or left out.


class Error(frames.Frame, frozen=True, tag="error"):
    """A command was refused, or a compaction failed."""

    error: str


class LegacyWords(to_pi.Words):
    """Spells messages in the shape of the earlier protocol: text alone is a string, and there are no total tokens."""

    def user(self, message: messages.UserMessage) -> frames.UserMessage:
        sent = self.sent_as(message)
        if sent is not None:
            return frames.UserMessage(sent.text, message.time, Raw(sent.attachments))
        if all(isinstance(part, messages.Text) for part in message.content):
            return frames.UserMessage(messages.texts(message.content), message.time)
        return structs.replace(super().user(message), attachments=UNSET)

    def usage(self, usage: messages.Usage) -> frames.Usage:
        return structs.replace(super().usage(usage), total_tokens=UNSET)


class LegacyEncoder(PiEncoder):
    """The encoder of one client's session.

    Invariant: a prompt has one `agent_start` and one `agent_end`, however often it is tried.
    """

    def __init__(self, manner: Manner | None = None) -> None:
        super().__init__(manner, spelling=LegacyWords())
        self._ended: frames.AgentEnd | None = None  # Ends all runs of this prompt so far. Told when it has settled.

    def _frames(self, event: events.Event) -> Sequence[frames.Frame]:
        told = super()._frames(event)
        if not isinstance(event, events.RunStarted | events.RunEnded | events.Settled):
            return told
        before = self._ended
        ends = [frame for frame in told if isinstance(frame, frames.AgentEnd)]
        for end in ends:
            said = [*(self._ended.messages if self._ended else ()), *end.messages]
            self._ended = frames.AgentEnd(said, error_message=end.error_message)
        inside = [
            frame
            for frame in told
            if not isinstance(frame, frames.AgentEnd) and not (before and isinstance(frame, frames.AgentStart))
        ]
        if isinstance(event, events.Settled) and self._ended is not None:
            inside.append(self._ended)
            self._ended = None
        return inside

    def _progressed(self, event: events.ToolProgressed) -> Sequence[frames.Frame]:
        return []

    def _outcome(self, result: messages.ToolResult) -> frames.ToolOutcome | str:
        return messages.texts(result.content) if result.is_error else super()._outcome(result)

    def _outside(self, event: Outside) -> Sequence[frames.Frame]:
        match event:
            case events.CompactionEnded(reason, result) if result is not None:
                auto = UNSET if reason == "manual" else True
                return [Compaction(result.summary.text, result.summary.tokens_before, auto)]
            case events.CompactionEnded("manual"):
                return []  # Whoever asked for it is refused, which is told as an error too.
            case events.CompactionEnded() if event.error and not event.aborted:
                return [Error(event.error)]
            case events.SessionFailed(_, error):
                return [Error(error)]
            case _:
                return []
