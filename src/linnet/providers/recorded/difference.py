"""Compares what a model is asked with what was recorded, and says in words what is different. Pure.

Texts that differ only in what differs from run to run are the same: times, dates, ids, addresses in memory, and the
names of linnet's temporary files. Not so what the user says, which is compared to the letter; a question for a summary
and a command that the client ran are told as the user's, but are not. A secret that was taken out stands for any text.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec.json import encode

from linnet.core.context.compact import SYSTEM
from linnet.core.messages import Image, Text, Thinking, ToolCall
from linnet.core.text.redact import MARK
from linnet.providers.recorded.recording import Message, Question, Tool

Match: TypeAlias = Literal["strict", "loose", "none"]
"""How far a run must ask what was recorded: in everything, in what the user says, or not at all."""

_MARK = MARK.decode()
_ID = "0-9a-fA-F"
_VOLATILE = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)?"  # A date, or a time on it.
    r"|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"
    r"|\b\d+\.\d+ ?(?:s|ms|seconds)\b"
    rf"|\b[{_ID}]{{8}}-(?:[{_ID}]{{4}}-){{3}}[{_ID}]{{12}}\b"
    r"|\b0x[0-9a-f]{6,16}\b"
    r"|(?:/[^\s/:()\[\]\"']+)*/linnet-(?:bash|tool|sandbox)-\w+"
)
_RAN = "Ran `"  # Begins what a model is told of a command that the client ran.
_SHOWN = 60  # Characters of each text.
_BEFORE = 15  # Of these, before the first that differs.


def differences(was: Question, now: Question, match: Match = "strict", known: int = 0) -> list[str]:
    """Return what is different, as parts of a sentence; none if a model is asked the same. The first `known` messages
    were compared before.
    """
    if match == "none":
        return []
    summary = SYSTEM in (was.system, now.system)
    if match == "loose":
        if summary and was.system == now.system:
            return []
        said = [[each for each in asked.messages if each.role == "user"] for asked in (was, now)]
        return list(_messages(said[0], said[1], 0))
    found = []
    models = [f"{asked.model.provider}/{asked.model.id}" for asked in (was, now)]
    if models[0] != models[1]:
        found.append(f"the model was {models[0]} and is now {models[1]}")
    if was.reasoning != now.reasoning:
        found.append(f"the level of thinking was {was.reasoning} and is now {now.reasoning}")
    if not same(was.system, now.system):
        at = _first_difference(_settled(was.system), _settled(now.system))
        found.append(f"the system prompt differs from character {at + 1} on: it {_was_and_is(was.system, now.system)}")
    return [*found, *_tools(was.tools, now.tools), *_messages(was.messages, now.messages, known, spoken=not summary)]


def same(was: str, now: str, *, exactly: bool = False) -> bool:
    """Return whether two texts are the same, but for what differs from run to run."""
    if was == now:
        return True
    if not exactly:
        was, now = _settled(was), _settled(now)
    if _MARK not in was:
        return was == now
    return bool(re.fullmatch(".*".join(map(re.escape, was.split(_MARK))), now, re.DOTALL))


def _settled(text: str) -> str:
    return _VOLATILE.sub("…", text)


def _tools(was: Sequence[Tool], now: Sequence[Tool]) -> Iterator[str]:
    before, after = {tool.name: tool.digest for tool in was}, {tool.name: tool.digest for tool in now}
    yield from (f"the tool `{name}` is new" for name in after if name not in before)
    yield from (f"the tool `{name}` is gone" for name in before if name not in after)
    both = [name for name in before if name in after]
    yield from (f"the tool `{name}` is described differently" for name in both if before[name] != after[name])
    if both != [name for name in after if name in before]:
        yield "the tools are in another order"


def _messages(was: Sequence[Message], now: Sequence[Message], known: int, *, spoken: bool = True) -> Iterator[str]:
    """Yield the first message that differs, or how many there are more or less of them. `spoken`: those of the user are
    what the user says.
    """
    for number in range(known, min(len(was), len(now))):
        before, after = was[number], now[number]
        if before.role != after.role:
            yield f"message {number + 1} was {_whose(before)}, and is now {_whose(after)}: {_quoted(_shown(after))}"
            return
        texts = _shown(before), _shown(after)
        exactly = spoken and before.role == "user" and not texts[0].startswith(_RAN)
        if not same(*texts, exactly=exactly) or before.call_id != after.call_id:
            yield f"message {number + 1}, {_whose(after)}, {_was_and_is(*texts, exactly=exactly)}"
            return
    shorter, longer, change = (was, now, "new") if len(now) > len(was) else (now, was, "gone")
    if more := longer[len(shorter) :]:
        many = "1 message is" if len(more) == 1 else f"{len(more)} messages are"
        yield f"{many} {change}, the first of them {_whose(more[0])}: {_quoted(_shown(more[0]))}"


def _whose(message: Message) -> str:
    if message.role == "tool":
        return f"the answer of the tool `{message.name}`"
    return "the user's" if message.role == "user" else "the model's"


def _shown(message: Message) -> str:
    """Return a message as one text."""
    parts = []
    for part in message.content:
        match part:
            case Text(text) | Thinking(text):
                parts.append(text)
            case ToolCall():
                args = part.unparsed or encode(part.args, order="sorted").decode()
                parts.append(f"{part.name} {args}")
            case Image():
                parts.append(f"[{part.mime_type} {part.url or part.data}]")
    return "\n".join(["(an error)"] * message.is_error + parts)


def _was_and_is(was: str, now: str, *, exactly: bool = False) -> str:
    if exactly:
        at = _first_difference(was, now)
        return f"was {_quoted(was, at)} and is now {_quoted(now, at)}"
    return f"was {_quoted(was, _real(was, now))} and is now {_quoted(now, _real(now, was))}"


def _real(text: str, other: str) -> int:
    """Return where a text begins to differ in more than what differs from run to run."""
    settled = _first_difference(_settled(text), _settled(other))
    at = shift = 0
    for found in _VOLATILE.finditer(text):
        if found.start() - shift >= settled:
            break
        shift += len(found[0]) - 1
        at = found.end()
    return max(at, settled + shift)


def _first_difference(one: str, other: str) -> int:
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


def _quoted(text: str, at: int = 0) -> str:
    """Return the part of a text around this place, in quotes."""
    start = max(0, at - _BEFORE) if len(text) > _SHOWN else 0
    shown = text[start : start + _SHOWN]
    return f'"{"…" if start else ""}{shown}{"…" if start + _SHOWN < len(text) else ""}"'
