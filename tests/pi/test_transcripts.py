"""What pi itself printed, replayed against linnet: the same lines at the same points, the same frames.

A capture in `transcripts/` says what was sent (`in`), printed (`out`) and how it exited; the number in its name is the
version of pi. The three tables below are the whole of what may differ: UNSTABLE is not compared, DIFFERENCES is what
linnet prints on purpose where pi printed something else, and ADDED what it prints besides.
"""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer
from linnet.testing.replay import Difference, Frame, Frames, Joined, changed, load, printed, replaced, replay

CAPTURES = Path(__file__).parent / "transcripts"

UNSTABLE = {
    "timestamp": "the moment",
    "toolCallId, sessionId, entryId": "made up by each program; told apart by the order in which they appear",
    "sessionFile": "the moment in its name, and where the folder of sessions is",
    "usage, tokens, cost, tokensBefore": "what a model's server counts; their names are compared",
    "delayMs": "a setting; compared as a multiple of the first",
    "baseUrl, folders": "those of the test",
    "deltas and tool updates": "how an output is cut into pieces, which are compared joined",
    "responses and queue updates inside a message or an execution": "when exactly they fall there",
    "message and partial of an update": "left out of the captures, for their size; test_prompting has them",
    "details of a result": "each tool's own; test_promises has those of the document",
    "output of a command that was cancelled": "how far it got",
    "errors of models and tools": "their wording, except what pi's clients may look for (QUOTED)",
    "summary": "the words around the model's own",
    "reasons of refusals": "their wording, except what pi's document or its clients quote",
}
QUOTED = re.compile(
    r"(?s:.*)(?:Command exited with code \d+|Command timed out after \d+ seconds|Command aborted)"
    r"|Tool \w+ not found|Skipped due to queued user message\.|Not run: the turn was aborted\."
    r"|Request was aborted\.|Agent is already processing|Model not found: |Unknown command: |Already compacted"
    r"|Cannot export in-memory session to HTML|Failed to parse command: "
)
STATUS = re.compile(r"(?:\w+: http )?(\d{3})\b")
FALLING = ("response", "queue_update")
GROWING = ("message_update", "tool_execution_update")
LISTS = ("get_branch_messages", "get_fork_messages")


class Setup(NamedTuple):
    """What a capture needs besides its own words.

    `cut`: how far a reply got before its abort is a matter of timing. `after`: the capture that it goes on from.
    `at_once`: commands were sent in one breath, and how far the first one's run is when the last is answered is a
    matter of timing, too.
    """

    flags: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    cut: bool = False
    after: str = ""
    at_once: bool = False


def everywhere(change: Callable[[Frame], Frame]) -> Frames:
    """Every object of every frame, from the inside out."""

    def walk(value: Any) -> Any:
        match value:
            case dict():
                return change({name: walk(item) for name, item in value.items()})
            case list():
                return [walk(item) for item in value]
            case _:
                return value

    return lambda frames: [walk(frame) for frame in frames]


def without(*fields: str) -> Frames:
    return everywhere(lambda found: {name: value for name, value in found.items() if name not in fields})


def answered(frames: list[Frame]) -> list[Frame]:
    """An abort's response where the run had got to: after its last update, or the start of its last message."""
    out: list[Frame] = []
    for frame in frames:
        if frame.get("command") != "abort" or not out or out[-1]["type"] != "agent_end":
            out.append(frame)
            continue
        kinds = [each["type"] for each in out]
        in_run = range(len(kinds) - 1 - kinds[::-1].index("agent_start"), len(kinds))
        grown = [at for at in in_run if kinds[at] in GROWING]
        started = [at for at in in_run if kinds[at] == "message_start"]
        at = (grown or started)[-1] + 1
        while kinds[at] in FALLING:
            at += 1
        out.insert(at, frame)
    return out


def nulls(found: Frame) -> Frame:
    if found.get("role") == "bashExecution":
        return {"exitCode": None, "fullOutputPath": None, **found}
    return {"exitCode": None, **found} if {"output", "cancelled", "truncated"} <= found.keys() else found


