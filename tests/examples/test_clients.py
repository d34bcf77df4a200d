"""Every reference client, as a real process, on the real linnet and on agents that misbehave."""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from msgspec import Struct

from tests.suite.go import built, go

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "examples" / "rpc"
LINNET = Path(sys.executable).with_name("linnet")
PATIENCE = 60

Scripts = Callable[..., list[str]]
Agents = Callable[[str], Path]
Recording = tuple[Path, Callable[[], list[dict[str, Any]]]]

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(180)]  # A cold Go build takes a while.
every_client = pytest.mark.parametrize("client", ["shell", "python", "node", "go"], indirect=True)


class Result(Struct):
    code: int
    out: str
    err: str


class Client:
    """One of the four, with a folder of its own to work in."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._command = command
        self.folder = folder
        self.folder.mkdir()

    def run(
        self, *args: str, agent: Path = LINNET, env: Mapping[str, str] | None = None, typed: str | None = None
    ) -> Result:
        """`typed` is what somebody types; without it, nobody is there."""
        with self.start(*args, agent=agent, env=env, keyboard=typed is not None) as process:
            out, err = process.communicate(typed.encode() if typed is not None else None, timeout=PATIENCE)
        return Result(process.returncode, out.decode(), err.decode())

    @contextmanager
    def start(
        self, *args: str, agent: Path = LINNET, env: Mapping[str, str] | None = None, keyboard: bool = False
    ) -> Iterator[subprocess.Popen[bytes]]:
        """In a process group of its own, as a shell would start it: a Ctrl-C can be sent to the whole group."""
        hidden = ("ZOTCORE_RPC_TOKEN", "PYTHONUNBUFFERED")
        inherited = {name: value for name, value in os.environ.items() if name not in hidden}
        with subprocess.Popen(
            [*self._command, *args],
            cwd=self.folder,
            env={**inherited, "LINNET": str(agent), "LINNET_HOME": str(self.folder / ".home"), **(env or {})},
            stdin=subprocess.PIPE if keyboard else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            process_group=0,
        ) as process:
            try:
                yield process
            finally:
                process.kill()


def needs(program: str, remedy: str) -> str:
    """The path of a program that not every machine has; without it the test skips, but never in CI."""
    path = shutil.which(program)
    if path is None:
        stop = pytest.fail if os.environ.get("CI") else pytest.skip
        stop(f"{program} is not installed: {remedy}")
    return path


def _command(name: str) -> list[str]:
    match name:
        case "shell":
            needs("jq", "apt-get install jq, or brew install jq")
            return [needs("bash", "apt-get install bash"), str(CLIENTS / "shell" / "client.sh")]
        case "python":
            return [sys.executable, "-W", "error", str(CLIENTS / "python" / "client.py")]
        case "node":
            return [
                needs("node", "apt-get install nodejs, or see https://nodejs.org"),
                str(CLIENTS / "node/client.mjs"),
            ]
        case _:
            return [built(CLIENTS / "go")]


@pytest.fixture(params=["python", *(pytest.param(name, marks=pytest.mark.judge) for name in ("shell", "node", "go"))])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Client:
    return Client(_command(request.param), tmp_path / "work")


@pytest.fixture
def script(tmp_path: Path) -> Scripts:
    """The flags that make linnet play these turns."""

    def write(*turns: list[dict[str, Any]]) -> list[str]:
        path = tmp_path / "script.json"
        path.write_text(json.dumps({"turns": turns}))
        return ["--", "--script", str(path)]

    return write


@pytest.fixture
def program(tmp_path: Path) -> Agents:
    """An executable to put in the place of linnet."""

    def write(text: str) -> Path:
        path = tmp_path / "agent"
        path.write_text(text)
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def fake(program: Agents) -> Agents:
    """An agent written in a few lines of Python, with `say` to print a frame."""
    head = f"""#!{sys.executable}
import json, os, sys
def say(type, **fields):
    print(json.dumps({{"type": type, **fields}}), flush=True)
