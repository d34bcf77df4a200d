"""Estimates how many tokens a conversation has: as the vendor counted where it did, and a guess for the rest."""

from collections.abc import Sequence

from msgspec.json import encode

from linnet.core.messages import (
    AssistantMessage,
    BashRun,
    BranchSummary,
    Image,
    Message,
    Note,
    Summary,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)

CHARACTERS_PER_TOKEN = 4
IMAGE = 4_800  # An image counts as so many characters: vendors bill about 1,200 tokens for one.


def context_tokens(messages: Sequence[Message]) -> int:
    """Return the tokens of a conversation: the newest reply's usage, which covers all before it, and a guess for the
    rest.

    A reply older than the last summary does not count: its usage covers what the summary replaced.
    """
    since = max((message.time for message in messages if isinstance(message, Summary)), default=0)
    after = 0
    for message in reversed(messages):
        if isinstance(message, AssistantMessage) and _counts(message, since):
            return message.usage.total + after
        after += guess(message)
    return after


def counted_tokens(messages: Sequence[Message]) -> int | None:
    """Return the same; None if no model has counted what the last compaction left."""
    since = max((message.time for message in messages if isinstance(message, Summary)), default=None)
    if since is not None and not any(isinstance(each, AssistantMessage) and _counts(each, since) for each in messages):
        return None
    return context_tokens(messages)


def _counts(reply: AssistantMessage, since: int) -> bool:
    return reply.stop not in ("error", "aborted") and reply.time >= since and reply.usage.total > 0


def guess(message: Message) -> int:
    """Return about how many tokens a message has, by its length."""
    return -(-_characters(message) // CHARACTERS_PER_TOKEN)


def _characters(message: Message) -> int:
    match message:
        case Summary(text) | BranchSummary(text):
            return len(text)
        case BashRun(command, output):
            return 0 if message.private else len(command) + len(output)
        case UserMessage(content) | AssistantMessage(content):
            return sum(map(_part, content))
        case ToolResult() | Note():
            return sum(map(_part, message.content))
        case SystemMessage():
            return 0  # It is sent with every request, and no part of the conversation.


def _part(part: Text | Thinking | Image | ToolCall) -> int:
    match part:
        case Text(text) | Thinking(text):
            return len(text)
        case Image():
            return IMAGE
        case ToolCall():
            return len(part.name) + len(encode(part.args))