def attached(found: Frame) -> Frame:
    return {**found, "attachments": []} if found.get("role") == "user" else found


def begun(frames: list[Frame]) -> list[Frame]:
    def begin(frame: Frame) -> Frame:
        message = frame.get("message", {})
        if frame["type"] != "message_start" or message.get("stopReason") != "error":
            return frame
        kept = {name: value for name, value in message.items() if name != "errorMessage"}
        return {**frame, "message": {**kept, "stopReason": "stop"}}

    return [begin(frame) for frame in frames]


def once(frames: list[Frame]) -> list[Frame]:
    """Where a command has two responses, only the refusal, in the place of the first."""
    refused = {frame["id"]: frame for frame in frames if frame.get("success") is False}
    seen: set[Any] = set()
    out: list[Frame] = []
    for frame in frames:
        id = frame.get("id")
        if id not in seen:
            out.append(refused.get(id, frame))
        if id in refused:
            seen.add(id)
    return out


def told_before(frames: list[Frame]) -> list[Frame]:
    """What was taken from a queue, before the turn that it opens, and all of it in one update."""
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


def uncounted(frame: Frame) -> Frame:
    """Whether a prompt counts yet when the next line of the same write is answered is up to the machine."""
    if frame.get("command") != "get_state" or not frame["data"]["isStreaming"]:
        return frame
    return {**frame, "data": {**frame["data"], "messageCount": "COUNT"}}


def streaming(frame: Frame) -> Frame:
    return {**frame, "data": {**frame["data"], "isStreaming": True}} if frame.get("id") == "s2" else frame


def cancelled(found: Frame) -> Frame:
    late = found.get("output") == "one\n"
    return {**found, "exitCode": None, "cancelled": True} if late else found


def killed(found: Frame) -> Frame:
    by_itself = found.get("cancelled") is True and found.get("output") == ""
    return {**found, "exitCode": 137, "cancelled": False} if by_itself else found


def exported(frames: list[Frame]) -> list[Frame]:
    reason = "Cannot export in-memory session to HTML"
    ids = iter(("c2", "c9"))
    return [
        {**frame, "id": next(ids), "command": "export_html", "error": reason}
        if frame.get("error") == f"Failed to parse command: {reason}"
        else frame
        for frame in frames
    ]


EVERYWHERE = {
    "no text is null": Difference(
        "the document says null; pi leaves it out",
        changed(when={"command": "get_last_assistant_text", "data": {}}, to={"data": {"text": None}}),
    ),
    "an abort is answered at once": Difference("the client knows it was heard; pi answers after the run", answered),
    "absent is null": Difference("as the document has them; pi leaves them out", everywhere(nulls)),
    "a message starts empty": Difference("nobody can know then how it will end", begun),
    "a user message has attachments": Difference("as the document shows it; pi leaves them out", everywhere(attached)),
    "no ids of responses": Difference("later versions have them; the document does not", without("responseId")),
}
HERE_AND_THERE = {
    "one response": Difference("pi 0.37 takes a refusal back, or a promise", once),
    "streaming from the prompt on": Difference(
        "pi says it only when the run has begun", lambda frames: [streaming(frame) for frame in frames]
    ),
    "errors keep their id": Difference(
        "pi 0.37 calls them parse errors",
        changed(
            when={"error": "Failed to parse command: Already compacted"},
            to={"id": "c12", "command": "compact", "error": "Already compacted"},
        ),
    ),
    "refusals keep their id": Difference(
        "pi 0.37 calls them parse errors, so that nobody knows which export it was", exported
    ),
    "what is dropped does not wait": Difference(
        "an abort drops what was queued; pi surprises the next prompt with it",
        replaced('"pendingMessageCount": 1', '"pendingMessageCount": 0'),
    ),
    "calls after an abort are not run": Difference(
        "they have a text of their own", replaced('"Command aborted"', '"Not run: the turn was aborted."')
    ),
    "abort_bash reaches every command": Difference("pi aborts the newest only", everywhere(cancelled)),
    "killed is not cancelled": Difference("nobody cancelled it; 137 is what a shell says", everywhere(killed)),
    "told before the turn": Difference("the queue has changed by then; one change is one update", told_before),
    "modes are checked": Difference("pi takes any word", replaced('Mode": "bogus"', 'Mode": "one-at-a-time"')),
    "a picture has a name": Difference(
        "the model may be shown several", replaced("Read image file [image/png]", "a.png (image/png, 100 bytes)")
    ),
    "no summary of nothing": Difference(
        "pi 0.37 compacts an empty session, and counts the summary",
        replaced('"totalMessages": 9', '"totalMessages": 8'),
    ),
}
DIFFERENCES = EVERYWHERE | HERE_AND_THERE
ADDED = {
    "queue_update": "what is queued, taken and dropped; later versions of pi tell it too, see the captures of 0.73"
}