"""
    return lambda body: program(head + body)


@pytest.fixture
def recording(program: Agents, tmp_path: Path) -> Recording:
    """linnet behind a `tee`, and what it was sent."""
    record = tmp_path / "sent.jsonl"
    agent = program(f'#!/bin/sh\ntee "{record}" | "{LINNET}" "$@"\n')
    return agent, lambda: [json.loads(line) for line in record.read_bytes().splitlines()]


def wait_for(stream: IO[bytes] | None, text: str) -> None:
    """Until the process has printed this."""
    assert stream
    seen = b""
    while text.encode() not in seen:
        chunk = os.read(stream.fileno(), 65536)
        assert chunk, f"{text!r} never came, only {seen!r}"
        seen += chunk


@every_client
def test_the_built_in_job_is_done_and_shown(client: Client) -> None:
    result = client.run("show me", "--", "--provider", "scripted")

    assert result.code == 0, result.err
    said = result.out.splitlines()
    assert said[0] == "I will write a small program and run it."
    assert said[-1].startswith("Done. I wrote linnet_demo.py")
    assert len(said) == 5
    shown = result.err.splitlines()
    assert '→ bash {"command":"python3 linnet_demo.py"}' in shown
    assert "✗ $ python3 linnet_demo.py" in shown
    assert "Hello, linnet!" in shown
    assert "✓ $ python3 linnet_demo.py && python3 linnet_demo.py linnet" in shown
    assert 'else "world"' in (client.folder / "linnet_demo.py").read_text()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Hello, world.", id="plain"),
        pytest.param("\n  two\n\n  lines \\n %s \t \x1b[1m\n", id="layout"),
        pytest.param("a\u2028b\u2029c\x85d\re 👩\u200d👩\u200d👧 é e\u0301 \U0010ffff 漢字", id="unicode"),
        pytest.param("é👍\u2028漢" * 30_000, id="one long line"),
        pytest.param("word " * 4_000 + "end", id="many deltas"),
    ],
)
def test_text_arrives_exactly_as_the_model_wrote_it(client: Client, script: Scripts, text: str) -> None:
    result = client.run("go", *script([{"text": text}]))

    assert result.code == 0, result.err
    assert result.out == (text if text.endswith("\n") else text + "\n")


def test_what_was_spent_is_told_at_the_end(client: Client, script: Scripts) -> None:
    result = client.run("go", *script([{"text": "x"}, {"usage": {"input": 1200, "output": 34}}]))

    assert result.err.splitlines()[-1].startswith("1200 tokens in, 34 out, $0")


def test_a_tool_is_shown_with_its_arguments_its_progress_and_its_result(client: Client, script: Scripts) -> None:
    command = "printf 'näh\\n'; printf 'er'"
    result = client.run("go", *script([{"call": "bash", "args": {"command": command}}], [{"text": "ok"}]))

    assert result.code == 0, result.err
    assert result.out == "ok\n"
    arguments = json.dumps({"command": command}, ensure_ascii=False, separators=(",", ":"))
    assert result.err.splitlines()[:4] == [f"→ bash {arguments}", "näh", "er", f"✓ $ {command}"]


def test_the_prompt_is_one_line_whatever_is_in_it(client: Client, recording: Recording, script: Scripts) -> None:
    agent, sent = recording
    prompt = 'two\nlines, "quotes", $HOME, `x`, \\n, \u2028, é, 👍'
    result = client.run(prompt, *script([{"text": "ok"}]), agent=agent)

    assert result.code == 0, result.err
    assert [(command["type"], command["message"]) for command in sent()] == [("prompt", prompt)]


def test_an_image_goes_along_with_the_prompt(client: Client, recording: Recording, script: Scripts) -> None:
    agent, sent = recording
    data = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 1024  # More than an argument list or a pipe can hold.
    (client.folder / "picture.png").write_bytes(data)
    result = client.run("--image", "picture.png", "look", *script([{"text": "seen"}]), agent=agent)

    assert (result.code, result.out) == (0, "seen\n"), result.err
    [command] = sent()
    assert command["message"] == "look"
    assert command["images"] == [{"mime_type": "image/png", "data": base64.b64encode(data).decode()}]


def test_an_image_that_is_not_there_is_named(client: Client) -> None:
    result = client.run("--image", "nowhere.png", "look")

    assert (result.code, result.out) == (1, "")
    assert "nowhere.png" in result.err


@pytest.mark.parametrize("args", [[], ["--nonsense", "go"], ["go", "again"]], ids=["none", "unknown", "two"])
def test_wrong_arguments_are_answered_with_the_usage(client: Client, args: list[str]) -> None:
    result = client.run(*args)

    assert (result.code, result.out) == (2, "")
    assert "[--image FILE] [--ask] PROMPT [-- flags of linnet rpc]" in result.err


def test_a_failed_turn_keeps_its_text_and_is_told_once(client: Client, script: Scripts) -> None:
    result = client.run("go", *script([{"text": "Half of"}, {"fail": "the model fell over"}]))

    assert (result.code, result.out) == (1, "Half of\n")
    assert result.err.count("the model fell over") == 1


def test_too_many_steps_are_a_failure(client: Client, script: Scripts) -> None:
    result = client.run("go", *script([{"call": "bash", "args": {"command": "true"}}]), "--max-steps", "1")

    assert result.code == 1
    assert "client: max steps (1) exceeded" in result.err.splitlines()


def test_an_answer_cut_at_the_output_limit_is_a_failure(client: Client, script: Scripts) -> None:
    result = client.run("go", *script([{"text": "And then he"}, {"stop": "length"}]))

    assert (result.code, result.out) == (1, "And then he\n")
    assert "client: the answer was cut at the model's output limit" in result.err.splitlines()


def test_a_refused_prompt_is_told_with_the_reason(client: Client) -> None:
    result = client.run(" ", "--", "--provider", "scripted")

    assert (result.code, result.out) == (1, "")
    assert "client: prompt: a prompt needs a message or an image" in result.err.splitlines()


def test_the_token_of_the_environment_opens_the_agent(client: Client, recording: Recording, script: Scripts) -> None:
    agent, sent = recording
    result = client.run("go", *script([{"text": "ok"}]), agent=agent, env={"ZOTCORE_RPC_TOKEN": 'a "secret"'})

    assert (result.code, result.out) == (0, "ok\n"), result.err
    assert [command["type"] for command in sent()] == ["hello", "prompt"]


@pytest.mark.parametrize(
    ("token", "reason"),
    [("wrong", "client: hello: invalid token"), ("", "client: prompt: auth required: send hello with token first")],
)
def test_a_wrong_token_is_told_and_nothing_else_happens(
    client: Client, program: Agents, script: Scripts, token: str, reason: str
) -> None:
    agent = program(f'#!/bin/sh\nZOTCORE_RPC_TOKEN=right exec "{LINNET}" "$@"\n')
    result = client.run("go", *script([{"text": "no"}]), agent=agent, env={"ZOTCORE_RPC_TOKEN": token})

    assert (result.code, result.out) == (1, "")
    assert reason in result.err.splitlines()


def test_an_agent_that_dies_in_mid_line_is_a_failure_in_one_sentence(client: Client, fake: Agents) -> None:
    agent = fake("""
