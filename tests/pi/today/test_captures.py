"""What pi 1.5.0 and 0.87.1 printed, replayed against linnet-pi: the same lines at the same points, the same frames.

`captures/` has what was sent and printed, `differences.toml` all in which linnet differs on purpose, and SETUPS what a
capture needs besides its own words.
"""

import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer
from tests.pi.today.compared import Frame, Joined, differences
from tests.pi.today.replayed import CAPTURES, Replay, load, printed

PRICES = {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
LARGE = {"context_window": 200000, "max_output": 16384}
SMALL = {"context_window": 24000, "max_output": 4096, "images": False}
CHEAP = {"input": 1, "output": 2, "cache_read": 0.1}
OPEN = {"context_window": 200000, "max_output": 32000, "images": False, "prices": CHEAP}
MODELS: list[dict[str, Any]] = [
    {"provider": "anthropic", "id": "scripted", "name": "Scripted A", **LARGE, "reasoning": True, "prices": PRICES},
    {"provider": "anthropic", "id": "small", "name": "Scripted small", **SMALL, "prices": PRICES},
    {"provider": "openai", "id": "scripted", "name": "Scripted O", **OPEN},
]
KEEP = ("--compact-keep", "3000")
FAILING = ("!err 529 overloaded", "", "!err 401 no", *["!err 500 no"] * 4, "!drop 0", "")


class Setup(NamedTuple):
    """What a capture needs besides its own words.

    `files` are in the folder, `summaries` is what the model does when it is asked for one. `cut`: how far a reply got
    before its abort is a matter of timing. Not `in_order`: lines were sent in one write, and pi answers such lines when
    each is done. `racing`: which of several calls ends first is up to the machine.
    """

    flags: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    summaries: tuple[str, ...] = ()
    cut: bool = False
    in_order: bool = True
    racing: bool = False


AT_ONCE = Setup(in_order=False)
CUT = Setup(cut=True)
SETUPS = {
    "abort_fast_stream_15": CUT,
    "abort_queue_next_prompt_15": CUT,
    "abort_queue_next_prompt_87": CUT,
    "abort_stream_15": CUT,
    "eof_streaming_15": CUT,
    "json_sigterm_15": CUT,
    "compact_before_prompt_15": Setup(KEEP),
    "compact_fail_15": Setup(KEEP, summaries=FAILING),
    "compact_length_15": Setup(KEEP),
    "compact_manual_15": Setup(KEEP, in_order=False),
    "compact_overflow_15": Setup(KEEP),
    "abort_midrun_compaction_15": Setup(KEEP, files=(("b.txt", "y " * 6000),), summaries=("!hanghead",)),
    "abort_overflow_compaction_15": Setup(KEEP, summaries=("!hanghead",)),
    "images_15": AT_ONCE,  # Of what pi refuses linnet runs one, and answers the next prompts while that goes on.
    "onewrite_bash_prompt_15": AT_ONCE,
    "tools_fail_15": Setup(files=(("a.txt", "one\ntwo\none\n"),)),
    "compact_threshold_15": Setup(KEEP),
    "compact_threshold_midrun_15": Setup(KEEP, files=(("b.txt", "y " * 6000),)),
    "compact_while_streaming_15": Setup(KEEP, cut=True),
    "concurrency_15": AT_ONCE,
    "onewrite_prompt_eof_like_15": AT_ONCE,
    "onewrite_prompt_followup_15": AT_ONCE,
    "onewrite_prompt_newsession_15": AT_ONCE,
    "onewrite_prompt_prompt_steer_15": AT_ONCE,
    "onewrite_prompt_state_15": AT_ONCE,
    "queue_clear_abort_15": CUT,
    "reconstruct_fakea_15": Setup(racing=True),
}


class Difference(NamedTuple):
    name: str
    line: re.Pattern[str]
    captures: tuple[str, ...]


@cache
def table() -> tuple[Difference, ...]:
    rows = tomllib.loads((CAPTURES.parent / "differences.toml").read_text())["difference"]
    assert all(row["reason"] for row in rows)
    return tuple(Difference(row["name"], re.compile(row["line"]), tuple(row.get("captures", ()))) for row in rows)


def allowed(name: str, line: str) -> str | None:
    """Return the row that a difference is on."""
    for row in table():
        if row.line.search(line) and (not row.captures or name in row.captures):
            return row.name
    return None


def names() -> list[str]:
    return sorted(path.stem for path in CAPTURES.glob("*.jsonl"))


def short(value: Any) -> Any:
    """Return frames without how far a reply of numbered words got."""
    match value:
        case dict():
            return {name: short(item) for name, item in value.items()}
        case list():
            return [short(item) for item in value]
        case str():
            return (
                "w…" if value.startswith("w") and re.fullmatch(r"(w\d* ?|\d+ |…(\[\d+ chars\]…)?)+", value) else value
            )
        case _:
            return value


def in_order_of_calls(frames: list[Frame]) -> list[Frame]:
    """Return frames with the ends of calls in the order of the calls, and without what they told before."""
    out: list[Frame] = []
    begun: list[str] = []
    for frame in frames:
        if frame["type"] == "tool_execution_start":
            begun.append(frame["toolCallId"])
        if frame["type"] == "tool_execution_update":
            continue
        at = len(out)
        if frame["type"] == "tool_execution_end":
            nth = begun.index(frame["toolCallId"])
            while out[at - 1]["type"] == "tool_execution_end" and begun.index(out[at - 1]["toolCallId"]) > nth:
                at -= 1
        out.insert(at, frame)
    return out


def told_before(frames: list[Frame]) -> list[Frame]:
    """Return frames with what was taken from a queue before the turn that it opens, all of it in one update."""
    out: list[Frame] = []
    for frame in frames:
        at = len(out)
        while at and out[at - 1].get("message", {}).get("role") == "user":
            at -= 1
        if frame["type"] != "queue_update" or not at or out[at - 1]["type"] != "turn_start":
            out.append(frame)
        elif out[at - 2]["type"] == "queue_update":
            out[at - 2] = frame
        else:
            out.insert(at - 1, frame)
    return out


Differing = Callable[[str], Iterator[str]]


@pytest.fixture
def differing(pi: Callable[..., Agent], server: ModelServer, tmp_path: Path) -> Differing:
    def differing(name: str) -> Iterator[str]:
        """Yield in what linnet's frames differ from those of a capture."""
        setup, capture = SETUPS.get(name, Setup()), load(name)
        server.summaries += setup.summaries
        for file, text in setup.files:
            (tmp_path / "work" / file).write_text(text)
        argv = shlex.split(capture[0]["argv"])
        provider = argv[argv.index("--provider") + 1] if "--provider" in argv else "anthropic"
        kept = [word for word in argv if word not in ("--provider", provider)]
        url = ("--base-url", f"{server.url}/v1") if provider == "openai" else ()
        dialect = "pi-0.87" if name.endswith("_87") else "pi-1"
        flags = ("--dialect", dialect, "--thinking", "medium", *url, *setup.flags)
        agent = pi(*kept, *flags, provider=provider, extra_models=MODELS)
        if "json" in argv:
            agent.end_input()
        replay = Replay(agent, capture)
        theirs, ours = told_before(printed(capture)), replay.run()
        if setup.racing:
            theirs, ours = in_order_of_calls(theirs), in_order_of_calls(ours)
        if setup.cut:
            theirs, ours = (short(Joined(frames).frames) for frames in (theirs, ours))
        yield from differences(theirs, ours, in_order=setup.in_order)
        yield from (f"late: {line}" for line in replay.late)
        if [agent.wait()] != [entry["exit"] for entry in capture if "exit" in entry]:
            yield f"it exited with {agent.wait()}"

    return differing


def test_readers_are_told_of_every_difference() -> None:
    page = (Path(__file__).parents[3] / "docs" / "compatibility.md").read_text()
    assert [row.name for row in table() if f"| {row.name} |" not in page] == []


def test_what_is_said_of_captures_is_said_of_some_that_are_there() -> None:
    assert set(SETUPS) <= set(names())
    assert {name for row in table() for name in row.captures} <= set(names())


@pytest.mark.parametrize("name", names())
def test_linnet_prints_what_pi_printed(name: str, differing: Differing) -> None:
    assert [line for line in differing(name) if allowed(name, line) is None] == []
