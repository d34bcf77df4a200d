"""Encodes events as objects of the zot protocol, each for itself: nothing is remembered."""

from collections.abc import Iterable

from msgspec import UNSET

from linnet.core import events, messages
from linnet.core.text.timestamps import stamp
from linnet.wire.zot import frames
from linnet.wire.zot.transcript import plain, said, tokens

STOP: dict[messages.StopReason, frames.Stop] = {
    "end": "end_turn",
    "tool_use": "tool_use",
    "length": "length",
    "error": "error",
    "aborted": "aborted",
}


def encode(batch: Iterable[events.Event], *, show_thinking: bool = False, shared: bool = False) -> list[frames.Event]:
    """Return what zot's clients are told of these events, in order. With `shared`, the agent has other clients."""
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
                out.append(frames.UserMessage(plain(message.content), stamp(message.time)))
            case events.StepStarted(step):
                out.append(frames.TurnStart(step))
            case events.ReplyStarted():
                out.append(frames.AssistantStart())
            case events.ReplyEnded(reply, total):
                out += _reply_ended(reply, total)
            case events.ToolFinished(result):
                out.append(frames.ToolResult(result.call_id, result.is_error, plain(result.content)))
            case events.Interrupted(reply):
                out.append(frames.TurnEnd(STOP[reply.stop], reply.error or UNSET))
            case events.CompactionEnded():
                if event.result is not None:
                    out.append(frames.CompactDone(event.result.summary.text))
                elif event.aborted:
                    out.append(frames.TurnEnd("aborted"))
            case events.SessionFailed(path, error):
                out.append(frames.SessionError(path, error))
            case events.ProjectUntrusted(path, found, changed):
                listed = [frames.Found(each.kind, each.path) for each in found]
                out.append(frames.ProjectUntrusted(path, listed, changed or UNSET))
            case events.NoteAdded(note):
                out.append(frames.UserMessage(plain(note.content), stamp(note.time)))
            case events.HookFailed(path, name, error):
                out.append(frames.ExtError(path, name, error))
            case events.OutputRead(value, problem):
                out.append(frames.Output(error=problem) if problem else frames.Output(value))
            case events.Settled():
                out += _settled(event)
            case events.QuestionAsked() | events.QuestionClosed():
                out += _asked(event, shared)
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
                | events.SessionNamed()
            ):
                pass
            case _:
                if not isinstance(event, events.Internal | events.Fine):
                    out.append(_shown(event))
    return out


def _asked(event: events.QuestionAsked | events.QuestionClosed, shared: bool) -> list[frames.Event]:
    from linnet.wire.zot import questions  # Most agents ask none.

    if isinstance(event, events.QuestionAsked):
        return [questions.asked(event)]
    return questions.closed(event, shared=shared)


def _shown(event: events.Shown) -> frames.Event:
    from linnet.wire.zot import questions  # Most agents have no extensions.

    return questions.told(event)


def _reply_ended(reply: messages.AssistantMessage, total: messages.Usage) -> list[frames.Event]:
    """Return usage, message, calls and the end of the turn, in this order. A reply without words and calls has no
    message.
    """
    out: list[frames.Event] = []
    content = said(reply.content)
    if content or reply.usage.total:
        usage = tokens(reply.usage)
        out.append(
            frames.Usage(
                usage.input,
                usage.output,
                usage.cache_read,
                usage.cache_write,
                usage.cost_usd,
                tokens(total),
                usage.cost_known,
            )
        )
    if content:
        out.append(frames.AssistantMessage(content, stamp(reply.time)))
        out += [frames.ToolCall(part.id, part.name, part.args) for part in reply.calls]
    out.append(frames.TurnEnd(STOP[reply.stop], reply.error or UNSET))
    return out


def _settled(event: events.Settled) -> list[frames.Event]:
    """Return what ends a job. There is one terminator for each: `done`, or the `compact_done` that a compaction which
    succeeded has had before.
    """
    if event.stop == "error":
        return [frames.Error(event.error), frames.Done()]
    return [] if event.kind == "compact" and event.stop == "end" else [frames.Done()]
