"""What zot itself printed, replayed against linnet: the same lines at the same points, the same frames.

A capture in `transcripts/` says what was sent (`in`), printed (`out`, `err`) and how it exited. A line is sent when all
that had been printed before it in the capture has been printed here too. The two tables below are the whole of what may
differ: UNSTABLE is not compared, and DIFFERENCES is what linnet prints on purpose where zot printed something else.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from linnet.testing.agent import Agent
from linnet.testing.replay import Difference, Frame, Joined, changed, load, printed, replaced, replay

CAPTURES = Path(__file__).parent / "transcripts"

UNSTABLE = {
    "time": "the moment; its form is checked",
    "version": "each program's own",
    "id, call_id": "made by the model's server; told apart by the order in which they appear",
    "input, output, cost_usd": "what the model's server counts, and its prompt is another; compared as none or some",
    "cwd": "the folder of the test",
    "Took 0.2s": "how long a command ran",
    "http 401: {…}": "the body is the model server's own",
    "deltas and progress": "how a text is cut into pieces, which are compared joined; a response may fall between two",
    "results of read, write and edit": "their wording; whether they are errors is compared",
    "reasons of refusals": "their wording, except the ones that zot's document or its clients quote (QUOTED)",
}
QUOTED = re.compile(
    r"unknown command|auth required: send hello with token first|invalid token|unknown model \"\w*\"|nothing to compact"
    r"|malformed json: |max steps \(\d+\) exceeded|\w+: http \d+: "
)
GROWING = {"text_delta": "delta", "tool_use_args": "delta", "tool_progress": "text"}
MADE_UP = "Tool output included the following image content:"
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


class Setup(NamedTuple):
    """What a capture needs besides its own words.

    `cut`: how far a reply got before its abort is a matter of timing. `vendor`: at the vendor's own address, since a
    server of one's own may have models that nobody listed, and zot does not think of that.
    """

    flags: tuple[str, ...] = ()
    env: dict[str, str] = {}  # noqa: RUF012 (never changed)
    files: dict[str, bytes] = {}  # noqa: RUF012
    differences: tuple[str, ...] = ()
    cut: bool = False
    vendor: bool = False


def terminated(frames: list[Frame]) -> list[Frame]:
    def is_last(frame: Frame) -> bool:
        return frame["type"] == "error" and str(frame["message"]).startswith("nothing to compact")

    return [new for frame in frames for new in ([frame, {"type": "done"}] if is_last(frame) else [frame])]


def failed(frames: list[Frame]) -> list[Frame]:
    end = [{"type": "turn_end", "stop": "error", "error": "…"}, {"type": "error", "message": "…"}]
    return [new for frame in frames for new in (end if frame["type"] == "turn_end" else [frame])]


def aborted(frames: list[Frame]) -> list[Frame]:
    end = [{"type": "turn_end", "stop": "aborted"}, {"type": "done"}]
    return [new for frame in frames for new in (end if frame["type"] == "done" else [frame])]


def not_made_up(frames: list[Frame]) -> list[Frame]:
    def spoken(frame: Frame) -> Frame:
        if frame.get("command") != "get_messages":
            return frame
        said = [m for m in frame["data"]["messages"] if m["content"][0].get("text") != MADE_UP]
        return {**frame, "data": {"messages": said}}

    return [spoken(frame) for frame in frames]


EVERYWHERE = {
    "end_turn": Difference(
        "the document says end_turn", changed(when={"type": "turn_end", "stop": "end"}, to={"stop": "end_turn"})
    ),
    "no error on abort": Difference(
        "an abort is not an error; zot shows Go's `context canceled`",
        changed(when={"type": "turn_end", "stop": "aborted"}, to={"error": None}),
    ),
    "compact has a terminator": Difference("zot's clients wait for ever after a failed compact", terminated),
}
HERE_AND_THERE = {
    "a cut stream is an error": Difference("the reply is not complete, and zot says it is", failed),
    "an abort in a tool ends the turn": Difference("the document promises turn_end aborted, then done", aborted),
    "an aborted command says so": Difference("zot shows an exit code of -1", replaced("[exit -1]", "[aborted]")),
    "a timeout says so": Difference("zot shows an exit code of -1", replaced("[exit -1]", "[timed out after 1s]")),
    "not busy after done": Difference("zot races with itself", replaced('"busy": true', '"busy": false')),
    "args are an object": Difference(
        "zot shows null where the model wrote no JSON", replaced('"args": null', '"args": {}')
    ),
    "mime type is found out": Difference(
        "an image without a type is known by its bytes", replaced('"mime_type": ""', '"mime_type": "image/png"')
    ),
    "no message is made up": Difference(
        "with OpenAI, zot puts results into the transcript once more, as if the user had sent them", not_made_up
    ),
    "write needs content": Difference(
        "zot empties the file when the model forgets it",
        changed(when={"type": "tool_result", "id": "toolu_1_1794774967779812"}, to={"is_error": True}),
    ),
    "one edit may be spelled as in pi": Difference(
        "models that learned it there write it so",
        changed(when={"type": "tool_result", "id": "toolu_1_1794774967836425"}, to={"is_error": False}),
    ),
    "cleared stays cleared": Difference(
        "the turn that a clear interrupts leaves no trace",
        changed(when={"command": "get_messages"}, to={"data": {"messages": []}}),
    ),
}
DIFFERENCES = EVERYWHERE | HERE_AND_THERE

PNG = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
SETUPS = {
    "abort_bash_trap": Setup(differences=("an abort in a tool ends the turn", "an aborted command says so")),
    "abort_during_toolargs": Setup(cut=True),
    "abort_queued": Setup(cut=True),
    "bad_model": Setup(vendor=True),
    "clear_while_busy": Setup(differences=("cleared stays cleared",)),
    "conn_refused": Setup(flags=("--retries", "0")),
    "drop": Setup(differences=("a cut stream is an error",)),
    "drop0": Setup(differences=("a cut stream is an error",)),
    "get_state": Setup(differences=("not busy after done",)),
    "openai_drop": Setup(differences=("a cut stream is an error",)),
    "openai_prompt_images": Setup(differences=("mime type is found out",)),
    "openai_tools_two": Setup(differences=("no message is made up",)),
    "prompt_images": Setup(differences=("mime type is found out",)),
    "token_absent_field": Setup(env={"ZOTCORE_RPC_TOKEN": "s3cret"}),
    "token_ok": Setup(env={"ZOTCORE_RPC_TOKEN": "s3cret"}),
    "tool_bash_fail": Setup(differences=("args are an object", "a timeout says so")),
    "tool_edit": Setup(
        files={
            "a.txt": "".join(f"l{n}\n" for n in range(1, 13)).encode() + b"dup\ndup\n",
            "crlf.txt": b"\xef\xbb\xbfa\r\nb\r\nc\r\n",
        },
        differences=("one edit may be spelled as in pi",),
    ),
    "tool_write": Setup(differences=("write needs content",)),
    "tool_read": Setup(
        files={"a.txt": b"one\ntwo\nthree\n", "bin": b"\0\1\2", "nonl": b"x", "i.png": PNG, "empty": b""}
    ),
}


def takes(last: Frame, frame: Frame) -> bool:
    field = GROWING.get(frame["type"])
    if not field or (last["type"], last.get("id")) != (frame["type"], frame.get("id")):
        return False
    last[field] += frame[field]
    return True


joined = partial(Joined, takes, ["response"])


def stable(frames: list[Frame], cwd: str, *, cut: bool) -> list[Frame]:
    """Without what UNSTABLE names, and with the pieces of a text joined."""
    calls: dict[str, str] = {}  # By the vendor's id: an id of our own.
    tools = {f["id"]: f["name"] for f in frames if f["type"] == "tool_use_start"}

    def number(id: str) -> str:
        return calls.setdefault(id, f"call {len(calls) + 1}")

    def plain(value: Any, key: str = "") -> Any:
        match value:
            case dict() if key == "args":
                return value
            case dict() if value.get("type") == "tool_result" and _worded(value, tools):
                return {name: "…" if name == "content" else plain(item, name) for name, item in value.items()}
            case dict():
                return {name: plain(item, name) for name, item in value.items()}
            case list():
                return [plain(item) for item in value]
            case str() if key in ("id", "call_id") and value in tools:
                return number(value)
            case str() if key == "time":
                return "TIME" if STAMP.fullmatch(value) else value
            case str() if key == "version":
                return "VERSION"
            case str() if key in ("error", "message"):
                quoted = QUOTED.match(value)
                return quoted[0] if quoted else "…"
            case str():
                text = re.sub(r"Took \d+\.\ds", "Took 0.0s", value.replace(cwd, "CWD"))
                return re.sub(r"^(w\d+ )+$", "w…", text) if cut else text
            case int() | float() if key in ("input", "output", "cost_usd") and value > 0:
                return "SOME"
            case _:
                return value

    out = [plain(frame) for frame in joined(frames).frames]
    if cut:
        out = [{**frame, "delta": "…"} if frame["type"] == "tool_use_args" else frame for frame in out]
    return out


def _worded(result: Frame, tools: dict[str, str]) -> bool:
    tool = tools.get(result["call_id"] if "call_id" in result else result["id"])
    said = [block.get("text", "") for block in result["content"]]
    return tool in ("read", "write", "edit") or (tool == "bash" and not said[0].startswith("$ "))


def expected(setup: Setup, frames: list[Frame]) -> list[Frame]:
    for name, difference in DIFFERENCES.items():
        if name in EVERYWHERE or name in setup.differences:
            frames = difference.expected(frames)
    return frames


def names() -> list[str]:
    return sorted(path.stem for path in CAPTURES.glob("*.jsonl"))


@pytest.fixture
def start(zot: Callable[..., Agent], spawn: Callable[..., Agent]) -> Callable[..., Agent]:
    def start(argv: list[str], flags: tuple[str, ...], env: dict[str, str]) -> Agent:
        """The server's address is only known now; without one, the capture had none either."""
        if "http://127.0.0.1:PORT" not in argv:
            return spawn(*argv, *flags, env=env)
        provider = argv[argv.index("--provider") + 1]
        return zot(*argv[argv.index("--api-key") + 2 :], *flags, provider=provider, env=env)

    return start


