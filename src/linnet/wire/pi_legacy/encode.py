"""Core events as the earlier protocol's lines: fewer of them, and some in other words."""

from collections.abc import Sequence

from msgspec import UNSET, UnsetType, structs

from linnet.core import events, messages
from linnet.wire.pi import frames, words
from linnet.wire.pi.encode import Outside, PiEncoder, Stream
from linnet.wire.pi_legacy.decode import Prompt


class Compaction(frames.Frame, frozen=True, tag="compaction"):
    """`auto` is true or left out."""

    summary: str
    tokens_before: int
    auto: bool | UnsetType = UNSET


class Error(frames.Frame, frozen=True, tag="error"):
    error: str


class LegacyWords(words.Words):
    """`shown_as` is a message that came with attachments, and the prompt as it was sent."""

    shown_as: tuple[messages.UserMessage, Prompt] | None = None

    def user(self, message: messages.UserMessage) -> frames.UserMessage:
        if self.shown_as is not None and self.shown_as[0] == message:
            prompt = self.shown_as[1]
            return frames.UserMessage(prompt.said, message.time, prompt.attachments)
        if all(isinstance(part, messages.Text) for part in message.content):
            return frames.UserMessage(messages.texts(message.content), message.time)
        return super().user(message)

    def usage(self, usage: messages.Usage) -> frames.Usage:
        return structs.replace(super().usage(usage), total_tokens=UNSET)


class LegacyEncoder(PiEncoder):
    def __init__(self, stream: Stream = "full") -> None:
        self._spelling = LegacyWords()
        self._accepted: list[Prompt] = []
        super().__init__(stream, self._spelling)

    def accept(self, prompt: Prompt) -> None:
        """Remember a prompt that has attachments until its message is told; other lines may be made before that."""
        if bytes(prompt.attachments):
            self._accepted.append(prompt)

    def _frames(self, event: events.Event) -> Sequence[frames.Frame]:
        if isinstance(event, events.UserSaid):
            self._recognise(event.message)
        return super()._frames(event)

    def _recognise(self, message: messages.UserMessage) -> None:
        images = tuple(part for part in message.content if isinstance(part, messages.Image))
        for prompt in list(self._accepted):
            if (prompt.text, prompt.images) == (messages.texts(message.content), images):
                self._spelling.shown_as = (message, prompt)
                self._accepted.remove(prompt)
                return

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
                return []  # It is refused, which is an error too.
            case events.CompactionEnded() if event.error and not event.aborted:
                return [Error(event.error)]
            case events.SessionFailed(_, error):
                return [Error(error)]
            case _:
                return []
