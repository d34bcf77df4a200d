"""Makes of a conversation what may be sent to a model: no call without its result or the reverse, nothing empty.

No reply ends in a thought: Anthropic would refuse one that was cut there, and with it every request from then on.
"""

from collections.abc import Iterable, Sequence
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
    SystemMessage,
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
    return Repair().follow(list(conversation))


class Repair:
    """A conversation as `repaired` returns it, kept as it grows: what was repaired once is not looked at again."""

    def __init__(self) -> None:
        self._repaired: list[Sendable] = []  # What has come of the messages before `_settled`.
        self._settled = 0  # So many messages are final; results of the one after them may still come.

    def follow(self, messages: Sequence[Message]) -> list[Sendable]:
        """Return the repaired conversation. Its messages begin with those that were followed before."""
        rest = messages[self._settled :]
        last = next((at for at in range(len(rest) - 1, -1, -1) if not _answers(rest[at])), 0)
        _repair(rest[:last], self._repaired)
        self._settled += last
        whole = self._repaired.copy()
        _repair(rest[last:], whole)
        return whole


def _repair(messages: Sequence[Message], out: list[Sendable]) -> None:
    """Add these messages, as they may be sent. The results of a call are all among them."""
    index = 0
    while index < len(messages):
        original = messages[index]
        index += 1
        if isinstance(original, ToolResult | SystemMessage):
            continue  # A result whose call is gone; those that have one are taken below.
        if isinstance(original, BashRun) and original.private:
            continue
        message = _plain(original)
        if not message.content:
            continue
        out.append(message)
        if isinstance(message, AssistantMessage) and (calls := message.calls):
            results: dict[str, ToolResult] = {}
            while index < len(messages) and _answers(following := messages[index]):
                if isinstance(following, ToolResult):
                    results.setdefault(following.call_id, following)
                index += 1
            out += [results.get(call.id) or _unanswered(call, message.time) for call in calls]


def _answers(message: Message) -> bool:
    """Return whether a message may be among the results of a reply's calls."""
    return isinstance(message, ToolResult) or (isinstance(message, BashRun) and message.private)


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


def _plain(message: UserMessage | AssistantMessage | BashRun | Summary | BranchSummary | Note) -> Sendable:
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
    return isinstance(part, Thinking) or (isinstance(part, Text) and not part.text.strip() and not part.signature)


def _unanswered(call: ToolCall, time: int) -> ToolResult:
    return ToolResult(call.id, call.name, (Text(UNANSWERED),), time, is_error=True)