@pytest.mark.parametrize("name", names())
def test_linnet_prints_what_zot_printed(name: str, start: Callable[..., Agent], tmp_path: Path) -> None:
    setup, capture = SETUPS.get(name, Setup()), load(CAPTURES / f"{name}.jsonl")
    for file, data in setup.files.items():
        (tmp_path / "work" / file).write_bytes(data)
    argv = capture[0]["argv"]
    if setup.vendor:
        at = argv.index("--base-url")
        argv = argv[:at] + argv[at + 2 :]
    agent = start(argv, setup.flags, setup.env)
    replay(agent, capture, partial(expected, setup), joined)

    theirs = expected(setup, printed(capture))
    assert stable(agent.seen, str(tmp_path / "work"), cut=setup.cut) == stable(theirs, "CWD", cut=setup.cut)
    assert [agent.wait()] == [entry["exit"] for entry in capture if "exit" in entry]
    for line in (entry["err"] for entry in capture if "err" in entry):
        assert line.replace("zot:", "linnet:").partition(", or run `zot`")[0] in agent.stderr


def used() -> Iterator[str]:
    for name in names():
        frames = printed(load(CAPTURES / f"{name}.jsonl"))
        for difference in (*EVERYWHERE, *SETUPS.get(name, Setup()).differences):
            if DIFFERENCES[difference].expected(frames) != frames:
                yield difference


def test_every_difference_is_needed() -> None:
    assert set(used()) == set(DIFFERENCES)
    assert set(SETUPS) <= set(names())
