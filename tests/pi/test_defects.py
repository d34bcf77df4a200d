"""What is wrong with pi, by the number it has in the list of observations, and right here.

10, 11 and 15 are about sessions on disk and extensions.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame, types
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import marked, wait_until

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "source": {"type": "base64", "mediaType": "image/png", "data": PNG}}
BUSY = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
MOST_MEMORY = 60_000  # KB; pi takes 540 MB for 5,000 deltas.
FIELDS = {
    "text": {"type", "text"},
    "thinking": {"type", "thinking", "thinkingSignature"},
    "toolCall": {"type", "id", "name", "arguments"},
}


def run(agent: Agent, message: str, **fields: Any) -> list[Frame]:
    agent.send({"id": "p", "type": "prompt", "message": message, **fields})
    return agent.until("agent_end")


def said(frames: list[Frame]) -> list[str]:
    """The texts of user messages, in the order they were delivered."""
    ends = [frame["message"] for frame in frames if frame["type"] == "message_end"]
    return [message["content"][0]["text"] for message in ends if message["role"] == "user"]


def responses(frames: list[Frame]) -> list[Frame]:
    return [frame for frame in frames if frame["type"] == "response"]


def raw(agent: Agent, last: bytes = b'"type":"agent_end"') -> bytes:
    """Every byte up to the end of the line that says this."""
    assert agent.process.stdout
    data = bytearray()
    found, seen = -1, 0
    while found < 0 or not data.endswith(b"\n"):
        chunk = os.read(agent.process.stdout.fileno(), 1 << 20)
        assert chunk, "stdout ended"
        data += chunk
        found = max(found, data.find(last, seen))
        seen = max(0, len(data) - len(last))
    return bytes(data)


def peak(agent: Agent) -> int:
    """The most memory that the process ever held, in KB."""
    status = Path(f"/proc/{agent.process.pid}/status").read_text()
    (size,) = re.findall(r"VmHWM:\s*(\d+) kB", status)
    return int(size)


def wait_until_it_rests(agent: Agent) -> None:
    """Nobody reads its stdout, so nothing there can tell; a process that uses no processor waits for something."""
    spent: list[bytes] = []

    def rests() -> bool:
        fields = Path(f"/proc/{agent.process.pid}/stat").read_bytes().rpartition(b")")[2].split()
        spent.append(b" ".join(fields[11:13]))
        return fields[0] == b"S" and len(spent) > 50 and len(set(spent[-50:])) == 1

    wait_until(rests)


@pytest.mark.parametrize("directive", ["!text {}", "!toolargs {}"])
def test_01_what_is_written_grows_with_what_is_said_and_no_faster(pi: Callable[..., Agent], directive: str) -> None:
    sizes = []
    for count in (500, 2000):
        agent = pi("--stream", "deltas", "--no-tools")
        agent.send({"type": "prompt", "message": directive.format(count)})
        sizes.append(len(raw(agent)))
    assert sizes[1] < 4.5 * sizes[0]
    assert sizes[1] < 2000 * 200


def test_01_memory_stays_flat_in_the_documented_shape_even_if_nobody_reads_for_a_while(
    pi: Callable[..., Agent],
) -> None:
    agent = pi()
    agent.send({"type": "prompt", "message": "!text 3000"})
    wait_until_it_rests(agent)
    frames = agent.until("agent_end")
    assert peak(agent) < MOST_MEMORY
    updates = [frame for frame in frames if frame["type"] == "message_update"]
    assert len(updates) == 3002
    assert all(frame["message"] == frame["assistantMessageEvent"]["partial"] for frame in updates)
    assert updates[-1]["message"]["content"] == frames[-1]["messages"][-1]["content"]


class Fold:
    """What a client knows of a reply from its deltas alone, up to this moment."""

    def __init__(self) -> None:
        self.blocks: list[Frame] = []
        self.args: dict[int, str] = {}

    def add(self, event: Frame) -> None:
        index, kind = event["contentIndex"], event["type"]
        match kind.split("_"):
            case ["toolcall", "start"]:
                self.blocks.append({"type": "toolCall"})
                self.args[index] = ""
            case [name, "start"]:
                self.blocks.append({"type": name, name: ""})
            case ["toolcall", "delta"]:
                self.args[index] += event["delta"]
            case [name, "delta"]:
                self.blocks[index][name] += event["delta"]
            case ["toolcall", "end"]:
                assert parsed(self.args.pop(index)) == event["toolCall"]["arguments"]
                self.blocks[index] = event["toolCall"]
            case [name, "end"]:
                assert event["content"] == self.blocks[index][name]
            case _:
                raise AssertionError(f"no update is called {kind}")

    def check(self, content: list[Frame]) -> None:
        assert len(content) == len(self.blocks)
        for index, (shown, known) in enumerate(zip(content, self.blocks, strict=True)):
            assert set(shown) <= FIELDS[shown["type"]]
            if index in self.args:
                self.check_arguments(shown["arguments"], self.args[index])
            else:
                assert {name: shown[name] for name in known} == known

    def check_arguments(self, shown: dict[str, Any], received: str) -> None:
        """All of it has been received by now, and of what has been received nothing is missing but an open end."""
        for name, value in shown.items():
            assert json.dumps(name) in received
            assert json.dumps(value)[1:-1] in received
        opened = re.fullmatch(r'\{"path": ?"big.txt", ?"content": ?"(x*)', received)
        if opened:
            assert shown == {"path": "big.txt", "content": opened[1]}


def parsed(arguments: str) -> Any:
    """Nothing, if they were cut off."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return {}


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize(
    "directive",
    [
        "!text 200",
        "!think",
        "!toolargs 60",
        '!tool read {"path":"a.txt"}',
        '!tools [["read",{"path":"a"}],["read",{"path":"b"}],["bash",{"command":"true"}]]',
        "!utf8",
        "!split",
        "!lengthtool",
    ],
)
def test_02_every_partial_is_the_fold_of_the_deltas_so_far(
    pi: Callable[..., Agent], provider: str, directive: str
) -> None:
    fold = Fold()
    checked = 0
    for frame in run(pi("--max-steps", "2", provider=provider), directive):
        match frame["type"]:
            case "message_start":
                fold = Fold()
            case "message_update":
                event = frame["assistantMessageEvent"]
                assert set(event) <= {"type", "contentIndex", "delta", "content", "toolCall", "partial"}
                fold.add(event)
                assert event["partial"] == frame["message"]
                fold.check(frame["message"]["content"])
                checked += 1
            case "message_end" if frame["message"]["role"] == "assistant":
                assert all(set(block) <= FIELDS[block["type"]] for block in frame["message"]["content"])
            case _:
                pass
    assert checked > 3


