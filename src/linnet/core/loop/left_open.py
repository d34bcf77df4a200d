"""Ends, in words, what a process left open that was killed: a prompt or a compaction, and the questions it asked.

Whoever follows an agent is told exactly one end of everything, whatever happens to the process. What is known of the
calls that were open is said in their results, and the conversation can go on from there.
"""

from collections.abc import Sequence

from linnet.core import events
from linnet.core.loop.run import UNKNOWN, not_run
from linnet.core.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolResult,
    Usage,
    UserMessage,
)

NOT_BEGUN = "Not run: the agent's process ended before this call began."


def closing_events(
    opened: Sequence[events.Event], spent: Usage, said: Sequence[Message], error: str, time: int
) -> list[events.Event]:
    """Return the events that end what is open. `opened` are those of an `Opening`; `said` is the conversation, which
    may know more: what was written last was perhaps not told any more. `spent` is what the session has cost.
    """
    closing: list[events.Event] = [
        events.QuestionClosed(each.id, each.question, "withdrawn")
        for each in opened
        if isinstance(each, events.QuestionAsked)
    ]
    queued = [
        events.QueueChanged((), (), (*each.steering, *each.follow_ups))
        for each in opened
        if isinstance(each, events.QueueChanged)
    ]
    job = next((each for each in opened if isinstance(each, events.JobStarted)), None)
    if job is None:
        return [*closing, *queued]
    closing += _of_step(opened, spent, said, error, time)
    for each in opened:
        match each:
            case events.CompactionStarted(reason):
                closing.append(events.CompactionEnded(reason, None, error=error))
            case events.RetryScheduled(attempt):
                closing.append(events.RetryEnded(False, attempt, error))
            case events.RunStarted():
                ended = [*said, *(_message(each) for each in closing)]
                closing.append(events.RunEnded("error", error, _of_run([each for each in ended if each is not None])))
            case _:
                pass
    return [*closing, *queued, events.Settled(job.kind, "error", error)]


def _of_step(
    opened: Sequence[events.Event], spent: Usage, said: Sequence[Message], error: str, time: int
) -> list[events.Event]:
    """Return what ends the open step: its reply, if that is being written, or its calls."""
    kinds = {type(each) for each in opened}
    if events.StepStarted not in kinds:
        return []
    closing: list[events.Event] = []
    reply = next((each.message for each in opened if isinstance(each, events.ReplyEnded)), None)
    if reply is None:
        reply = _written(said) or _reply(opened, error, time)
        closing.append(events.ReplyEnded(reply, spent))
    told = {each.result.call_id: each.result for each in opened if isinstance(each, events.ToolFinished)}
    returned = {each.result.call_id: each.result for each in opened if isinstance(each, events.ToolReturned)}
    written = {each.call_id: each for each in said if isinstance(each, ToolResult)}
    started = {each.call.id for each in opened if isinstance(each, events.ToolStarted)}
    results: list[ToolResult] = []
    for call in reply.calls:
        if call.id in told:
            results.append(told[call.id])
            continue
        known = written.get(call.id) or returned.get(call.id)
        result = known or not_run(call, time, UNKNOWN if call.id in started else NOT_BEGUN)
        if call.id not in started:
            closing.append(events.ToolStarted(call))
        if call.id not in returned:
            closing.append(events.ToolReturned(result))
        closing.append(events.ToolFinished(result))
        results.append(result)
    return [*closing, events.StepEnded(reply, tuple(results))]


def _written(said: Sequence[Message]) -> AssistantMessage | None:
    """Return the reply that is in the conversation and was not told any more: a step whose reply was not told follows
    what somebody said, or results of tools.
    """
    last = next((each for each in reversed(said) if not isinstance(each, SystemMessage)), None)
    return last if isinstance(last, AssistantMessage) and last.stop not in ("error", "aborted") else None


def _reply(opened: Sequence[events.Event], error: str, time: int) -> AssistantMessage:
    """Return what the model had said, without its calls: none of them has run."""
    texts: dict[int, list[str]] = {}
    kinds: dict[int, type[Text] | type[Thinking]] = {}
    started = None
    usage = Usage()
    for each in opened:
        match each:
            case events.ReplyStarted():
                started = each
            case events.TextGrew(index, text):
                kinds[index] = Text
                texts.setdefault(index, []).append(text)
            case events.ThinkingGrew(index, text):
                kinds[index] = Thinking
                texts.setdefault(index, []).append(text)
            case events.UsageGrew(used):
                usage = used
            case _:
                pass
    content = tuple([kinds[index]("".join(texts[index])) for index in sorted(texts)])
    if started is None:
        return AssistantMessage(content, time, "", "", usage, "error", error)
    return AssistantMessage(content, started.time, started.provider, started.model, usage, "error", error, started.api)


def _message(event: events.Event) -> Message | None:
    """Return the message that an event adds to the conversation; None if it adds none."""
    match event:
        case events.ReplyEnded(message):
            return message
        case events.ToolFinished(result):
            return result
        case _:
            return None


def _of_run(said: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages since the user last said something: those of the run, as far as a conversation can tell."""
    begin = max((at for at, each in enumerate(said) if isinstance(each, UserMessage)), default=0)
    kept: list[Message] = []
    for each in said[begin:]:  # What is told now may be in the conversation.
        if not any(each is other for other in kept):
            kept.append(each)
    return tuple(kept)
