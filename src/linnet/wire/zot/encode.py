"""Core events and answers in zot's words. No state, no I/O."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, assert_never

from msgspec import UNSET, Raw

from linnet.core import commands, events, messages
from linnet.core.history import bash_text, summary_text
from linnet.wire.dialect import Asked, Rejected
from linnet.wire.zot import frames

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STOP: dict[messages.StopReason, frames.Stop] = {
    "end": "end_turn",
    "tool_use": "tool_use",
    "length": "length",
    "error": "error",
    "aborted": "aborted",
}


def encode(batch: Iterable[events.Event], *, show_thinking: bool = False) -> list[frames.Event]:
    out: list[frames.Event] = []
    for event in batch:
        match event:
            case events.TextGrew():
                out.append(frames.TextDelta(event.text))
            case events.CallGrew():
                out.append(frames.ToolUseArgs(event.call_id, event.text))
            case events.ThinkingGrew():
                if show_thinking:
                    out.append(frames.ThinkingDelta(event.text))
            case events.PartStarted():
                if event.kind == "tool_call":
                    out.append(frames.ToolUseStart(event.call_id, event.name))
            case events.PartEnded():
                if isinstance(event.part, messages.ToolCall):
                    out.append(frames.ToolUseEnd(event.part.id))
            case events.ToolProgressed():
                out.append(frames.ToolProgress(event.call_id, event.text))
            case events.UserSaid(message):
                out.append(frames.UserMessage(_plain(message.content), stamp(message.time)))
            case events.StepStarted(step):
                out.append(frames.TurnStart(step))
            case events.ReplyStarted():
                out.append(frames.AssistantStart())
            case events.ReplyEnded(reply, total):
                out += _reply_ended(reply, total)
            case events.ToolFinished(result):
                out.append(frames.ToolResult(result.call_id, result.is_error, _plain(result.content)))
            case events.Interrupted():
                out.append(frames.TurnEnd("aborted"))
            case events.CompactionEnded():
                if event.result is not None:
                    out.append(frames.CompactDone(event.result.summary.text))
                elif event.aborted:
                    out.append(frames.TurnEnd("aborted"))
            case events.Settled():
                out += _settled(event)
            case (
                events.RunStarted()
                | events.RunEnded()
                | events.ToolStarted()
                | events.StepEnded()
                | events.RetryScheduled()
                | events.RetryEnded()
                | events.CompactionStarted()
                | events.BashRan()
                | events.QueueChanged()
            ):
                pass
            case _:
                assert_never(event)
    return out


def _reply_ended(reply: messages.AssistantMessage, total: messages.Usage) -> list[frames.Event]:
    """A reply without a word or a call, however it ended, has no message; what it cost is told all the same."""
    out: list[frames.Event] = []
    content = _said(reply.content)
    if content or reply.usage.total:
        usage = tokens(reply.usage)
        out.append(
            frames.Usage(
                usage.input, usage.output, usage.cache_read, usage.cache_write, usage.cost_usd, cumulative=tokens(total)
            )
        )
    if content:
        out.append(frames.AssistantMessage(content, stamp(reply.time)))
        out += [frames.ToolCall(part.id, part.name, part.args) for part in reply.calls]
    out.append(frames.TurnEnd(_STOP[reply.stop], reply.error or UNSET))
    return out


def _settled(event: events.Settled) -> list[frames.Event]:
    """Every prompt and compaction has one terminator: `done`, or for a compaction that succeeded its `compact_done`."""
    if event.stop == "error":
        return [frames.Error(event.error), frames.Done()]
    return [] if event.kind == "compact" and event.stop == "end" else [frames.Done()]


def answer(asked: Asked, answer: commands.Answer) -> frames.Response:
    return frames.Response(_id(asked.id), asked.name, success=True, data=data(answer))


def refuse(asked: Asked | Rejected, reason: str) -> frames.Response:
    return frames.Response(_id(asked.id), asked.name, success=False, error=reason)


def data(answer: commands.Answer) -> Any:
    match answer:
        case commands.Greeting(version, provider, model):
            return frames.GreetingData(frames.PROTOCOL_VERSION, version, provider, model)
        case commands.Started():
            return frames.StartedData(started=True)
        case commands.State():
            return state(answer)
        case commands.Transcript(transcript):
            return frames.MessagesData(listed(transcript))
        case commands.ModelChosen(model):
            return frames.ModelData(model.id)
        case commands.ModelList(models):
            return frames.ModelsData(
                [frames.ModelInfo(m.id, m.provider, m.context_window, m.max_output, m.reasoning) for m in models]
            )
        case commands.Pong():
            return frames.PongData(pong=True)
        case commands.Ok():
            return UNSET
        case (
            commands.Accepted()
            | commands.Stats()
            | commands.LastText()
            | commands.ModelCycled()
            | commands.ThinkingCycled()
            | commands.Compacted()
            | commands.SessionOpened()
            | commands.BashDone()
        ):
            return UNSET  # Answers to what cannot be asked in this protocol.
        case _:
            assert_never(answer)


def state(answer: commands.State) -> frames.StateData:
    count = len(list(_grouped(answer.messages)))
    model = answer.model
    return frames.StateData(model.provider, model.id, answer.cwd, count, answer.busy, tokens(answer.spent))


def listed(transcript: Sequence[messages.Message]) -> list[frames.Message]:
    """zot keeps the results of one reply in one message of role `tool`."""
    out: list[frames.Message] = []
    for group in _grouped(transcript):
        match group[0]:
            case messages.UserMessage(content, time):
                out.append(frames.Message("user", [*_plain(content)], stamp(time)))
            case messages.Summary() as summary:
                out.append(frames.Message("user", [frames.TextBlock(summary_text(summary))], stamp(summary.time)))
            case messages.BashRun() as run:
                out.append(frames.Message("user", [frames.TextBlock(bash_text(run))], stamp(run.time)))
            case messages.AssistantMessage(said, time):
                out.append(frames.Message("assistant", [*_said(said)], stamp(time)))
            case messages.ToolResult():
                results = [result for result in group if isinstance(result, messages.ToolResult)]
                blocks: list[frames.Block] = [
                    frames.ToolResultBlock(result.call_id, result.is_error, _plain(result.content))
                    for result in results
                ]
                out.append(frames.Message("tool", blocks, stamp(results[-1].time)))
    return out


def tokens(usage: messages.Usage) -> frames.Tokens:
    return frames.Tokens(usage.input, usage.output, usage.cache_read, usage.cache_write, usage.cost.total)


def stamp(time: int) -> str:
    """RFC 3339 in UTC."""
    return (_EPOCH + timedelta(milliseconds=time)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _grouped(transcript: Iterable[messages.Message]) -> Iterable[list[messages.Message]]:
    results: list[messages.Message] = []
    for message in transcript:
        if isinstance(message, messages.ToolResult):
            results.append(message)
            continue
        if isinstance(message, messages.AssistantMessage) and not _said(message.content):
            continue  # It was not told either.
        if results:
            yield results
            results = []
        yield [message]
    if results:
        yield results


def _plain(content: Iterable[messages.UserPart]) -> list[frames.TextBlock | frames.ImageBlock]:
    return [
        frames.TextBlock(part.text) if isinstance(part, messages.Text) else frames.ImageBlock(part.mime_type, part.size)
        for part in content
    ]


def _said(content: Iterable[messages.ReplyPart]) -> list[frames.TextBlock | frames.ToolCallBlock]:
    """The protocol has no block for thinking."""
    out: list[frames.TextBlock | frames.ToolCallBlock] = []
    for part in content:
        if isinstance(part, messages.Text):
            out.append(frames.TextBlock(part.text))
        elif isinstance(part, messages.ToolCall):
            out.append(frames.ToolCallBlock(part.id, part.name, part.args))
    return out


def _id(id: Raw) -> Any:
    """An empty or null id is none, as zot has it."""
    return UNSET if bytes(id) in (b"", b"null", b'""') else id