@pytest.mark.parametrize("directive", ["!toolargs 20", "!think", "!text 3", '!tool bash {"command":"true"}'])
def test_02_no_field_of_ours_leaks_anywhere(pi: Callable[..., Agent], directive: str) -> None:
    agent = pi()
    run(agent, directive)
    agent.ask("get_messages")
    keys = set(re.findall(r'"([A-Za-z_]+)":', json.dumps(agent.seen)))
    assert not keys & {"index", "partialJson", "partialArgs", "streamIndex", "unparsed", "redacted", "time", "call_id"}


def test_03_an_abort_in_the_same_write_as_its_prompt_is_not_lost(pi: Callable[..., Agent]) -> None:
    agent = pi()
    for _ in range(20):
        agent.send({"id": "1", "type": "prompt", "message": "!gate never"}, {"id": "2", "type": "abort"})
        frames = agent.until("agent_end")
        assert [frame["id"] for frame in responses(frames)] == ["1", "2"]
        assert frames[-1]["messages"][-1]["stopReason"] == "aborted"


def test_03_of_two_prompts_in_one_write_the_second_is_refused_or_heard_but_never_lost(
    pi: Callable[..., Agent], server: ModelServer
) -> None:
    agent = pi()
    for number in range(10):
        for more in ({}, {"streamingBehavior": "followUp"}):
            gate = f"{number}-{len(more)}"
            first, second = f"!gate {gate}", f"second {gate}"
            agent.send(
                {"id": 1, "type": "prompt", "message": first},
                {"id": 2, "type": "prompt", "message": second, **more},
            )
            frames = agent.until(lambda frame: frame.get("id") == 2)
            server.release(gate)
            frames += agent.until("agent_end")
            heard = bool(more)
            assert [(frame["id"], frame["success"]) for frame in responses(frames)] == [(1, True), (2, heard)]
            assert said(frames) == ([first, second] if heard else [first])
            if not heard:
                assert responses(frames)[1]["error"] == BUSY


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"message": ""},
        {"message": 5},
        {"message": None},
        {"message": "hi", "images": "none"},
        {"message": "hi", "images": [{"type": "image", "source": {"type": "base64", "data": "?"}}]},
        {"message": "hi", "images": [{"type": "image", "source": {"type": "url", "url": "file:///b.png"}}]},
        {"message": "hi", "streamingBehavior": "shout"},
    ],
)
def test_04_a_prompt_that_cannot_be_is_answered_once_by_its_own_name(
    pi: Callable[..., Agent], server: ModelServer, fields: Frame
) -> None:
    agent = pi()
    agent.send({"id": "bad", "type": "prompt", **fields})
    agent.ask("get_state")
    assert [(frame["id"], frame["command"], frame["success"]) for frame in agent.seen] == [
        ("bad", "prompt", False),
        ("ask", "get_state", True),
    ]
    assert "error" in agent.seen[0]
    assert run(agent, "hello")[0] == {"id": "p", "type": "response", "command": "prompt", "success": True}
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "command",
    [
        {"type": "set_model", "provider": "nope", "modelId": "x"},
        {"type": "set_model"},
        {"type": "compact"},
        {"type": "compact", "customInstructions": 5},
        {"type": "steer"},
        {"type": "bash"},
    ],
)
def test_04_a_command_that_fails_keeps_its_id_and_its_name(pi: Callable[..., Agent], command: Frame) -> None:
    agent = pi()
    agent.send({"id": {"mine": [1]}, **command})
    answer = agent.read()
    assert answer is not None
    assert (answer["id"], answer["command"], answer["success"]) == ({"mine": [1]}, command["type"], False)
    agent.ask("get_state")
    assert len(agent.seen) == 2


