"""Converts a conversation to zot's shape: messages, their blocks, and usage."""

from collections.abc import Iterable, Sequence

from linnet.core import messages
from linnet.core.context.history import bash_text, branch_text, summary_text
from linnet.core.text.timestamps import stamp
from linnet.wire.zot import frames


def listed(transcript: Sequence[messages.Message]) -> list[frames.Message]:
    """Return the messages as zot lists them: the results of one reply are one message of role `tool`."""
    out: list[frames.Message] = []
    for group in grouped(transcript):
        match group[0]:
            case messages.SystemMessage():
                pass  # `grouped` has left it out.
            case messages.UserMessage(content, time):
                out.append(frames.Message("user", [*plain(content)], stamp(time)))
            case messages.Summary() as summary:
                out.append(frames.Message("user", [frames.TextBlock(summary_text(summary))], stamp(summary.time)))
            case messages.BranchSummary() as branch:
                out.append(frames.Message("user", [frames.TextBlock(branch_text(branch))], stamp(branch.time)))
            case messages.Note() as note:
                out.append(frames.Message("user", [*plain(note.content)], stamp(note.time)))
            case messages.BashRun() as run:
                out.append(frames.Message("user", [frames.TextBlock(bash_text(run))], stamp(run.time)))
            case messages.AssistantMessage(content=told, time=time):
                out.append(frames.Message("assistant", [*said(told)], stamp(time)))
            case messages.ToolResult():
                results = [result for result in group if isinstance(result, messages.ToolResult)]
                blocks: list[frames.Block] = [
                    frames.ToolResultBlock(result.call_id, result.is_error, plain(result.content)) for result in results
                ]
                out.append(frames.Message("tool", blocks, stamp(results[-1].time)))
    return out


def tokens(usage: messages.Usage) -> frames.Tokens:
    return frames.Tokens(
        usage.input, usage.output, usage.cache_read, usage.cache_write, usage.cost.total, usage.cost_known
    )


def grouped(transcript: Iterable[messages.Message]) -> Iterable[list[messages.Message]]:
    """Yield the messages that zot counts as one: the results of one reply together, every other message alone."""
    results: list[messages.Message] = []
    for message in transcript:
        if isinstance(message, messages.SystemMessage):
            continue
        if isinstance(message, messages.ToolResult):
            results.append(message)
            continue
        if isinstance(message, messages.AssistantMessage) and not said(message.content):
            continue  # It has nothing to show, and no event told of it either.
        if results:
            yield results
            results = []
        yield [message]
    if results:
        yield results


def plain(content: Iterable[messages.UserPart]) -> list[frames.TextBlock | frames.ImageBlock]:
    """Return texts and images as zot's blocks."""
    return [
        frames.TextBlock(part.text) if isinstance(part, messages.Text) else frames.ImageBlock(part.mime_type, part.size)
        for part in content
    ]


def said(content: Iterable[messages.ReplyPart]) -> list[frames.TextBlock | frames.ToolCallBlock]:
    """Return the blocks of a reply, without its thinking: the protocol has no block for it."""
    out: list[frames.TextBlock | frames.ToolCallBlock] = []
    for part in content:
        if isinstance(part, messages.Text):
            out.append(frames.TextBlock(part.text))
        elif isinstance(part, messages.ToolCall):
            out.append(frames.ToolCallBlock(part.id, part.name, part.args))
    return out