sys.stdin.readline()
say("response", id="2", command="prompt", success=True, data={"started": True})
say("text_delta", delta="Half a sen")
os.write(1, b'{"type":"text_del')
os.kill(os.getpid(), 9)
""")
    result = client.run("go", agent=agent)

    assert (result.code, result.out) == (1, "Half a sen\n")
    assert "client: the agent ended before it was done" in result.err.splitlines()
    assert "Traceback" not in result.err


def test_an_agent_that_never_reads_is_a_failure_in_one_sentence(client: Client, fake: Agents) -> None:
    agent = fake("sys.exit('no key')")
    (client.folder / "picture.png").write_bytes(bytes(1 << 20))  # More than a pipe holds: sending it must not hang.
    result = client.run("--image", "picture.png", "go", agent=agent)

    assert (result.code, result.out) == (1, "")
    assert result.err.splitlines() == ["no key", "client: the agent ended before it was done"]


def test_an_agent_that_cannot_be_started_is_named(client: Client, tmp_path: Path) -> None:
    result = client.run("go", agent=tmp_path / "no-such-agent")

    assert (result.code, result.out) == (1, "")
    assert "no-such-agent" in result.err
    assert "client:" in result.err
    assert "Traceback" not in result.err


def test_frames_and_fields_that_nobody_knew_of_do_no_harm(client: Client, fake: Agents) -> None:
    agent = fake("""
sys.stdin.readline()
say("response", id="2", command="prompt", success=True, data={"started": True}, mood="fine")
say("weather", sky={"clear": [1, 2]})
say("text_delta", delta="")
say("tool_call", id="c", name="look", args={})
say("tool_progress", id="c", text="")
say("tool_result", id="c", is_error=False, content=[{"type": "image", "mime_type": "image/png", "bytes": 3}])
say("turn_end", stop="end_turn")
say("done")
sys.stdin.read()
""")
    result = client.run("go", agent=agent)

    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines() == ["→ look {}", "✓ [image]"]


def test_a_failure_that_a_later_step_made_good_does_not_count(client: Client, fake: Agents) -> None:
    agent = fake("""
