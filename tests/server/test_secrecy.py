"""One planted key, through every mode, looked for in everything that comes out."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from linnet import Runtime
from linnet.providers.faults import without
from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer

KEY = f"sk-planted-{os.urandom(8).hex()}"  # Others run these tests at the same time, and a command sees all.
TOKEN = f"token-planted-{os.urandom(8).hex()}"
LINNET = str(Path(sys.executable).with_name("linnet"))
MCP = Path(__file__).parents[1] / "extensions" / "mcp" / "scripted_server.py"
# Everything that a command can see of the agent, of whoever is between them, and of everybody else.
LOOK = "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; echo looked"


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was sent: in an error, in a stream, in an answer of another kind, in a redirect."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        kind = self.path.split("/")[1]
        said = str(self.headers.items())
        status, type, body = 401, "application/json", json.dumps({"error": {"message": said}})
        if kind == "cut":
            body = json.dumps({"error": {"message": "x" * 2010 + KEY}})
        elif kind == "busy":
            status = 503
        elif kind == "page":
            status, type, body = 200, "text/html", "x" * 490 + said
        elif kind == "stream":
            status, type = 200, "text/event-stream"
            fault = {"type": "error", "error": {"type": "authentication_error", "message": said}}
            body = f"event: error\ndata: {json.dumps(fault)}\n\n"
        elif kind == "redirect":
            status, body = 302, ""
        self.server.heard.append(said)  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("content-type", type)
        self.send_header("content-length", str(len(body)))
        self.send_header("location", f"https://elsewhere.example/?key={KEY}")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def echo() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    server.heard = []  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def given(how: str, home: Path) -> tuple[list[str], dict[str, str]]:
    """Flags and variables of an agent that has the key."""
    env = {"LINNET_HOME": str(home)}
    if how == "variable":
        return [], {**env, "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY, "DEEPSEEK_API_KEY": KEY}
    if how == "flag":
        return ["--api-key", KEY], env
    if how == "joined flag":
        return [f"--api-key={KEY}"], env
    home.mkdir(exist_ok=True)
    (home / "auth.json").write_text(json.dumps({"anthropic": KEY if how == "file" else f"!cat {home}/key"}))
    (home / "auth.json").chmod(0o600)
    (home / "key").write_text(KEY)
    return [], env


MODES = {
    "zot": ["rpc"],
    "pi": ["--mode", "rpc"],
    "text": ["-p"],
    "json": ["--mode", "json"],
}
HOWS = ["variable", "flag", "joined flag", "file", "command"]


@pytest.mark.parametrize(
    ("mode", "how"), [*((mode, "variable") for mode in MODES), *(("zot", how) for how in HOWS[1:])]
)
def test_commands_see_no_key_and_no_output_has_it(mode: str, how: str, tmp_path: Path, server: ModelServer) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    flags, env = given(how, home)
    say = f"!tool bash {json.dumps({'command': LOOK})}"
    line = {"id": "1", "type": "prompt", "message": say}
    bash = {"id": "2", "type": "bash", "command": LOOK}
    asked = [line, bash] if mode == "pi" else [line]
    rpc = mode in ("zot", "pi")
    done = subprocess.run(
        [LINNET, *MODES[mode], "--base-url", server.url, "--session", str(tmp_path / "session.jsonl"), *flags],
        input="".join(json.dumps(each) + "\n" for each in asked) if rpc else say,
        capture_output=True,
        text=True,
        cwd=work,
        env={"PATH": os.environ["PATH"], **env},
        timeout=50,
    )
    assert server.requests[-1].headers["x-api-key"] == KEY
    assert done.returncode == 0
    session = (tmp_path / "session.jsonl").read_text()
    assert "looked" in session
    page = subprocess.run(
        [LINNET, "export", str(tmp_path / "session.jsonl"), "-o", "-"],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], **env},
        cwd=work,
    )
    assert "looked" in page.stdout
    for text in (done.stdout, done.stderr, session, page.stdout, page.stderr, json.dumps(server.requests[-1].body)):
        assert KEY not in text


def test_a_token_is_nowhere_either(spawn: Callable[..., Agent], server: ModelServer) -> None:
    agent = spawn("rpc", "--base-url", server.url, "--api-key", "x", env={"ZOTCORE_RPC_TOKEN": TOKEN})
    agent.ask("hello", token=TOKEN)
    frames = agent.prompt(f"!tool bash {json.dumps({'command': LOOK})}")
    assert "looked" in str(frames)
    assert TOKEN not in str(agent.seen) + agent.stderr


def test_keys_are_passed_where_somebody_says_so(spawn: Callable[..., Agent], server: ModelServer) -> None:
    env = {"ANTHROPIC_API_KEY": KEY, "ZOTCORE_RPC_TOKEN": TOKEN}
    agent = spawn("rpc", "--base-url", server.url, "--pass-keys", env=env)
    agent.ask("hello", token=TOKEN)
    seen = str(agent.prompt('!tool bash {"command":"echo $ANTHROPIC_API_KEY; env"}'))
    assert KEY in seen
    assert TOKEN not in seen


@pytest.mark.parametrize("passing", [False, True])
def test_the_sdk_decides_in_the_same_way_and_leaves_its_host_alone(
    passing: bool, tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with Runtime(cwd=tmp_path, base_url=server.url, pass_keys=passing) as runtime:
        assert (KEY in runtime.bash("env").output) is passing
    assert os.environ["ANTHROPIC_API_KEY"] == KEY


@pytest.mark.parametrize("passing", [(), ("--pass-keys",)])
def test_an_mcp_server_sees_no_key_unless_it_is_told(
    passing: tuple[str, ...], spawn: Callable[..., Agent], server: ModelServer, tmp_path: Path
) -> None:
    entry = {"command": sys.executable, "args": [str(MCP)], "startTimeout": 100}
    told = {**entry, "env": {"ANTHROPIC_API_KEY": "${ANTHROPIC_API_KEY}"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"odd": entry, "told": told}}))
    flags = ("--mcp-config", str(tmp_path / "mcp.json"), "--mcp-wait", "100", *passing)
    agent = spawn("rpc", "--base-url", server.url, *flags, env={"ANTHROPIC_API_KEY": KEY})
    for name, sees in (("odd", bool(passing)), ("told", True)):
        frames = agent.prompt(f'!tool mcp__{name}__env {{"name": "ANTHROPIC_API_KEY"}}')
        assert (KEY in str(frames)) is sees


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize("kind", ["error", "cut", "busy", "page", "stream", "redirect"])
def test_a_server_that_echoes_the_key_is_not_quoted_with_it(
    kind: str, provider: str, echo: ThreadingHTTPServer, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{echo.server_port}/{kind}"
    session = tmp_path / "session.jsonl"
    with Runtime(
        cwd=tmp_path, provider=provider, base_url=url, api_key=KEY, retries=0, session=session
    ) as runtime:  # fmt: skip
        result = runtime.run("hi")
    assert KEY in echo.heard[-1]  # type: ignore[attr-defined]
    assert result.error
    assert "[key]" in result.error or kind in ("cut", "page")
    for text in (repr(result), session.read_text()):
        assert "sk-planted" not in text


@pytest.mark.parametrize("mode", MODES)
def test_an_error_of_such_a_server_is_clean_in_every_mode(mode: str, echo: ThreadingHTTPServer, tmp_path: Path) -> None:
    line = json.dumps({"id": "1", "type": "prompt", "message": "hi"}) + "\n"
    done = subprocess.run(
        [LINNET, *MODES[mode], "--base-url", f"http://127.0.0.1:{echo.server_port}/error", "--no-session"],
        input=line if mode in ("zot", "pi") else "hi",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "LINNET_HOME": str(tmp_path), "ANTHROPIC_API_KEY": KEY},
        timeout=20,
    )
    assert KEY in echo.heard[-1]  # type: ignore[attr-defined]
    assert "[key]" in done.stdout + done.stderr
    assert KEY not in done.stdout + done.stderr


def test_captures_and_monitors_of_an_agent_have_no_key(tmp_path: Path, server: ModelServer) -> None:
    (tmp_path / "script.txt").write_text('{"id":"1","type":"prompt","message":"hi"}\nwait done\n')
    agent = [LINNET, "rpc", "--base-url", server.url, "--api-key", KEY]
    env = {"PATH": os.environ["PATH"], "LINNET_HOME": str(tmp_path), "OPENAI_API_KEY": KEY}
    files = ["--script", "script.txt", "--out", "report.md", "--raw", "raw.jsonl"]
    for words, say in (
        (["capture", *files], ""),
        (["monitor", "--json"], '{"id":"1","type":"prompt","message":"hi"}\n'),
    ):
        done = subprocess.run(
            [LINNET, *words, "--", *agent], input=say, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=50
        )
        assert done.returncode == 0, done.stderr
        assert KEY not in done.stdout + done.stderr
    assert server.requests[-1].headers["x-api-key"] == KEY
    for name in ("report.md", "raw.jsonl"):
        assert KEY not in (tmp_path / name).read_text()


def test_a_text_loses_every_secret_but_no_word_that_is_as_short() -> None:
    assert without(f"a {KEY}, {KEY}{TOKEN}", [KEY, TOKEN]) == "a [key], [key][key]"
    assert without("axe and x", ["x"]) == "axe and x"


def test_keys_of_providers_of_ones_own_are_secret_too(
    spawn: Callable[..., Agent], server: ModelServer, tmp_path: Path
) -> None:
    own = {"baseUrl": server.url, "api": "openai-completions", "models": [{"id": "m"}]}
    home = tmp_path / "home"
    home.mkdir()
    providers = {"named": {**own, "apiKey": "ACME_KEY"}, "written": {**own, "apiKey": KEY}}
    (home / "models.json").write_text(json.dumps({"providers": providers}))
    env = {"LINNET_HOME": str(home), "ACME_KEY": KEY}
    for provider in providers:
        agent = spawn("rpc", "--provider", provider, "--model", "m", env=env)
        assert "looked" in str(agent.prompt(f"!tool bash {json.dumps({'command': LOOK})}"))
        assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
        agent.ask("get_models")
        assert KEY not in str(agent.seen) + agent.stderr
    for words in (["models"], ["models", "--json"], ["auth"], ["auth", "--json"]):
        done = subprocess.run(
            [LINNET, *words], capture_output=True, text=True, env={"PATH": os.environ["PATH"], **env}, timeout=20
        )
        assert "named" in done.stdout
        assert KEY not in done.stdout + done.stderr
