"""Where to cut a conversation that has grown long, and how to ask for what was in the part that goes."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.json import encode

from linnet.core.messages import AssistantMessage, Message, Text, Thinking, ToolCall, ToolResult, UserMessage, texts
from linnet.errors import NothingToCompact

HEADING = "## Context Summary (compacted)"
SYSTEM = (
    "You write hand-over notes for a coding agent. You are shown a conversation between a user and the agent, with the"
    " tools it ran. You do not continue the conversation or answer anything in it: you only summarise it."
)
ASK = """Summarise the conversation above so that an agent that has not seen it can carry on. Say, under these \
headings and only where there is something to say:

- Goal: what the user wants, in their own terms, with every constraint and preference they stated.
- Done: what has been changed or found out, with file paths, commands and names spelled exactly.
- State: what works, what fails and with which message, what is half finished.
- Decisions: what was decided and why, and what was tried and rejected.
- Next: what remains, in order.

Be brief and concrete. Keep an earlier summary's facts unless they were overtaken."""
LONGEST = 2_000  # Characters of one tool result that a summary is made from; the rest rarely matters.


class Plan(Struct, frozen=True):
    """`old` is summarised and dropped; the newest `kept` messages stay."""

    old: tuple[Message, ...]
    kept: int


def plan(messages: Sequence[Message], keep: int = 4) -> Plan:
    """Keep the newest `keep` messages; one reply's results count as one. A call is never parted from its result."""
    if not messages:
        raise NothingToCompact("nothing to compact")
    starts = [
        index
        for index, message in enumerate(messages)
        if not (isinstance(message, ToolResult) and index and isinstance(messages[index - 1], ToolResult))
    ]
    cut = starts[-keep] if keep < len(starts) else 0
    while cut < len(messages) and isinstance(messages[cut], ToolResult):
        cut += 1
    if cut == 0:
        raise NothingToCompact(f"nothing to compact: the newest {keep} messages are kept, and there are no others")
    return Plan(tuple(messages[:cut]), len(messages) - cut)


def question(old: Sequence[Message], instructions: str = "") -> str:
    """What to ask a model. The conversation is quoted, so that it is not mistaken for one to go on with."""
    wish = f"\n\nThe user asks for this in particular: {instructions}" if instructions else ""
    return f"<conversation>\n{_quoted(old)}\n</conversation>\n\n{ASK}{wish}"


def summary_message(summary: str, time: int) -> UserMessage:
    return UserMessage((Text(f"{HEADING}\n\n{summary}"),), time)


def _quoted(messages: Sequence[Message]) -> str:
    lines: list[str] = []
    for message in messages:
        match message:
            case UserMessage(content):
                lines.append(f"[user] {texts(content)}")
            case AssistantMessage(content):
                for part in content:
                    match part:
                        case Text(text):
                            lines.append(f"[agent] {text}")
                        case ToolCall():
                            lines.append(f"[agent runs {part.name}] {encode(part.args).decode()}")
                        case Thinking():
                            pass
            case ToolResult():
                text = texts(message.content)
                short = text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST} more characters)"
                lines.append(f"[{message.name} {'failed' if message.is_error else 'answered'}] {short}")
    return "\n\n".join(lines)
