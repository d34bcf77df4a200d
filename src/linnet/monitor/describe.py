"""Describes a watch: in one line for people, in one object for programs. Pure."""

from typing import Any, assert_never

from msgspec import to_builtins

from linnet.monitor.states import (
    Asking,
    Compacting,
    Failed,
    Garbled,
    Gone,
    Idle,
    Refused,
    Retrying,
    Running,
    Speaking,
    Starting,
    State,
    Thinking,
)
from linnet.monitor.watch import Watch


def describe(watch: Watch, now: float) -> str:
    """Return one line without control characters: what the agent does, for how long, what it did, its last words."""
    parts = [f"{state_words(watch.state)}{_for(watch, now)}", *_sums(watch)]
    if watch.unmapped:
        unknown = ", ".join(f"{short(name) or '?'} ×{count:,}" for name, count in list(watch.unmapped.items())[:3])
        more = len(watch.unmapped) - 3
        parts.append(f"not in the table: {unknown}" + (f" and {more} more" if more > 0 else ""))
    if watch.skipped:
        parts.append(f"{watch.skipped / 1e6:,.0f} MB not looked at")
    if watch.words and not isinstance(watch.state, Starting):
        parts.append(f"“{short(watch.words[-60:])}”")
    return " · ".join(parts)


def snapshot(watch: Watch) -> dict[str, Any]:
    """Return everything that is known as plain JSON. `state` and its fields come first."""
    known = {name: value for name, value in to_builtins(watch).items() if not name.startswith("_")}
    del known["state"]
    times = {"at": round(known.pop("at"), 3), "since": round(known.pop("since"), 3)}
    return {**to_builtins(watch.state), **times, **known}


def state_words(state: State) -> str:
    """Return a state in words for people."""
    match state:
        case Starting():
            return "starting"
        case Idle(aborted):
            return "idle, aborted" if aborted else "idle"
        case Thinking():
            return "thinking"
        case Speaking():
            return "speaking"
        case Running(tool, _, _, others):
            return f"running {short(tool)}" + (f" and {others} more" if others else "")
        case Asking(question):
            return f"waiting for an answer: {short(question)}"
        case Retrying(attempt, attempts, delay, reason):
            return f"retrying ({attempt} of {attempts}, after {delay:g} s): {short(reason)}"
        case Compacting(reason):
            return f"compacting ({short(reason)})" if reason else "compacting"
        case Failed(reason):
            return f"failed: {short(reason)}"
        case Refused(command, reason, during):
            return f"refused {short(command) or 'a line'}: {short(reason)} (while {short(during)})"
        case Garbled(line, reason, during):
            return f"printed what is no JSON ({short(reason)}): {short(line[:60])} (while {short(during)})"
        case Gone(code, during):
            ending = "gone" if code is None else f"gone, exit {code}"
            return f"{ending}, while {short(during)}" if during else ending
        case _:
            assert_never(state)


def duration(seconds: float) -> str:
    """Return a duration in words, in whole units; a negative one, of a clock that jumped back, is 0."""
    whole = int(max(0.0, min(seconds, 1e9)))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def short(text: str) -> str:
    """Return a text on one line, with nothing in it that would move a cursor."""
    return "".join(char if char.isprintable() else " " for char in text).strip()


def _for(watch: Watch, now: float) -> str:
    """Say for how long the state has lasted; nothing below a second."""
    lasted = now - watch.since
    return f" for {duration(lasted)}" if lasted >= 1 and not isinstance(watch.state, Gone) else ""


def _sums(watch: Watch) -> list[str]:
    """Return what was counted, in words, without what is 0."""
    spent = watch.spent
    counted = (
        (watch.turns, "turn"),
        (watch.tools, "tool"),
        (watch.failures, "failure"),
        (watch.retries, "try again"),
        (watch.compactions, "compaction"),
        (watch.refusals, "refusal"),
        (watch.garbled, "line that is no JSON"),
    )
    sums = [f"{count:,} {plural(what, count)}" for count, what in counted if count]
    if spent.input or spent.output:
        sums.append(f"{spent.input + spent.cache_read + spent.cache_write:,} tokens in, {spent.output:,} out")
    if spent.cost or not spent.cost_known:
        paid = f"${spent.cost:.4f}" if spent.cost else ""
        sums.append(paid if spent.cost_known else f"{paid} + ?" if paid else "$?")
    return sums


def plural(what: str, count: int) -> str:
    odd = {"try again": "tries again", "line that is no JSON": "lines that are no JSON"}
    return what if count == 1 else odd.get(what, what + "s")
