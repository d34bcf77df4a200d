"""An answer in the form that a schema asks for, on the command line and on both wires."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.client import AsyncPiClient, PiClient, RunFailed, ZotClient
from linnet.testing.agent import Agent, Frame, types
from linnet.testing.model_server import ModelServer
from tests.suite import forked

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
UNFIT = 'the answer does not fit: "n" is missing at $'
SPELLED = {"zot": "output_schema", "pi": "outputSchema"}
Linnet = Callable[..., "subprocess.CompletedProcess[str]"]


def script(*answers: str) -> str:
    return json.dumps({"turns": [[{"text": answer}] for answer in answers]})


@pytest.fixture
def linnet(tmp_path: Path) -> Linnet:
    """Run a prompt whose model says these things."""

    def run(
        *words: str, says: tuple[str, ...] = ('{"n": 1}',), turns: Any = None
    ) -> "subprocess.CompletedProcess[str]":
        (tmp_path / "script.json").write_text(script(*says) if turns is None else json.dumps({"turns": turns}))
        (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
        return forked.run(
            [Path(sys.executable).with_name("linnet"), *words, "--script", tmp_path / "script.json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "LINNET_HOME": str(tmp_path / "home")},
            timeout=30,
        )

    return run


def test_stdout_is_the_value_on_one_line(linnet: Linnet) -> None:
    said = 'Here it is:\n```json\n{\n  "n": 1\n}\n```'
    done = linnet("-p", "count", "--output-schema", "schema.json", says=(said,))
    assert (done.stdout, done.stderr, done.returncode) == ('{"n":1}\n', "", 0)


@pytest.mark.parametrize("flags", [["-p"], ["--mode", "json"], ["--mode", "json", "--dialect", "pi"]])
def test_an_answer_that_does_not_fit_is_asked_for_once_more(linnet: Linnet, flags: list[str]) -> None:
    good = linnet(*flags, "count", "--output-schema", "schema.json", "--no-session", says=("one", '{"n":2}'))
    assert good.returncode == 0
    bad = linnet(*flags, "count", "--output-schema", "schema.json", "--no-session", says=("one", "{}", '{"n":3}'))
    assert (bad.returncode, bad.stderr) == (1, f"linnet: {UNFIT}\n")
    if flags == ["-p"]:
        assert (good.stdout, bad.stdout) == ('{"n":2}\n', "")
        return
    told = [json.loads(line) for line in good.stdout.splitlines()]
    assert [f for f in told if f["type"] == "output"] == [{"type": "output", "value": {"n": 2}}]
    assert types(told)[-2] == "output"
    told = [json.loads(line) for line in bad.stdout.splitlines()]
    assert [f for f in told if f["type"] == "output"] == [{"type": "output", "error": UNFIT}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no file"),
        ("{", "cannot be used: Input data was truncated"),
        ("[]", "it is no JSON object"),
        ('{"type":"objekt"}', 'unknown type "objekt" at $'),
        ('{"if":{}}', 'says "if" at $, which cannot be checked'),
        ("\udce4", "cannot be used"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_before_anything_is_asked(
    linnet: Linnet, tmp_path: Path, text: str | None, words: str
) -> None:
    path = tmp_path / "mine.json"
    if text is not None:
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    done = linnet("-p", "count", "--output-schema", str(path), "--save")
    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr.startswith(f"linnet: --output-schema: {'there is no file ' if text is None else ''}{path}")
    assert words in done.stderr
    assert not (tmp_path / "home" / "sessions").exists()


def test_a_schema_that_is_a_pipe_is_not_waited_for(linnet: Linnet, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "it is not a plain file" in linnet("-p", "count", "--output-schema", "pipe").stderr


def test_rpc_mode_says_where_a_schema_belongs(linnet: Linnet) -> None:
    done = linnet("rpc", "--output-schema", "schema.json")
    assert (done.stdout, done.returncode) == ("", 2)
    assert "outputSchema" in done.stderr


def test_one_object_says_all_that_came_of_it(linnet: Linnet, tmp_path: Path) -> None:
    done = linnet("--mode", "result", "count", "--output-schema", "schema.json", "--save", says=("one", '{"n":2}'))
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.count("\n") == 1
    result = json.loads(done.stdout)
    assert [*result] == ["text", "value", "stop", "error", "code", "cost", "usage", "steps", "session"]
    assert (result["text"], result["value"], result["steps"]) == ('{"n":2}', {"n": 2}, 2)
    assert (result["stop"], result["error"], result["code"]) == ("end_turn", None, None)
    assert result["usage"]["output"] > 0
    assert result["cost"] == result["usage"]["cost_usd"]
    again = linnet("--mode", "result", "go on", "--session", result["session"])
    assert json.loads(again.stdout)["session"] == result["session"]
    first, second = result["usage"], json.loads(again.stdout)["usage"]
    assert second["output"] < first["output"]  # Of this prompt, not of the session.
    assert Path(result["session"]).read_text().count('"role":"assistant"') == 3


@pytest.mark.parametrize(
    ("turn", "flags", "code", "expected"),
    [
        ({"text": "hi"}, [], 0, {"text": "hi", "stop": "end_turn", "code": None, "value": None, "session": None}),
        ({"fail": "no"}, [], 1, {"stop": "error", "code": "provider_rejected", "error": "scripted: no"}),
        ({"text": "{}"}, ["--output-schema", "schema.json"], 1, {"code": "bad_output", "error": UNFIT, "text": "{}"}),
        ({"call": "bash", "args": {"command": "true"}}, ["--max-steps", "1"], 4, {"code": "limit_reached", "steps": 1}),
        ({"text": ""}, [], 6, {"text": "", "code": None}),
    ],
)
def test_the_exit_codes_are_those_of_print(
    linnet: Linnet, turn: Frame, flags: list[str], code: int, expected: Frame
) -> None:
    done = linnet("--mode", "result", "go", *flags, turns=[[turn]] * 2)
    result = json.loads(done.stdout)
    assert (done.returncode, {name: result[name] for name in expected}) == (code, expected)


def test_a_signal_leaves_an_object_too(spawn: Callable[..., Agent], server: ModelServer) -> None:
    agent = spawn("--mode", "result", "!gate never", "--base-url", server.url, "--api-key", "x")
    agent.end_input()
    server.wait_for(requests=1)
    agent.signal(signal.SIGINT)
    result = agent.read()
    assert result is not None
    assert (result["stop"], result["code"]) == ("aborted", "aborted")
    assert agent.wait() == 130


@pytest.fixture(params=["zot", "pi"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def agent(spawn: Callable[..., Agent], dialect: str, tmp_path: Path) -> Callable[..., Agent]:
    def start(*says: str) -> Agent:
        (tmp_path / "script.json").write_text(script(*says))
        mode = ["rpc"] if dialect == "zot" else ["--mode", "rpc", "--no-session", "--stream", "deltas"]
        return spawn(*mode, "--script", str(tmp_path / "script.json"))

    return start


def answered(agent: Agent, dialect: str, **fields: Any) -> list[Frame]:
    agent.send({"id": "1", "type": "prompt", "message": "count", **fields})
    return agent.until("done" if dialect == "zot" else "agent_end")


@pytest.mark.parametrize("spelling", ["output_schema", "outputSchema"])
def test_a_prompt_may_bring_a_schema(agent: Callable[..., Agent], dialect: str, spelling: str) -> None:
    frames = answered(agent("one", '{"n":2}'), dialect, **{spelling: SCHEMA})
    assert frames[-2] == {"type": "output", "value": {"n": 2}}
    assert types(frames).count("output") == types(frames).count("agent_start" if dialect == "pi" else "done") == 1
    asked = [f for f in frames if f["type"] in ("user_message", "message_end") and "cannot be used" in json.dumps(f)]
    assert len(asked) == 1


def test_a_value_that_never_comes_is_said_to_be_missing(agent: Callable[..., Agent], dialect: str) -> None:
    frames = answered(agent("one", "{}"), dialect, **{SPELLED[dialect]: SCHEMA})
    assert [frame for frame in frames if frame["type"] == "output"] == [{"type": "output", "error": UNFIT}]


def test_a_prompt_without_a_schema_is_told_nothing_of_values(agent: Callable[..., Agent], dialect: str) -> None:
    running = agent("one", "two")
    for fields in ({}, {SPELLED[dialect]: None}):
        assert "output" not in types(answered(running, dialect, **fields))


def test_null_is_a_value(agent: Callable[..., Agent], dialect: str) -> None:
    frames = answered(agent("null"), dialect, **{SPELLED[dialect]: {"type": "null"}})
    assert frames[-2] == {"type": "output", "value": None}


@pytest.mark.parametrize("schema", [3, "x", [], {"type": "objekt"}, {"$ref": "#"}])
def test_a_schema_on_the_wire_that_cannot_be_used_is_refused(
    agent: Callable[..., Agent], dialect: str, schema: Any
) -> None:
    answer = agent("hi").ask("prompt", message="count", **{SPELLED[dialect]: schema})
    assert answer["success"] is False
    assert answer["error"].startswith(f"`{SPELLED[dialect]}`")


@pytest.mark.parametrize("fields", [{"type": "steer"}, {"type": "follow_up"}, {"streamingBehavior": "steer"}])
def test_what_is_said_to_a_run_has_no_schema_of_its_own(spawn: Callable[..., Agent], fields: Frame) -> None:
    agent = spawn("--mode", "rpc", "--provider", "scripted", "--no-session")
    agent.send({"id": "1", "type": "prompt", "message": "x", "outputSchema": {}, **fields})
    answer = agent.until("response")[-1]
    assert (answer["success"], answer["error"].split()[0]) == (False, "`outputSchema`")


def test_a_command_of_an_extension_has_no_answer(spawn: Callable[..., Agent], tmp_path: Path) -> None:
    (tmp_path / "ext.py").write_text("def extend(linnet):\n    linnet.command('hi')(lambda args, ctx: None)\n")
    for mode, field in ((["rpc"], "output_schema"), (["--mode", "rpc", "--no-session"], "outputSchema")):
        agent = spawn(*mode, "--provider", "scripted", "-e", str(tmp_path / "ext.py"))
        answer = agent.ask("prompt", message="/hi", **{field: {}})
        assert (answer["success"], "no answer could have a form" in answer["error"]) == (False, True)


def test_linnets_own_clients_have_the_value(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(script('{"n":1}', "?", "{}"))
    args = ("--script", str(tmp_path / "script.json"))
    for client in (ZotClient(args=args), PiClient(args=(*args, "--no-session"))):
        with client:
            assert client.prompt("count", output_schema=SCHEMA).value() == {"n": 1}
            with pytest.raises(RunFailed, match="does not fit"):
                client.prompt("count", output_schema=SCHEMA).value()


def test_and_so_have_those_that_are_awaited(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(script('{"n":1}', "?", "{}"))

    async def main() -> None:
        async with AsyncPiClient(args=("--script", str(tmp_path / "script.json"), "--no-session")) as client:
            assert await client.prompt("count", output_schema=SCHEMA).value() == {"n": 1}
            with pytest.raises(RunFailed, match="does not fit"):
                await client.prompt("count", output_schema=SCHEMA).value()

    asyncio.run(main())


def test_a_value_that_nobody_asked_for_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(script("hi"))
    with (
        ZotClient(args=("--script", str(tmp_path / "script.json"))) as client,
        pytest.raises(RunFailed, match="not asked for a value"),
    ):
        client.prompt("hi").value()


EXTENSION = """
def extend(linnet):
    @linnet.command("tell")
    def tell(args, ctx):
        ctx.notify(f"told {args}", "warning")

    @linnet.command("quiet")
    def quiet(args, ctx):
        pass

    @linnet.command("insert")
    def insert(args, ctx):
        ctx.editor_text("go on with this")

    @linnet.command("broken")
    def broken(args, ctx):
        raise LookupError("no such customer")

    @linnet.on("tool_result")
    def look(event, ctx):
        raise LookupError("not a guard")