QUEUED = ("told before the turn",)
SETUPS = {
    "abort_stream_37": Setup(differences=("what is dropped does not wait",), added=("queue_update",), cut=True),
    "abort_tool_37": Setup(differences=("calls after an abort are not run",)),
    "bash_cmd_37": Setup(differences=("abort_bash reaches every command", "killed is not cancelled")),
    "compact_manual_37": Setup(
        flags=("--compact-keep", "10"), differences=("errors keep their id", "no summary of nothing")
    ),
    "compact_overflow_37": Setup(flags=("--compact-keep", "10")),
    "concurrency_37": Setup(differences=("one response", "streaming from the prompt on"), at_once=True),
    "models_37": Setup(differences=("modes are checked",)),
    "nosession_cmds_37": Setup(differences=("refusals keep their id",)),
    "nosession_cmds_73": Setup(flags=("--thinking", "medium")),
    "noserver_37": Setup(flags=("--base-url", "http://127.0.0.1:9")),
    "png_37": Setup(differences=("a picture has a name",)),
    "session_resume_73": Setup(flags=("--thinking", "medium")),
    "session_resume_c_37": Setup(after="session_resume_37"),
    "session_resume_c_73": Setup(after="session_resume_73"),
    "steer_all_73": Setup(flags=("--thinking", "medium"), differences=QUEUED),
    "steer_two_tools_37": Setup(added=("queue_update",)),
    "stream_followup_73": Setup(flags=("--thinking", "medium"), differences=QUEUED),
    "stream_prompt_37": Setup(differences=("one response",)),
    "stream_steer_37": Setup(added=("queue_update",)),
    "stream_steer_73": Setup(flags=("--thinking", "medium"), differences=QUEUED),
    "weird_73": Setup(flags=("--thinking", "medium")),
}
PRICES = {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
LARGE = {"context_window": 200000, "max_output": 16384}
MODELS: list[Frame] = [
    {"provider": "anthropic", "id": "scripted", "name": "Scripted A", **LARGE, "reasoning": True, "prices": PRICES},
    {
        "provider": "anthropic",
        "id": "small",
        "name": "Scripted small",
        "context_window": 20000,
        "max_output": 4096,
        "images": False,
        "prices": PRICES,
    },
    {
        "provider": "openai",
        "id": "scripted",
        "name": "Scripted O",
        **LARGE,
        "prices": {"input": 1, "output": 2, "cache_read": 0.1},
    },
]


def takes(last: Frame, frame: Frame) -> bool:
    if last["type"] != frame["type"]:
        return False
    match frame:
        case {"type": "message_update", "assistantMessageEvent": {"delta": delta, "contentIndex": index, **event}}:
            growing = last["assistantMessageEvent"]
            if (growing["type"], growing["contentIndex"]) != (event["type"], index):
                return False
            growing["delta"] += delta
            return True
        case {"type": "tool_execution_update", "toolCallId": id, "partialResult": result} if id == last["toolCallId"]:
            last["partialResult"] = result
            return True
        case _:
            return False


joined = partial(Joined, takes, FALLING)


def settled(frames: list[Frame]) -> list[Frame]:
    """What falls into a message or an execution comes after its last update."""
    out: list[Frame] = []
    held: list[Frame] = []
    for frame in frames:
        if frame["type"] in FALLING and out and out[-1]["type"] in GROWING:
            held.append(frame)
            continue
        if frame["type"] not in GROWING:
            out += sorted(held, key=lambda each: FALLING.index(each["type"]))
            held = []
        out.append(frame)
    return out + held


def answers_first(frames: list[Frame]) -> list[Frame]:
    return sorted(frames, key=lambda frame: frame["type"] != "response")


class Stable:
    """Frames without what UNSTABLE names."""

    def __init__(self, cwd: str, url: str, *, cut: bool) -> None:
        self._cwd = cwd
        self._url = url
        self._cut = cut
        self._names: dict[tuple[str, Any], str] = {}
        self._first_delay = 0

    def __call__(self, frames: list[Frame]) -> list[Frame]:
        return [self._plain(self._bare(frame)) for frame in settled(joined(frames).frames)]

    def _bare(self, frame: Frame) -> Frame:
        if frame["type"] != "message_update":
            return frame
        event = {name: value for name, value in frame["assistantMessageEvent"].items() if name != "partial"}
        return {"type": frame["type"], "assistantMessageEvent": event}

    def _name(self, kind: str, value: Any) -> str:
        known = sum(key[0] == kind for key in self._names)
        return self._names.setdefault((kind, value), f"{kind} {known + 1}")

    def _plain(self, value: Any, key: str = "") -> Any:
        match value:
            case dict() if key in ("usage", "tokens"):
                return {name: self._plain(item, "usage") for name, item in value.items()}
            case dict():
                return self._object(value)
            case list():
                return [self._plain(item, key) for item in value]
            case bool():
                return value
            case int() | float() if key in ("usage", "tokensBefore", "cost"):
                return "NUMBER"
            case int() if key == "timestamp":
                return "TIME"
            case int() if key == "delayMs":
                self._first_delay = self._first_delay or value
                return value / self._first_delay
            case str():
                return self._text(value, key)
            case _:
                return value

    def _object(self, found: Frame) -> Frame:
        if found.get("type") == "toolCall":
            found = {**found, "id": self._name("call", found["id"])}
        if found.get("cancelled") is True and "output" in found:
            found = {**found, "output": "…"}
        if found.get("isError"):
            found = json.loads(json.dumps(found))
            for block in (found.get("result") or found)["content"]:
                block["text"] = _quoted(block["text"])
        return {name: self._plain(value, name) for name, value in found.items() if name != "details" or _listed(value)}

    def _text(self, text: str, key: str) -> str:
        match key:
            case "toolCallId":
                return self._name("call", text)
            case "sessionId":
                return self._name("session", text)
            case "sessionFile":
                return self._file(text)
            case "entryId":
                return self._name("entry", text)
            case "firstKeptEntryId":
                return "ENTRY" if re.fullmatch("[0-9a-f]{8}", text) else text
            case "summary":
                return " ".join(re.findall("SUMMARY: scripted", text))
            case "errorMessage" | "finalError" | "error":
                return _quoted(text)
            case _:
                text = text.replace(self._cwd, "CWD").replace(self._url, "http://127.0.0.1:PORT")
                return re.sub(r"^(w\d+ ?)+$", "w…", text) if self._cut else text

    def _file(self, path: str) -> str:
        folder, _, name = path.rpartition("/")
        parts = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z)_(.+)\.jsonl", name)
        assert parts, path
        place = "CWD" if folder == self._cwd else "SESSIONS"
        return f"{place}/TIME_{self._name('session', parts[2])}.jsonl"