def test_05_a_line_that_is_no_object_kills_nothing(pi: Callable[..., Agent]) -> None:
    agent = pi()
    lines = [b"null", b"true", b"5", b'"x"', b"[]", b"[null]", b"{", b"\xff", b'{"type":null}', b'{"type":["x"]}']
    agent.send({"type": "prompt", "message": "!gate g"})
    agent.until("message_update")
    agent.send_bytes(b"\n".join(lines) + b"\n")
    agent.send({"type": "abort"})
    answers = responses(agent.until("agent_end"))
    assert [(answer["command"], answer["success"]) for answer in answers] == [
        *[("parse", False)] * len(lines),
        ("abort", True),
    ]


@pytest.mark.parametrize("id", [0, "x", None, False, 1.5, "", [1], {"a": None}, "\u2028"])
def test_05_an_unknown_command_keeps_its_id(pi: Callable[..., Agent], id: Any) -> None:
    agent = pi()
    agent.send({"id": id, "type": "frobnicate"})
    answer = agent.read()
    assert answer == {
        "id": id,
        "type": "response",
        "command": "frobnicate",
        "success": False,
        "error": "Unknown command: frobnicate",
    }


def test_06_at_the_end_of_stdin_everything_that_was_asked_is_answered(pi: Callable[..., Agent], tmp_path: Path) -> None:
    agent = pi(env={"TEST_MARK": str(tmp_path)})
    command = "sleep 61.5 & sleep 0.2; echo told late"
    agent.send(
        {"id": "p", "type": "prompt", "message": f"!tool bash {json.dumps({'command': command})}"},
        {"id": "b", "type": "bash", "command": "sleep 61.5 & sleep 0.3; echo slow"},
        {"id": "f", "type": "follow_up", "message": "and this"},
        {"id": "s", "type": "steer", "message": "but this first"},
    )
    frames = agent.end()
    assert agent.wait() == 0
    assert {frame["id"] for frame in responses(frames)} == set("pbfs")
    assert next(frame for frame in frames if frame.get("id") == "b")["data"]["output"] == "slow\n"
    (told,) = [frame for frame in frames if frame["type"] == "tool_execution_end"]
    assert told["result"]["content"][0]["text"] == "told late\n"
    assert said(frames)[1:] == ["but this first", "and this"]
    assert types(frames).count("agent_end") == 1
    wait_until(lambda: not marked(f"TEST_MARK={tmp_path}"))


