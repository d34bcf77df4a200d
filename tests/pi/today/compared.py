"""Two agents' frames compared, as lines: what is missing, what is added, what has another shape or value.

What no two runs have in common is compared by its kind only: moments, ids, counts of tokens, addresses, the words of
errors. How an output was cut into pieces is not compared; the pieces joined are.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Any

Frame = dict[str, Any]
Kind = tuple[Any, ...]

# Compared by their types alone.
IDS = frozenset(
    {
        "toolCallId",
        "entryId",
        "firstKeptEntryId",
        "leafId",
        "parentId",
        "targetId",
        "fromId",
        "sessionId",
        "sessionFile",
        "path",
        "responseId",
        "thinkingSignature",
        "fullOutputPath",
        "baseUrl",
        "parentSession",
        "cwd",
    }
)
NUMBERS = frozenset(
    {
        "timestamp",
        "durationMs",
        "delayMs",
        "tokensBefore",
        "estimatedTokensAfter",
        "cost",
        "tokens",
        "percent",
        "input",
        "output",
        "cacheRead",
        "cacheWrite",
        "total",
        "wall_time_seconds",
    }
)
WORDS = frozenset(["errorMessage", "finalError", "error", "summary", "argumentsError"])
QUOTED = re.compile(
    r"Agent is already processing\..*|Model not found: .*|Unknown command: .*|Already compacted|Retry cancelled"
    r"|Nothing to compact \(session too small\)|Compaction cancelled|Compaction failed: |Summarization failed: "
    r"|Cannot export in-memory session to HTML|Failed to parse command: |Entry not found: .*"
    r"|Invalid entry ID for forking|Session name cannot be empty|This session has not been saved yet\..*"
    r"|Session file is not a valid pi session|Cannot submit a prompt while compaction is in progress\..*"
    r"|This operation was aborted|No API key found for the selected model\.|\d{3}\b"
)
TOOL_QUOTED = re.compile(
    r"Command exited with code \d+|Command timed out after \d+ seconds|Command aborted|Tool \w+ not found"
)
USAGE = frozenset({"input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost"})
CUT = re.compile(r"…(?:\[\d+ chars\]…)?")
PIECES = ("message_update", "tool_execution_update", "bash_execution_update")


def kind(frame: Frame) -> Kind:
    """Return what a frame is recognised by, whatever it has in it."""
    match frame:
        case {"type": "response"}:
            return "response", frame.get("command"), json.dumps(frame.get("id")).strip('"')
        case {"type": "message_update", "assistantMessageEvent": event}:
            return "message_update", event["type"], event["contentIndex"]
        case {"type": "message_start" | "message_end", "message": message}:
            return frame["type"], message["role"]
        case {"type": str(name), "toolName": tool}:
            return name, tool
        case {"type": "entry_appended", "entry": entry}:
            return "entry_appended", entry["type"]
        case {"type": str(name), "reason": reason}:
            return name, reason
        case _:
            return (frame["type"],)


def named(of: Kind) -> str:
    """Return a kind as a word."""
    first, *rest = (str(part) for part in of if part is not None)
    return f"{first}[{' '.join(rest)}]" if rest else first


class Joined:
    """Frames in which the pieces of one output are one frame, and what falls among them comes after."""

    def __init__(self, frames: Iterable[Frame] = ()) -> None:
        self.frames: list[Frame] = []
        self.counts: Counter[Kind] = Counter()
        """How many there are of each kind."""
        for frame in frames:
            self.add(frame)

    def add(self, frame: Frame) -> None:
        """Add the next frame."""
        before = self._growing(frame) if frame["type"] in PIECES else None
        if before is None:
            self.frames.append(dict(frame))
            self.counts[kind(frame)] += 1
        elif "assistantMessageEvent" in frame:
            old, new = before["assistantMessageEvent"], frame["assistantMessageEvent"]
            before["assistantMessageEvent"] = {**new, "delta": old["delta"] + new["delta"]}
        elif "delta" in frame:
            before["delta"] += frame["delta"]
        else:
            before |= frame

    def _growing(self, frame: Frame) -> Frame | None:
        """Return the frame that this one goes on, past what may fall between two pieces."""
        if frame["type"] == "message_update" and "delta" not in frame["assistantMessageEvent"]:
            return None
        wanted = kind(frame)
        for before in reversed(self.frames):
            if kind(before) == wanted and _of(before) == _of(frame):
                return before
            if before["type"] not in ("response", "queue_update", *PIECES):
                return None
            if before["type"] == frame["type"] == "message_update":
                return None
        return None


def _of(frame: Frame) -> Any:
    return frame.get("toolCallId", frame.get("id") if frame["type"] == "bash_execution_update" else None)


def placed(frames: list[Frame]) -> list[Frame]:
    """Return frames with what falls among the pieces of an output after their last."""
    out: list[Frame] = []
    held: list[Frame] = []
    for frame in frames:
        if frame["type"] in ("response", "queue_update") and out and out[-1]["type"] in PIECES:
            held.append(frame)
            continue
        if frame["type"] not in PIECES:
            out += sorted(held, key=lambda each: str(kind(each)))
            held = []
        out.append(frame)
    return out + held


def differences(theirs: list[Frame], ours: list[Frame], *, in_order: bool = True) -> Iterator[str]:
    """Yield a line for each thing in which our frames differ from theirs. Not `in_order`: answers come any time."""
    if not in_order:
        theirs, ours = (sorted(frames, key=_answers_first) for frames in (theirs, ours))
    pair = [placed(Joined(frames).frames) for frames in (theirs, ours)]
    kinds = [[kind(frame) for frame in frames] for frames in pair]
    for step, a, b, c, d in SequenceMatcher(None, kinds[0], kinds[1], autojunk=False).get_opcodes():
        if step == "equal":
            for one, other in zip(pair[0][a:b], pair[1][c:d], strict=True):
                yield from unlike(one, other, named(kind(one)))
            continue
        yield from (f"not ours: {named(each)}" for each in kinds[0][a:b])
        yield from (f"only ours: {named(each)}" for each in kinds[1][c:d])


def _answers_first(frame: Frame) -> tuple[bool, str]:
    answer = frame["type"] == "response"
    return not answer, named(kind(frame)) if answer else ""


def unlike(theirs: Any, ours: Any, path: str, key: str = "") -> Iterator[str]:
    """Yield a line for each place below this one where ours is not like theirs."""
    match theirs, ours:
        case "…", _:
            return
        case "…usage", dict():
            yield from (f"{path}.{name}: not ours" for name in sorted(USAGE - ours.keys()))
        case {"isError": True, **rest}, {"isError": True} if "…failure" not in rest:
            yield from unlike(_failure(theirs), _failure(ours), path, key)
        case dict(), dict():
            for name in sorted(theirs.keys() | ours.keys()):
                below = f"{path}.{name}"
                if name not in ours:
                    yield f"{below}: not ours"
                elif name not in theirs:
                    yield f"{below}: only ours"
                elif not (name == "id" and theirs.get("type") in ("toolCall", "toolcall_start", "session", *ENTRIES)):
                    yield from unlike(theirs[name], ours[name], below, name)
        case list(), list() if key == "toolsAdded":
            return
        case list(), list():
            yield from _unlike_lists(theirs, ours, path, key)
        case str(), str() if key in IDS:
            return
        case str(), str() if key == "timestamp":
            return
        case bool(), bool():
            if theirs != ours:
                yield f"{path}: {theirs!r} is ours {ours!r}"
        case ((int() | float() | None), (int() | float())) if key in NUMBERS:
            return
        case str(), str() if key in WORDS:
            one, other = QUOTED.match(theirs), QUOTED.match(ours)
            if (one and one[0]) != (other and other[0]):
                yield f"{path}: {theirs[:90]!r} is ours {ours[:90]!r}"
        case str(), str() if CUT.search(theirs):
            if not _cut_of(CUT.split(theirs), ours):
                yield f"{path}: {theirs[:60]!r} is ours {ours[:60]!r}"
        case _:
            if theirs != ours:
                yield f"{path}: {str(theirs)[:90]!r} is ours {str(ours)[:90]!r}"


def _failure(result: Frame) -> Frame:
    """Return a failed result with as much of its words as clients may look for."""
    inner = result.get("result", result)
    texts = [part.get("text", "") for part in inner.get("content", []) if isinstance(part, dict)]
    found = TOOL_QUOTED.search(" ".join(texts))
    bare = {**inner, "content": []}
    words = {"…failure": found[0] if found else ""}
    return {**result, "result": bare, **words} if "result" in result else {**bare, **words}


def _cut_of(parts: list[str], whole: str) -> bool:
    """Return whether a text has these parts in this order, from its beginning to its end."""
    first, *rest = parts
    if not whole.startswith(first) or not whole.endswith(parts[-1]):
        return False
    at = len(first)
    for part in rest:
        at = whole.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _unlike_lists(theirs: list[Any], ours: list[Any], path: str, key: str) -> Iterator[str]:
    """Compare what is of the same kind: who says a message, what an entry or a block is."""
    kinds = [[_kind_of(item) for item in items] for items in (theirs, ours)]
    for step, a, b, c, d in SequenceMatcher(None, kinds[0], kinds[1], autojunk=False).get_opcodes():
        if step == "equal":
            for one, other in zip(theirs[a:b], ours[c:d], strict=True):
                name = _kind_of(one)
                yield from unlike(one, other, f"{path}[{name}]", key)
            continue
        yield from (f"{path}: [{name}] not ours" for name in kinds[0][a:b])
        yield from (f"{path}: [{name}] only ours" for name in kinds[1][c:d])


def _kind_of(item: Any) -> str:
    match item:
        case {"entry": dict() as entry}:
            return _kind_of(entry)
        case {"type": str(kind), "message": {"role": str(role)}}:
            return f"{kind} {role}"
        case {"role": str(role)}:
            return role
        case {"type": str(kind)}:
            return kind
        case str() if len(item) < 20:
            return item
        case _:
            return ""


ENTRIES = (
    "message",
    "model_change",
    "thinking_level_change",
    "context_edit",
    "usage",
    "compaction",
    "branch_summary",
    "custom",
    "custom_message",
    "label",
    "session_info",
)
