"""Works out, for the path to an entry, which messages the model is shown, and what was set on the way."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from linnet.core.events import Compaction
from linnet.core.messages import AssistantMessage
from linnet.store.entries import Compacted, Edited, Entry, ModelChanged, Said, ThinkingChanged
from linnet.store.tree import Node
from linnet.wire.pi.from_pi import SpelledContent

_SPEAKING = frozenset(
    ("user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary")
)
_ROLES = _SPEAKING | {"system"}
_SAYING = ("branch_summary", "custom_message")


class Position(Struct, frozen=True):
    """Where a conversation stands at the end of a path."""

    shown: list[Node]
    """The messages that the model is shown, after the summary of `compaction` if there is one."""
    summary: Node | None = None
    """The entry of the last compaction."""
    compaction: Compaction | None = None
    compacted: bool = False
    """No message follows the compaction."""
    model: ModelChanged | None = None
    """The model that was set or answered last."""
    thinking: str | None = None
    """The level that was set last."""
    edits: Mapping[str, SpelledContent] = {}
    """What some of the messages say instead of what they said, by the ids of their entries."""


def position(path: Sequence[Node], read: Callable[[Node], Entry]) -> Position:
    """Return the position at the end of `path`, which begins at a root. `read` reads one entry."""
    summary, compaction = _last_compaction(path, read)
    model, thinking = _last_model(path, read), _last_thinking(path, read)
    edited = _edits(path, read)
    edits = {target: content for target, content in edited.items() if content is not None}
    if summary is None or compaction is None:
        shown = _without_failures(_kept(_speaking(path), edited))
        return Position(shown, model=model, thinking=thinking, edits=edits)
    last = next(at for at, node in enumerate(path) if node is summary)
    first = next((at for at, node in enumerate(path[:last]) if node.id == compaction.first_kept), last)
    # What the model was told before the conversation, up to here, is in the compaction or is to be told again.
    nodes = [*_speaking(path[first:last], _SPEAKING), *_speaking(path[last:])]
    said = bool(_kept(_speaking(path[last:], _SPEAKING), edited))
    return Position(_without_failures(_kept(nodes, edited)), summary, compaction, not said, model, thinking, edits)


def everything(path: Sequence[Node], read: Callable[[Node], Entry]) -> list[Node]:
    """Return all that was said on a path, for people to read: also what compactions stand for now, and what the model
    is shown otherwise or not any more. A reply that failed and was tried again is left out.
    """
    return _without_failures(_kept(_speaking(path), _edits(path, read)))


def _speaking(path: Sequence[Node], roles: frozenset[str] = _ROLES) -> list[Node]:
    return [node for node in path if (node.role in roles if node.type == "message" else node.type in _SAYING)]


def _edits(path: Sequence[Node], read: Callable[[Node], Entry]) -> dict[str, SpelledContent | None]:
    """Return what was done last to each entry that was edited on the way: other words, or None if it is left out."""
    found = [read(node).content for node in path if node.type == "context_edit"]
    return {content.target: content.content for content in found if isinstance(content, Edited)}


def _kept(nodes: list[Node], edits: Mapping[str, SpelledContent | None]) -> list[Node]:
    """Return the nodes without those that are left out."""
    return [node for node in nodes if edits.get(node.id, "") is not None] if edits else nodes


def _without_failures(nodes: list[Node]) -> list[Node]:
    """Return the nodes without replies that failed and are followed by another: that one was another try."""
    if not any(node.failed for node in nodes):
        return nodes
    shown: list[Node] = []
    failed = False
    for node in nodes:
        if failed and node.role == "assistant":
            shown.pop()
        shown.append(node)
        failed = node.failed
    return shown


def _last_compaction(
    path: Sequence[Node], read: Callable[[Node], Entry]
) -> tuple[Node, Compaction] | tuple[None, None]:
    for node in reversed(path):
        if node.type == "compaction":
            content = read(node).content
            if isinstance(content, Compacted):
                return node, content.result
    return None, None


def _last_model(path: Sequence[Node], read: Callable[[Node], Entry]) -> ModelChanged | None:
    for node in reversed(path):
        if node.type == "model_change" or node.role == "assistant":
            content = read(node).content
            if isinstance(content, ModelChanged):
                return content
            if isinstance(content, Said) and isinstance(content.message, AssistantMessage):
                return ModelChanged(content.message.provider, content.message.model)
    return None


def _last_thinking(path: Sequence[Node], read: Callable[[Node], Entry]) -> str | None:
    for node in reversed(path):
        if node.type == "thinking_level_change":
            content = read(node).content
            if isinstance(content, ThinkingChanged):
                return content.level
    return None
