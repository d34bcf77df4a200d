"""Makes of a conversation what may be sent to a model: no call without its result or the reverse, nothing empty.

No reply ends in a thought: Anthropic would refuse one that was cut there, and with it every request from then on.
"""

from collections.abc import Iterable
from typing import TypeAlias

from msgspec.structs import replace

from linnet.core.messages import (
    AssistantMessage,
    BashRun,
    BranchSummary,
    Message,
    Note,
    ReplyPart,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from linnet.core.text.printable import printable

UNANSWERED = "No result: the run stopped before this call was answered."
SUMMARY_HEADING = "## Context Summary (compacted)"
BRANCH_HEADING = "## Summary of a branch of this conversation that was left"


Sendable: TypeAlias = UserMessage | AssistantMessage | ToolResult


def repaired(conversation: Iterable[Message]) -> list[Sendable]:
    """Return the conversation as every vendor's API accepts it: made of prompts, replies and results alone.

    The results of a reply's calls follow it, one for each call and in their order.
    """
    messages = [_plain(message) for message in conversation if not (isinstance(message, BashRun) and message.private)]
    out: list[Sendable] = []
    index = 0
    while index < len(messages):
        message = messages[index]
        index += 1
        if isinstance(message, ToolResult):
            continue  # Its call is gone; those that have one are taken below.
        if not message.content:
            continue
        out.append(message)
        if isinstance(message, AssistantMessage) and message.calls:
            results: dict[str, ToolResult] = {}
            while index < len(messages):
                following = messages[index]
                if not isinstance(following, ToolResult):
                    break
                results.setdefault(following.call_id, following)
                index += 1
            out += [results.get(call.id) or _unanswered(call, message.time) for call in message.calls]
    return out


def summary_text(summary: Summary) -> str:
    """Return how the model is told of the part of the conversation that was compacted away."""
    return f"{SUMMARY_HEADING}\n\n{summary.text}"


def branch_text(summary: BranchSummary) -> str:
    """Return how the model is told of a branch of the conversation that was left."""
    return f"{BRANCH_HEADING}\n\n{summary.text}"


def bash_text(run: BashRun) -> str:
    """Return how the model is told of a command that the client ran."""
    text = f"Ran `{run.command}`\n```\n{printable(run.output).rstrip() or '(no output)'}\n```"
    if run.cancelled:
        text += "\n\n(the command was cancelled)"
    elif run.exit_code:
        text += f"\n\nCommand exited with code {run.exit_code}"
    if run.truncated and run.full_output_path:
        text += f"\n\n[Output truncated. Full output: {run.full_output_path}]"
    return text


def _plain(message: Message) -> Sendable:
    if isinstance(message, Summary):
        return UserMessage((Text(summary_text(message)),), message.time)
    if isinstance(message, BranchSummary):
        return UserMessage((Text(branch_text(message)),), message.time)
    if isinstance(message, Note):
        return UserMessage(message.content, message.time)
    if isinstance(message, BashRun):
        return UserMessage((Text(bash_text(message)),), message.time)
    if isinstance(message, AssistantMessage):
        return _concluded(message)
    return message


def _concluded(reply: AssistantMessage) -> AssistantMessage:
    """Return the reply up to its last word or call. Nothing is left of one that was cut while it thought."""
    end = len(reply.content)
    while end and _says_nothing(reply.content[end - 1]):
        end -= 1
    return reply if end == len(reply.content) else replace(reply, content=reply.content[:end])


def _says_nothing(part: ReplyPart) -> bool:
    return isinstance(part, Thinking) or (isinstance(part, Text) and not part.text.strip())


def _unanswered(call: ToolCall, time: int) -> ToolResult:
    return ToolResult(call.id, call.name, (Text(UNANSWERED),), time, is_error=True)
