"""What the model is told before the conversation, followed as it changes: differences, and what they add up to."""

from collections.abc import Mapping, Sequence

from linnet.core.messages import SystemMessage
from linnet.core.toolspec import ToolSpec


def changed(
    before: SystemMessage | None, sections: Mapping[str, str], tools: Sequence[ToolSpec], time: int
) -> SystemMessage | None:
    """Return what is otherwise than it was told before, which is all of it if nothing was; None if nothing is."""
    if before is None:
        return SystemMessage(dict(sections), time, tuple(tools))
    known = {tool.name: tool for tool in before.added}
    here = {tool.name for tool in tools}
    gone = {name: None for name in before.sections if name not in sections}
    new = {name: text for name, text in sections.items() if before.sections.get(name) != text}
    added = tuple(tool for tool in tools if known.get(tool.name) != tool)
    removed = tuple(name for name in known if name not in here)
    return SystemMessage({**gone, **new}, time, added, removed) if gone or new or added or removed else None


def merged(before: SystemMessage | None, change: SystemMessage) -> SystemMessage:
    """Return all that the model is told after this change: without sections and tools that were taken away."""
    sections = {**(before.sections if before else {}), **change.sections}
    tools = {tool.name: tool for tool in (*(before.added if before else ()), *change.added)}
    for name in change.removed:
        tools.pop(name, None)
    kept = {name: text for name, text in sections.items() if text is not None}
    return SystemMessage(kept, change.time, tuple(tools.values()))
