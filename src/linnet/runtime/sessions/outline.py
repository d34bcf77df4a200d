"""Lists the entries of a session's tree, each with a line of its content for people."""

from linnet.core.messages import (
    AssistantMessage,
    BashRun,
    BranchSummary,
    Message,
    Note,
    Summary,
    SystemMessage,
    ToolResult,
    UserMessage,
    texts,
)
from linnet.core.session_info import OutlineEntry
from linnet.store.entries import (
    SPENT,
    Compacted,
    Content,
    Custom,
    Edited,
    Labelled,
    ModelChanged,
    Moved,
    Named,
    Ran,
    Said,
    Spent,
    ThinkingChanged,
    Unknown,
)
from linnet.store.store import Store

LONGEST = 200  # Characters of a line.


def outline(store: Store) -> list[OutlineEntry]:
    """Return the entries in the order of the file, without the marks that only say where the conversation went on."""
    return [
        OutlineEntry(
            entry.id,
            store.unmarked(entry.parent),
            entry.time,
            entry.type,
            node.role,
            " ".join(_content(entry.content)[: LONGEST * 2].split())[:LONGEST],
            store.labels.get(entry.id, ""),
        )
        for node, entry in zip(store.tree.nodes, store.entries(), strict=True)
        if not store.is_mark(entry.id)
    ]


def _content(content: Content) -> str:
    match content:
        case Said(message):
            return _message(message)
        case Compacted(result):
            return result.summary.text
        case ModelChanged(provider, model):
            return f"{provider}/{model}"
        case ThinkingChanged(level):
            return level
        case Named(name):
            return name
        case Labelled(_, label):
            return label
        case Custom(kind):
            return kind
        case Ran(run):
            return run.command
        case Spent(_, kind):
            return kind or SPENT
        case Moved() | Unknown() | Edited():
            return ""


def _message(message: Message) -> str:
    match message:
        case AssistantMessage():
            return message.text or ", ".join(call.name for call in message.calls) or message.error
        case UserMessage(content):
            return texts(content)
        case ToolResult() | Note():
            return texts(message.content)
        case BashRun(command):
            return command
        case Summary(text) | BranchSummary(text):
            return text
        case SystemMessage(sections):
            return " ".join(text for text in sections.values() if text)