def _quoted(text: str) -> str:
    """As much of it as clients may look for."""
    found = QUOTED.match(text) or STATUS.match(text)
    return (found[1] if found.re is STATUS else found[0]) if found else "…"


def _listed(details: Any) -> bool:
    """Those of a compaction; those of a tool are its own."""
    return isinstance(details, dict) and "readFiles" in details


def expected(setup: Setup, frames: list[Frame]) -> list[Frame]:
    for name, difference in DIFFERENCES.items():
        if name in EVERYWHERE or name in setup.differences:
            frames = difference.expected(frames)
    return frames


def names() -> list[str]:
    return sorted(path.stem for path in CAPTURES.glob("*.jsonl"))


def pictures(capture: list[Frame]) -> dict[str, bytes]:
    """The file that a capture's model looks at, out of what it saw."""
    seen = re.search(r'"data":\s*"([\w+/=]+)"', json.dumps(capture))
    return {"a.png": b64decode(seen[1])} if seen else {}


Start = Callable[[list[str], tuple[str, ...]], Agent]


@pytest.fixture
def start(pi: Callable[..., Agent], server: ModelServer, tmp_path: Path) -> Start:
    def start(argv: list[str], flags: tuple[str, ...]) -> Agent:
        """The server's address is only known now; pi was told of it in a file."""
        at = argv.index("--provider") if "--provider" in argv else len(argv)
        provider = next(iter(argv[at + 1 : at + 2]), "anthropic")
        url = ("--base-url", f"{server.url}/v1") if provider == "openai" else ()
        rest = [word for word in argv[:at] + argv[at + 2 :] if word not in ("--mode", "rpc")]
        rest = [str(tmp_path / "work") if word == "CWD" else word for word in rest]
        return pi(*rest, *url, *flags, provider=provider, extra_models=MODELS)

    return start