sys.stdin.readline()
say("turn_end", stop="error", error="overloaded")
say("text_delta", delta="Fine now.")
say("turn_end", stop="end_turn")
say("done")
sys.stdin.read()
""")
    result = client.run("go", agent=agent)

    assert (result.code, result.out, result.err) == (0, "Fine now.\n", "")


ASKING = [
    {"call": "ask_user", "args": {"question": "Which colour?"}},
    {"call": "write", "args": {"path": "colour.txt", "content": "blue" + "." * 200_000}},
]


@every_client
def test_the_model_asks_and_the_agent_asks_and_somebody_answers_both(client: Client, script: Scripts) -> None:
    flags = (*script(ASKING, [{"text": "Done."}]), "--permission", "ask", "--allow", "ask_user")
    result = client.run("--ask", "go", *flags, typed="blue\n1\n")

    assert (result.code, result.out) == (0, "Done.\n"), result.err
    shown = result.err.splitlines()
    asked = shown.index("? Which colour?")
    assert shown[asked + 1 : asked + 3] == ["✓ blue", "? Allow write?"]
    assert shown[asked + 3] == "colour.txt (new)"
    assert shown[-5:-1] == [
        "  1 Allow once",
        "  2 Allow for this session",
        "  3 Deny",
        "✓ Successfully wrote 200004 bytes to colour.txt",
    ]
    assert (client.folder / "colour.txt").stat().st_size == 200_004


def test_where_nobody_is_there_the_answer_is_no(client: Client, script: Scripts) -> None:
    flags = (*script(ASKING, [{"text": "Done."}]), "--permission", "ask", "--allow", "ask_user")
    result = client.run("--ask", "go", *flags)

    assert (result.code, result.out) == (0, "Done.\n"), result.err
    assert "✗ Nobody is here to answer." in result.err.splitlines()
    assert "✗ Denied by the user: no reason was given" in result.err.splitlines()
    assert not (client.folder / "colour.txt").exists()


def test_an_answer_that_comes_too_late_is_no_failure(client: Client, fake: Agents) -> None:
    agent = fake("""
say("response", id=json.loads(sys.stdin.readline())["id"], command="prompt", success=True, data={"started": True})
say("question", request_id="q", method="confirm", title="Sure?")
answer = json.loads(sys.stdin.readline())
error = f"it is not open: {answer['confirmed']}"
say("response", id=answer.get("id"), command="answer", success=False, error=error)
say("text_delta", delta="Fine.")
say("done")
sys.stdin.read()
""")
    result = client.run("go", agent=agent, typed="y\n")

    assert (result.code, result.out) == (0, "Fine.\n"), result.err
    assert result.err.splitlines() == ["? Sure?", "client: answer: it is not open: True"]


@pytest.mark.parametrize("where", ["model", "tool", "question"])
def test_ctrl_c_aborts_the_turn_and_waits_for_its_end(
    client: Client,
    recording: Recording,
    script: Scripts,
    where: str,
) -> None:
    agent, sent = recording
    in_model = [{"text": "On my way"}, {"pause": 600}]
    in_tool = [{"call": "bash", "args": {"command": "echo on my way; sleep 600"}}]
    flags = script(in_model if where == "model" else in_tool)
    flags += ["--permission", "ask"] if where == "question" else []
    with client.start("go", *flags, agent=agent, keyboard=True) as process:
        keyboard, process.stdin = process.stdin, None  # Somebody is there, and types nothing.
        if where == "question":
            wait_for(process.stderr, "  3 Deny")
        elif where == "model":
            wait_for(process.stdout, "On my way")  # Not yet a whole line: text is shown as it comes.
        else:
            wait_for(process.stderr, "\non my way")
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert keyboard
        keyboard.close()

    assert process.returncode == 130, err
    assert "client: the turn was aborted" in err.decode().splitlines()
    assert [command["type"] for command in sent()] == ["prompt", "abort"]


def test_a_second_ctrl_c_does_not_wait_for_an_agent_that_will_not_stop(client: Client, fake: Agents) -> None:
    agent = fake("""
sys.stdin.readline()
say("text_delta", delta="first")
sys.stdin.readline()
say("text_delta", delta="second")
sys.stdin.read()
""")
    with client.start("go", agent=agent) as process:
        wait_for(process.stdout, "first")
        os.killpg(process.pid, signal.SIGINT)
        wait_for(process.stdout, "second")
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=PATIENCE)

    assert process.returncode in (-signal.SIGINT, 130)


def test_the_go_client_is_formatted_and_passes_vet() -> None:
    go(CLIENTS / "go", "vet", ".")
    gofmt = Path(go(CLIENTS / "go", "env", "GOROOT").strip(), "bin", "gofmt")
    assert subprocess.run([gofmt, "-l", CLIENTS / "go"], check=True, capture_output=True).stdout == b""