"""


@pytest.mark.parametrize("flags", [["-p"], ["--mode", "text"], ["--mode", "result"]])
def test_a_command_that_only_notifies_is_seen(linnet: Linnet, tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "ext.py").write_text(EXTENSION)
    done = linnet(*flags, "/tell \x1b[2Jme", "-e", "ext.py")
    assert done.stderr.startswith("linnet: ext: told ")
    assert "\x1b" not in done.stderr
    assert done.returncode == 0
    assert linnet("-p", "/quiet", "-e", "ext.py").returncode == 0


def test_a_command_that_offers_a_text_prints_it(linnet: Linnet, tmp_path: Path) -> None:
    (tmp_path / "ext.py").write_text(EXTENSION)
    done = linnet("-p", "/insert", "-e", "ext.py")
    assert (done.stdout, done.stderr, done.returncode) == ("go on with this\n", "", 0)


@pytest.mark.parametrize("flags", [["-p"], ["--mode", "json"], ["--mode", "result"]])
def test_a_command_that_breaks_has_failed_and_says_why(linnet: Linnet, tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "ext.py").write_text(EXTENSION)
    done = linnet(*flags, "/broken", "-e", "ext.py")
    assert (done.stderr, done.returncode) == ("linnet: /broken: no such customer\n", 1)
    if "result" in flags:
        result = json.loads(done.stdout)
        assert (result["stop"], result["error"]) == ("error", "/broken: no such customer")


def test_a_hook_that_breaks_in_a_run_is_mentioned(linnet: Linnet, tmp_path: Path) -> None:
    (tmp_path / "ext.py").write_text(EXTENSION)
    turns = [[{"call": "read", "args": {"path": "ext.py"}}], [{"text": "Read."}]]
    done = linnet("-p", "read it", "-e", "ext.py", turns=turns)
    assert (done.stdout, done.returncode) == ("Read.\n", 0)
    assert done.stderr.endswith("ext.py: tool_result: not a guard\n")