class Entries:
    """A command names an entry by the id that it was told; ours is the one in the same place."""

    def __init__(self, agent: Agent, capture: list[Frame]) -> None:
        self._agent = agent
        self._theirs = self._told(printed(capture))

    def __call__(self, command: Any) -> Any:
        match command:
            case {"entryId": id}:
                return {**command, "entryId": self._told(self._agent.seen)[self._theirs.index(id)]}
            case _:
                return command

    def _told(self, frames: list[Frame]) -> list[str]:
        listed = (frame["data"]["messages"] for frame in frames if frame.get("command") in LISTS)
        return [message["entryId"] for messages in listed for message in messages]


def replayed(name: str, start: Start) -> Agent:
    setup, capture = SETUPS.get(name, Setup()), load(CAPTURES / f"{name}.jsonl")
    agent = start(capture[0]["argv"], setup.flags)
    replay(agent, capture, partial(expected, setup), joined, setup.added, Entries(agent, capture))
    return agent


@pytest.mark.parametrize("name", names())
def test_linnet_prints_what_pi_printed(name: str, start: Start, server: ModelServer, tmp_path: Path) -> None:
    setup, capture = SETUPS.get(name, Setup()), load(CAPTURES / f"{name}.jsonl")
    for file, data in pictures(capture).items():
        (tmp_path / "work" / file).write_bytes(data)
    if setup.after:
        replayed(setup.after, start).wait()
    agent = replayed(name, start)

    ours = [frame for frame in agent.seen if frame["type"] not in setup.added]
    theirs = expected(setup, printed(capture))
    if setup.at_once:
        ours, theirs = (list(map(uncounted, answers_first(frames))) for frames in (ours, theirs))
    stable = partial(Stable, cut=setup.cut)
    assert stable(str(tmp_path / "work"), server.url)(ours) == stable("CWD", "http://127.0.0.1:PORT")(theirs)
    assert {frame["type"] for frame in agent.seen} >= set(setup.added)
    assert [agent.wait()] == [entry["exit"] for entry in capture if "exit" in entry]


def used() -> Iterator[tuple[str, str]]:
    for name in names():
        setup, frames = SETUPS.get(name, Setup()), printed(load(CAPTURES / f"{name}.jsonl"))
        for difference in (*EVERYWHERE, *setup.differences):
            if DIFFERENCES[difference].expected(frames) != frames:
                yield name, difference


def test_every_difference_is_needed() -> None:
    needed = set(used())
    assert {difference for _, difference in needed} == set(DIFFERENCES)
    assert {(name, each) for name, setup in SETUPS.items() for each in setup.differences} <= needed
    assert {added for setup in SETUPS.values() for added in setup.added} == set(ADDED)
    assert set(SETUPS) <= set(names())
