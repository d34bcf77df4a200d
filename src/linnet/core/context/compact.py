"""Decides where to cut a conversation that has grown long, and what to ask a model for a summary of the old part."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.json import encode

from linnet.core.context.history import bash_text
from linnet.core.context.token_estimate import guess
from linnet.core.messages import (
    AssistantMessage,
    BashRun,
    BranchSummary,
    Message,
    Note,
    Summary,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    texts,
)
from linnet.errors import NothingToCompact

SYSTEM = (
    "You write hand-over notes for a coding agent. You are shown a conversation between a user and the agent, with the"
    " tools it ran. You do not continue the conversation or answer anything in it: you only summarise it."
)
ASK = """Summarise the conversation above so that an agent that has not seen it can carry on. Say, under these \
headings and only where there is something to say:

- Goal: what the user wants, in their own terms.
- Constraints: what they asked for or forbade, with every preference they stated.
- Progress: what has been changed or found out, with file paths, commands and names spelled exactly; what works, what \
fails and with which message, what is half finished.
- Decisions: what was decided and why, and what was tried and rejected.
- Next: what remains, in order.
- Critical: anything else that would be lost otherwise and must not be.

Be brief and concrete."""
ASK_UPDATE = """

The notes below were written when an earlier part was summarised. Return them updated: keep what still holds, correct \
what was overtaken, add what is new.

<earlier-notes>
{notes}
</earlier-notes>"""
ASK_TURN = """Summarise the beginning of a turn that is still going on: its later part is kept as it is, and follows \
your summary. Say what the user asked for, what the agent has done about it so far and what it found, with file paths \
and names spelled exactly. Be brief."""
IN_PROGRESS = "\n\n---\n\n**The turn in progress, up to here:**\n\n"
LONGEST = 2_000  # Characters of one tool result that a summary is made from; the rest rarely matters.


class Plan(Struct, frozen=True):
    """Which messages are summarised and dropped, and which stay."""

    old: tuple[Message, ...]  # Summarised and dropped.
    prefix: tuple[Message, ...]  # The same, but the first part of a turn whose rest stays.
    kept: int  # So many of the newest messages stay.


Planner: TypeAlias = Callable[[Sequence[Message]], Plan]
"""Returns a plan for these messages. Raises NothingToCompact."""


def keep_messages(keep: int) -> Planner:
    """Return a planner that leaves the newest `keep` messages; one reply's results count as one."""

    def plan(messages: Sequence[Message]) -> Plan:
        if not messages:
            raise NothingToCompact("nothing to compact")
        starts = [
            index
            for index, message in enumerate(messages)
            if not isinstance(message, SystemMessage)
            and not (isinstance(message, ToolResult) and index and isinstance(messages[index - 1], ToolResult))
        ]
        cut = _not_at_a_result(messages, starts[-keep] if keep < len(starts) else 0)
        if all(isinstance(message, Summary | SystemMessage) for message in messages[:cut]):
            raise NothingToCompact(f"nothing to compact: the newest {keep} messages are kept, and there are no others")
        return Plan(tuple(messages[:cut]), (), len(messages) - cut)

    return plan


def keep_tokens(keep: int) -> Planner:
    """Return a planner that leaves about `keep` tokens of the newest messages. It may cut a turn in two."""

    def plan(messages: Sequence[Message]) -> Plan:
        cut, size = len(messages), 0
        while cut and size < keep:
            cut -= 1
            size += guess(messages[cut])
        cut = _not_at_a_result(messages, cut)
        start = _turn_start(messages, cut)
        old, prefix = tuple(messages[:start]), tuple(messages[start:cut])
        if not prefix and all(isinstance(message, Summary | SystemMessage) for message in old):
            raise NothingToCompact("Nothing to compact (session too small)")
        return Plan(old, prefix, len(messages) - cut)

    return plan


def _turn_start(messages: Sequence[Message], cut: int) -> int:
    """Return where the turn begins that `cut` falls into; `cut` itself if it falls between two turns."""
    start = cut
    while 0 < start < len(messages) and isinstance(messages[start], AssistantMessage | ToolResult | SystemMessage):
        start -= 1
    return start + 1 if start < cut and isinstance(messages[start], Summary) else start


def questions(plan: Plan, instructions: str = "") -> tuple[str, str]:
    """Return what to ask a model about the part that goes, and about the turn that is cut in two; "" where there is
    nothing to ask.

    The conversation is quoted, so that it is not mistaken for one to go on with.
    """
    notes = [message.text for message in plan.old if isinstance(message, Summary)]
    said = [message for message in plan.old if not isinstance(message, Summary | SystemMessage)]
    wish = f"\n\nThe user asks for this in particular: {instructions}" if instructions else ""
    update = ASK_UPDATE.format(notes="\n\n".join(notes)) if notes else ""
    history = f"{_conversation(said)}\n\n{ASK}{update}{wish}" if said else ""
    turn = f"{_conversation(plan.prefix)}\n\n{ASK_TURN}{wish}" if plan.prefix else ""
    return history, turn


def joined(plan: Plan, history: str, turn: str, read: Sequence[str], modified: Sequence[str]) -> str:
    """Return the summary as it will stand in the conversation. Where `history` is empty, earlier notes stay as is."""
    notes = [message.text for message in plan.old if isinstance(message, Summary)]
    text = (history or "\n\n".join(notes)).strip()
    if turn:
        text = f"{text}{IN_PROGRESS}{turn.strip()}" if text else turn.strip()
    if read:
        text += "\n\nFiles read: " + ", ".join(read)
    if modified:
        text += "\n\nFiles changed: " + ", ".join(modified)
    return text


def touched_files(messages: Sequence[Message]) -> tuple[list[str], list[str]]:
    """Return the files that were read, and those that were changed. No file is in both."""
    read: dict[str, None] = {}
    changed: dict[str, None] = {}
    for message in messages:
        for call in message.calls if isinstance(message, AssistantMessage) else ():
            path = call.args.get("path")
            if isinstance(path, str) and call.name in ("read", "write", "edit"):
                (read if call.name == "read" else changed)[path] = None
    return [path for path in read if path not in changed], list(changed)


def _not_at_a_result(messages: Sequence[Message], cut: int) -> int:
    """Return the next place that does not tear a result from its call: vendors refuse one without the other. No system
    message is the first that is kept, since none is kept.
    """
    while cut < len(messages) and isinstance(messages[cut], ToolResult | SystemMessage):
        cut += 1
    return cut


def _conversation(messages: Sequence[Message]) -> str:
    return "<conversation>\n" + "\n\n".join(_quoted(messages)) + "\n</conversation>"


def _quoted(messages: Sequence[Message]) -> list[str]:
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
                verb = "failed" if message.is_error else "answered"
                lines.append(f"[{message.name} {verb}] {_shortened(texts(message.content))}")
            case BashRun() if message.private:
                pass
            case BashRun():
                lines.append(f"[user] {_shortened(bash_text(message))}")
            case Note(kind, content):
                lines.append(f"[{kind}] {texts(content)}")
            case BranchSummary(text):
                lines.append(f"[a branch that was left] {text}")
            case Summary(text):
                lines.append(f"[earlier notes] {text}")
            case SystemMessage():
                pass
    return lines


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST} more characters)"