def test_06_a_command_that_never_ends_is_answered_and_does_not_keep_the_process(
    pi: Callable[..., Agent], tmp_path: Path
) -> None:
    impatient = tmp_path / "impatient"
    impatient.write_text(
        f"#!{sys.executable}\nimport linnet.runtime.jobs\nfrom linnet.cli.main import main\n"
        "linnet.runtime.jobs.PATIENCE = 0.01\nmain()\n"
    )
    impatient.chmod(0o755)
    agent = pi(program=str(impatient))
    # Its end comes after that of the prompt, however impatient we are with what is left.
    agent.send(
        {"id": "b", "type": "bash", "command": "echo up; touch up; exec sleep 61.5"},
        {"id": "p", "type": "prompt", "message": '!tool bash {"command": "until [ -e up ]; do sleep 0.01; done"}'},
    )
    frames = agent.end()
    assert agent.wait() == 0
    assert types(frames)[-2:] == ["agent_end", "response"]
    data = frames[-1]["data"]
    assert (frames[-1]["id"], data["output"], data["cancelled"], data["exitCode"]) == ("b", "up\n", True, None)


def test_06_a_retry_that_is_waited_for_at_the_end_of_stdin_is_made(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.send({"type": "prompt", "message": "!fail 503 2"})
    frames = agent.end()
    assert frames[-1] == {"type": "auto_retry_end", "success": True, "attempt": 2}
    assert agent.wait() == 0


def test_07_an_abort_tells_what_it_drops_and_the_next_prompt_hears_none_of_it(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    for kind, message in [("follow_up", "f1"), ("steer", "s1"), ("follow_up", "f2")]:
        agent.ask(kind, message=message)
    agent.send({"id": "x", "type": "abort"})
    frames = agent.until("agent_end")
    (update,) = [frame for frame in frames if "dropped" in frame]
    assert update == {"type": "queue_update", "steering": [], "followUp": [], "dropped": ["s1", "f1", "f2"]}
    assert said(run(agent, "next")) == ["next"]
    assert agent.ask("get_state")["data"]["pendingMessageCount"] == 0
    told = [
        message["content"] for message in agent.ask("get_messages")["data"]["messages"] if message["role"] == "user"
    ]
    assert [content[0]["text"] for content in told] == ["!gate never", "next"]


@pytest.mark.parametrize("moment", ["message_end", "turn_end", "agent_end"])
@pytest.mark.parametrize("kind", ["steer", "follow_up"])
def test_07_what_lands_as_the_run_ends_is_heard(pi: Callable[..., Agent], kind: str, moment: str) -> None:
    agent = pi()
    for number in range(15):
        agent.send({"type": "prompt", "message": "hi"})
        agent.until(lambda frame: frame["type"] == moment and (frame.get("message") or {}).get("role") != "user")
        agent.send({"id": number, "type": kind, "message": f"late {number}"})
        before = len(agent.seen)
        while f"late {number}" not in said(agent.seen[before:]):
            agent.until("turn_end")
        agent.until("agent_end")
    assert agent.ask("get_state")["data"]["isStreaming"] is False


@pytest.mark.parametrize("command", ["compact", "new_session"])
@pytest.mark.parametrize(
    ("directive", "moment", "last"),
    [
        ("!gate never", "message_update", ["message_end", "turn_end", "agent_end", "response"]),
        ("!hanghead", "turn_start", ["message_start", "message_end", "turn_end", "agent_end", "response"]),
        (
            '!tool bash {"command":"echo up; sleep 61.5"}',
            "tool_execution_update",
            ["turn_end", "turn_start", "message_start", "message_end", "turn_end", "agent_end", "response"],
        ),
        ("!fail 503 9", "auto_retry_start", ["auto_retry_end", "response"]),
    ],
)
def test_08_a_run_that_has_to_make_way_is_told_to_its_end(
    pi: Callable[..., Agent], command: str, directive: str, moment: str, last: list[str]
) -> None:
    agent = pi("--compact-keep", "1", "--retry-delay", "60")
    for message in ("hi", "ho"):
        run(agent, message)
    agent.send({"type": "prompt", "message": directive})
    agent.until(moment)
    agent.send({"id": "c", "type": command})
    frames = agent.until(lambda frame: frame.get("id") == "c")
    assert frames[-1]["success"]
    assert types(frames)[-len(last) :] == last
    for kind in ("agent", "turn", "message"):
        assert types(agent.seen).count(f"{kind}_start") == types(agent.seen).count(f"{kind}_end")
    assert agent.ask("get_state")["data"]["isStreaming"] is False
    assert run(agent, "go on")[-1]["messages"][-1]["stopReason"] == "stop"


def test_09_an_overflow_that_repeats_ends_after_one_compaction_and_keeps_the_prompt(
    pi: Callable[..., Agent], server: ModelServer
) -> None:
    agent = pi("--compact-keep", "1")
    for message in ("hi", "ho"):
        run(agent, message)
    before = len(server.requests)
    agent.send({"type": "prompt", "message": "!overflow 9"})
    agent.until("auto_compaction_end")
    last = agent.until("agent_end")[-1]["messages"][-1]
    assert last["stopReason"] == "error"
    assert "prompt is too long" in last["errorMessage"]
    agent.ask("get_state")
    assert types(agent.seen).count("auto_compaction_start") == 1
    assert types(agent.seen).count("auto_compaction_end") == 1
    assert len(server.requests) - before == 3  # The prompt, the summary, the prompt again.
    assert [m["content"][0]["text"] for m in agent.ask("get_messages")["data"]["messages"] if m["role"] == "user"] == [
        "!overflow 9"
    ]
    assert run(agent, "hello")[-1]["messages"][-1]["stopReason"] == "stop"


@pytest.mark.parametrize(
    ("command", "field", "good", "name"),
    [
        ("set_thinking_level", "level", "high", "thinkingLevel"),
        ("set_steering_mode", "mode", "all", "steeringMode"),
        ("set_follow_up_mode", "mode", "all", "followUpMode"),
        ("set_auto_compaction", "enabled", False, "autoCompactionEnabled"),
        ("set_auto_retry", "enabled", False, None),
    ],
)
@pytest.mark.parametrize("bad", ["much", "", 5, None, [], "ALL"])
def test_12_what_no_setting_can_be_is_refused_and_changes_nothing(
    pi: Callable[..., Agent], command: str, field: str, good: Any, name: str | None, bad: Any
) -> None:
    agent = pi()
    assert agent.ask(command, **{field: good})["success"]
    answer = agent.ask(command, **{field: bad})
    assert answer["success"] is False
    assert f"`{field}`" in answer["error"]
    if name:
        assert agent.ask("get_state")["data"][name] == good


def test_12_setters_write_nothing(pi: Callable[..., Agent], tmp_path: Path) -> None:
    home = tmp_path / "user"
    home.mkdir()
    agent = pi("--no-session", env={"HOME": str(home), "LINNET_HOME": str(home / ".linnet")})
    setters: list[tuple[str, Frame]] = [
        ("set_thinking_level", {"level": "low"}),
        ("set_steering_mode", {"mode": "all"}),
        ("set_follow_up_mode", {"mode": "all"}),
        ("set_auto_retry", {"enabled": False}),
        ("set_auto_compaction", {"enabled": False}),
        ("set_model", {"provider": "anthropic", "modelId": "claude-opus-4-5"}),
        ("cycle_model", {}),
        ("cycle_thinking_level", {}),
        ("new_session", {}),
    ]
    for command, fields in setters:
        assert agent.ask(command, **fields)["success"]
    run(agent, "hi")
    agent.end()
    assert [*home.rglob("*"), *(tmp_path / "work").rglob("*")] == []


@pytest.fixture
def strict() -> Iterator[str]:
    """A server that refuses every request for good, in words that sound like a passing trouble."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            message = "max_tokens: 500 is 503 too many; the service is overloaded, rate limit, 529"
            body = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
            self.send_response(400)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as refusing:
        thread = Thread(target=refusing.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{refusing.server_port}"
        refusing.shutdown()
        thread.join()


def test_13_an_error_is_not_tried_again_because_its_words_sound_like_it(pi: Callable[..., Agent], strict: str) -> None:
    agent = pi("--base-url", strict)
    last = run(agent, "hello")[-1]["messages"][-1]
    assert last["stopReason"] == "error"
    assert "500 is 503 too many" in last["errorMessage"]
    assert agent.ask("get_state")["data"]["isStreaming"] is False
    assert "auto_retry_start" not in types(agent.seen)


@pytest.mark.parametrize("directive", ["!text 600", "!sseerror no_500_503_529_error"])
def test_13_neither_a_reply_nor_an_error_of_another_type_is_tried_again(
    pi: Callable[..., Agent], server: ModelServer, directive: str
) -> None:
    agent = pi()
    assert "500" in str(run(agent, directive)[-1]["messages"])
    assert agent.ask("get_state")["data"]["isStreaming"] is False
    assert "auto_retry_start" not in types(agent.seen)
    assert len(server.requests) == 1


@pytest.mark.parametrize("directive", ["!fail 503 9", "!sseerror overloaded_error", "!drop 2"])
def test_13_a_run_that_will_be_tried_again_never_looks_as_if_all_were_over(
    pi: Callable[..., Agent], directive: str
) -> None:
    agent = pi("--retry-delay", "60")
    agent.send({"type": "prompt", "message": directive})
    agent.until("agent_end")
    agent.send({"id": "s", "type": "get_state"})
    frames = agent.until(lambda frame: frame.get("id") == "s")
    assert types(frames) == ["auto_retry_start", "response"]
    assert frames[-1]["data"]["isStreaming"] is True
    assert agent.ask("prompt", message="me")["error"] == BUSY
    agent.send({"type": "abort_retry"})
    agent.until("auto_retry_end")
    assert agent.ask("get_state")["data"]["isStreaming"] is False


@pytest.mark.parametrize("fields", [{}, {"command": None}, {"command": ""}, {"command": 5}])
def test_14_bash_without_a_command_runs_nothing(pi: Callable[..., Agent], fields: Frame) -> None:
    agent = pi()
    agent.send({"id": "b", "type": "bash", **fields})
    answer = agent.read()
    assert answer is not None
    assert answer["success"] is False
    assert "`command` must be" in answer["error"]
    assert agent.ask("get_messages")["data"]["messages"] == []


def test_14_a_line_of_300_kb_that_is_cut_is_said_to_be_cut(pi: Callable[..., Agent]) -> None:
    agent = pi()
    data = agent.ask("bash", command="head -c 300000 /dev/zero | tr '\\0' z")["data"]
    assert data["truncated"] is True
    full = Path(data["fullOutputPath"])
    assert full.read_bytes() == b"z" * 300_000
    assert set(data["output"]) == {"z"}
    assert 10_000 < len(data["output"]) < 300_000
    full.unlink()
    whole = agent.ask("bash", command="head -c 30000 /dev/zero | tr '\\0' z")["data"]
    assert whole == {"output": "z" * 30_000, "exitCode": 0, "cancelled": False, "truncated": False}


def test_14_abort_bash_reaches_every_command_and_nothing_else(pi: Callable[..., Agent], tmp_path: Path) -> None:
    agent = pi()
    agent.send({"type": "prompt", "message": "!gate g"})
    agent.until("message_update")
    for number in range(3):
        agent.send({"id": number, "type": "bash", "command": f"touch up{number}; setsid sleep 61.5; echo never"})
    wait_until(lambda: len(list((tmp_path / "work").glob("up*"))) == 3)
    agent.send({"id": "a", "type": "abort_bash"})
    frames: list[Frame] = []
    while len(frames) < 4:
        frames += agent.until("response")[-1:]
    assert sorted(str(frame["id"]) for frame in frames) == ["0", "1", "2", "a"]
    cancelled = [frame["data"] for frame in frames if frame["command"] == "bash"]
    assert [(data["cancelled"], data["exitCode"]) for data in cancelled] == [(True, None)] * 3
    assert agent.ask("get_state")["data"]["isStreaming"] is True


def test_16_a_reader_that_stops_reading_stops_neither_an_abort_nor_the_next_command(
    pi: Callable[..., Agent], server: ModelServer, tmp_path: Path
) -> None:
    agent = pi("--stream", "deltas")
    agent.send({"id": "p", "type": "prompt", "message": "!text 300000"})
    wait_until_it_rests(agent)
    agent.send(
        {"id": "s", "type": "get_state"},
        {"id": "b", "type": "bash", "command": "touch ran"},
        {"id": "f", "type": "follow_up", "message": "dropped"},
    )
    wait_until((tmp_path / "work" / "ran").exists)
    assert server.disconnects == 0
    agent.send({"id": "a", "type": "abort"}, {"id": "q", "type": "prompt", "message": "afterwards"})
    server.wait_for(disconnects=1)
    assert peak(agent) < MOST_MEMORY
    frames = agent.until("agent_end")
    told = {frame["id"]: frame for frame in responses(frames)}
    assert set(told) >= set("psfa")
    assert told["s"]["data"]["isStreaming"] is True
    spoken = "".join(
        frame["assistantMessageEvent"].get("delta", "") for frame in frames if frame["type"] == "message_update"
    )
    words = spoken.split()
    assert 2000 < len(words) < 300_000
    assert all(word == f"w{number}" for number, word in enumerate(words[:-1]))
    last = frames[-1]["messages"][-1]
    assert last["stopReason"] == "aborted"
    assert last["content"] == [{"type": "text", "text": spoken}]
    told |= {frame["id"]: frame for frame in responses(agent.until("agent_end"))}
    assert "q" in told  # Before the end of the first run, or after it if that came sooner than the line was read.
    assert "b" in told or agent.until("response")[-1]["id"] == "b"  # It runs beside all of this, and ends when it does.
    assert said(agent.seen)[-1] == "afterwards"
    assert said(run(agent, "next")) == ["next"]
    assert peak(agent) < MOST_MEMORY


def test_16_a_reader_that_comes_back_has_missed_nothing(pi: Callable[..., Agent]) -> None:
    agent = pi()
    for number in range(3):
        agent.send({"id": number, "type": "prompt", "message": "!text 1500", "streamingBehavior": "followUp"})
    wait_until_it_rests(agent)
    frames = agent.until("agent_end")
    assert types(frames).count("message_update") == 3 * 1502
    assert types(frames).count("turn_end") == 3
    assert peak(agent) < MOST_MEMORY


def test_16_answers_that_nobody_reads_do_not_fill_the_memory(pi: Callable[..., Agent]) -> None:
    """Above a bound it reads no further commands; those wait in the pipe of whoever sends them."""
    agent = pi("--stream", "deltas")
    run(agent, "!text 3000")
    count = 15_000  # Each answered with 20 KB: 300 MB in all.
    lines = b'{"type":"get_messages"}\n' * count + b'{"type":"get_state"}\n'
    sender = Thread(target=agent.send_bytes, args=(lines,))
    sender.start()
    wait_until_it_rests(agent)
    assert peak(agent) < 180_000
    assert raw(agent, b'"command":"get_state"').count(b'"command":"get_messages"') == count
    sender.join()


def test_16_the_output_so_far_has_no_hole_where_nobody_read(pi: Callable[..., Agent], tmp_path: Path) -> None:
    """Each update takes the place of the one before: what could not be shown in time is part of the next."""
    work = tmp_path / "work"
    agent = pi()
    run(agent, "x" * 500_000)
    steps = ["echo one", "echo two; touch told", "echo three; sleep 0.1; echo four"]
    command = "; until [ -e go ]; do sleep 0.01; done; rm go; ".join(steps)
    agent.send({"type": "prompt", "message": f"!tool bash {json.dumps({'command': command})}"})
    agent.until("tool_execution_update")
    agent.send({"id": "long", "type": "get_messages"})  # More than anybody's buffers hold, and nobody reads.
    wait_until_it_rests(agent)
    (work / "go").touch()
    wait_until((work / "told").exists)
    wait_until_it_rests(agent)
    agent.until(lambda frame: frame.get("id") == "long")
    (work / "go").touch()
    agent.until("tool_execution_end")
    updates = [frame["partialResult"] for frame in agent.seen if frame["type"] == "tool_execution_update"]
    shown = [update["content"][0]["text"] for update in updates]
    assert all("one\ntwo\nthree\nfour\n".startswith(text) for text in shown), shown


@pytest.mark.parametrize("directive", ['!tool bash {"command":"setsid sleep 61.5 & echo up; wait"}', "!gate never"])
def test_16_a_signal_leaves_no_child_even_if_nobody_reads(
    pi: Callable[..., Agent], tmp_path: Path, directive: str
) -> None:
    agent = pi(env={"TEST_MARK": str(tmp_path)})
    agent.send({"type": "prompt", "message": directive})
    agent.send({"type": "bash", "command": "setsid sleep 61.5 & touch up; trap '' TERM; wait"})
    wait_until((tmp_path / "work" / "up").exists)
    agent.signal(signal.SIGTERM)
    assert agent.wait() == 128 + signal.SIGTERM
    wait_until(lambda: not marked(f"TEST_MARK={tmp_path}"))


@pytest.mark.parametrize("kind", ["prompt", "steer", "follow_up"])
@pytest.mark.parametrize(
    "image",
    [IMAGE, {"type": "image", "data": PNG, "mimeType": "image/png"}],
    ids=["source", "flat"],
)
def test_17_images_reach_the_model_whichever_command_brings_them(
    pi: Callable[..., Agent], server: ModelServer, kind: str, image: Frame
) -> None:
    agent = pi()
    if kind != "prompt":
        agent.send({"type": "prompt", "message": "!gate g"})
        agent.until("message_update")
    agent.ask(kind, message="look", images=[image, image])
    server.release("g")
    agent.until("agent_end")
    sent = server.requests[-1].body["messages"][-1]["content"]
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    assert [part["source"] for part in sent if part["type"] == "image"] == [source, source]
    shown = [frame["message"] for frame in agent.seen if frame["type"] == "message_end"]
    assert [message["content"][1:] for message in shown if message["content"][0].get("text") == "look"] == [
        [{"type": "image", "data": PNG, "mimeType": "image/png"}] * 2
    ]


def test_18_line_separators_are_escaped_wherever_they_come_from(pi: Callable[..., Agent]) -> None:
    agent = pi()
    odd = "a\u2028b\u2029c"
    printed = r"printf 'a\342\200\250b\342\200\251c'"
    lines: list[Frame] = [
        {"id": {odd: odd}, "type": f"unknown {odd}"},
        {"id": 1, "type": "set_model", "provider": odd, "modelId": odd},
        {"id": 2, "type": "prompt", "message": f"!utf8\n{odd}"},
        {"id": 3, "type": "follow_up", "message": f"!tool bash {json.dumps({'command': printed})}"},
    ]
    agent.send({"id": odd, "type": "bash", "command": printed})
    data = raw(agent, b'"command":"bash"')
    agent.send_bytes(b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines))
    data += raw(agent, b'"type":"tool_execution_end"')
    agent.send({"id": 4, "type": "get_messages"})
    data += raw(agent, b'"id":4')
    assert b"\xe2\x80\xa8" not in data
    assert b"\xe2\x80\xa9" not in data
    told = data.decode()
    assert len(told.splitlines()) == told.count("\n")  # As readers see it that take every line end of Unicode for one.
    frames = [json.loads(line) for line in told.splitlines()]
    by_id = {json.dumps(frame["id"]): frame for frame in responses(frames)}
    assert by_id[json.dumps(odd)]["data"]["output"] == odd
    assert by_id[json.dumps({odd: odd})]["error"] == f"Unknown command: unknown {odd}"
    assert odd in by_id["1"]["error"]
    assert said(frames)[0] == f"!utf8\n{odd}"
    (ended,) = [frame for frame in frames if frame["type"] == "tool_execution_end"]
    assert ended["result"]["content"][0]["text"] == odd
