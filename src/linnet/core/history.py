"""What may be sent to a model: no call without its result, no result without its call, nothing empty."""

from collections.abc import Iterable

from linnet.core.messages import AssistantMessage, Message, Text, ToolCall, ToolResult

UNANSWERED = "No result: the run stopped before this call was answered."


def repaired(messages: Iterable[Message]) -> list[Message]:
    """The same conversation, as every vendor's API accepts it. What is already right comes back unchanged."""
    messages = list(messages)
    out: list[Message] = []
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


def _unanswered(call: ToolCall, time: int) -> ToolResult:
    return ToolResult(call.id, call.name, (Text(UNANSWERED),), time, is_error=True)
