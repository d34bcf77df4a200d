"""One planted key, through every mode, looked for in everything that comes out."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote

import pytest

from linnet import Runtime
from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer
from tests.suite import forked
from tests.suite.forked import ForkedAgentWithMcp

KEY = f"sk-planted-{os.urandom(8).hex()}"  # Others run these tests at the same time, and a command sees all.
TOKEN = f"token-planted-{os.urandom(8).hex()}"
LINNET = str(Path(sys.executable).with_name("linnet"))
MCP = Path(__file__).parents[1] / "extensions" / "mcp" / "scripted_server.py"
# Everything that a command can see of the agent, of whoever is between them, and of everybody else.
LOOK = "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; echo looked"


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was sent, in every place of an answer that ends up in an error."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        kind = self.path.split("/")[1]
        said = str(self.headers.items())
        self.server.heard.append(said)  # type: ignore[attr-defined]
        fault = {"type": "error", "error": {"type": "authentication_error", "message": said}}
        events = f"event: error\ndata: {json.dumps(fault)}\n\n"
        answers = {
            "error": ("401 No", "application/json", json.dumps({"error": {"message": said}})),
            "cut": ("401 No", "application/json", json.dumps({"error": {"message": "x" * 2010 + KEY}})),
            "busy": ("503 Busy", "application/json", json.dumps({"error": {"message": said}})),
            "page": ("200 OK", "text/html", "x" * 490 + said),
            "html": ("401 No", "text/html", f"<p>{''.join(f'&#{ord(each)};' for each in KEY)}</p>"),
            "quoted": ("400 No", "text/plain", f"at /?key={''.join(f'%{ord(each):02x}' for each in KEY)}"),
            "coded": ("403 No", "text/plain", base64.b64encode(f"user:{KEY}".encode()).decode()),
            "escaped": ("401 No", "application/json", '{"error":"' + "".join(f"\\u{ord(c):04x}" for c in KEY) + '"}'),
            "stream": ("200 OK", "text/event-stream", events),
            "redirect": ("302 Found", "text/plain", ""),
            "type": ("200 OK", f"text/html{KEY}", "x"),
            "encoding": ("200 OK", "text/event-stream", "x"),
        }
        status, type, body = answers.get(kind, ("200 OK", "text/event-stream", ""))
        head = f"HTTP/1.1 {status}\r\ncontent-type: {type}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n"
        if kind == "redirect":
            head += f"location: https://elsewhere.example/?key={KEY}\r\n"
        elif kind == "encoding":
            head += f"content-encoding: {KEY}\r\n"
        elif kind == "status":
            head = f"{KEY} 200 OK\r\n"
        elif kind == "header":
            head += f"{KEY}\r\n"
        elif kind == "length":
            head = f"HTTP/1.1 200 OK\r\ncontent-length: {KEY}\r\n"
        elif kind == "chunk":
            head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
            body = f"{KEY}\r\n"
        elif kind == "event":
            head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
            body = "".join(f"1\r\n{each}\r\n" for each in events) + "0\r\n\r\n"
        self.wfile.write(f"{head}\r\n{body}".encode())
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


ECHOES = [
    "error", "cut", "busy", "page", "html", "quoted", "coded", "escaped", "stream", "redirect", "type", "encoding",
    "status", "header", "length", "chunk", "event",
]  # fmt: skip


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
    page = forked.run(
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


@pytest.mark.parametrize("mode", ["pi", "text", "json", "monitor"])
def test_a_token_is_nowhere_in_any_mode(mode: str, tmp_path: Path, server: ModelServer) -> None:
    """Also where nobody asks for it: whoever spawned linnet may have it for another purpose."""
    say = f"!tool bash {json.dumps({'command': LOOK})}"
    lines = [{"id": "0", "type": "hello", "token": TOKEN}, {"id": "1", "type": "prompt", "message": say}]
    rpc = {"pi": lines[1:], "monitor": lines}.get(mode)
    words = ["monitor", "--", LINNET, "rpc", "--api-key", KEY] if mode == "monitor" else MODES[mode]
    env = {"PATH": os.environ["PATH"], "LINNET_HOME": str(tmp_path), "ZOTCORE_RPC_TOKEN": TOKEN, "OPENAI_API_KEY": KEY}
    session = tmp_path / "session.jsonl"
    done = subprocess.run(
        [LINNET, *words, "--base-url", server.url, "--session", str(session), "--provider", "openai"],
        input="".join(json.dumps(each) + "\n" for each in rpc) if rpc is not None else say,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=env,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    assert "looked" in session.read_text()
    for text in (done.stdout, done.stderr, session.read_text()):
        assert TOKEN not in text
        assert KEY not in text


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


@pytest.mark.xdist_group("mcp")  # One process that has loaded the package for them.
@pytest.mark.parametrize("passing", [(), ("--pass-keys",)])
def test_an_mcp_server_sees_no_key_unless_it_is_told(
    passing: tuple[str, ...], server: ModelServer, tmp_path: Path
) -> None:
    entry = {"command": sys.executable, "args": [str(MCP)], "startTimeout": 100}
    told = {**entry, "env": {"ANTHROPIC_API_KEY": "${ANTHROPIC_API_KEY}"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"odd": entry, "told": told}}))
    flags = ("--mcp-config", str(tmp_path / "mcp.json"), "--mcp-wait", "100", *passing)
    env = {"ANTHROPIC_API_KEY": KEY}
    with ForkedAgentWithMcp("rpc", "--base-url", server.url, *flags, cwd=tmp_path, env=env) as agent:
        for name, sees in (("odd", bool(passing)), ("told", True)):
            frames = agent.prompt(f'!tool mcp__{name}__env {{"name": "ANTHROPIC_API_KEY"}}')
            assert (KEY in str(frames)) is sees


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize("kind", ECHOES)
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
    assert "[key]" in result.error or kind in ("page", "encoding", "type")
    for text in (repr(result), session.read_text()):
        assert "sk-planted" not in unquote(text)
        assert KEY[11:] not in text
        assert base64.b64encode(KEY.encode()).decode()[4:16] not in text


@pytest.mark.parametrize("header", [{"X-Pass": "for $HALL_PASS"}, {"X-Gateway-Key": KEY}])
@pytest.mark.parametrize("where", ["provider", "model"])
def test_nor_with_what_a_header_of_models_json_has(
    header: dict[str, str], where: str, echo: ThreadingHTTPServer, tmp_path: Path
) -> None:
    model = {"id": "m", **({"headers": header} if where == "model" else {})}
    lan = {
        "baseUrl": f"http://127.0.0.1:{echo.server_port}/error",
        "api": "openai-completions",
        "models": [model],
        **({"headers": header} if where == "provider" else {}),
    }
    (tmp_path / "models.json").write_text(json.dumps({"providers": {"lan": lan}}))
    done = forked.run(
        [LINNET, "-p", "hi", "--provider", "lan", "--no-session", "--retries", "0"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "LINNET_HOME": str(tmp_path), "HALL_PASS": KEY},
        timeout=20,
    )
    assert KEY in echo.heard[-1]  # type: ignore[attr-defined]
    assert "[key]" in done.stderr
    assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize("mode", MODES)
def test_an_error_of_such_a_server_is_clean_in_every_mode(mode: str, echo: ThreadingHTTPServer, tmp_path: Path) -> None:
    line = json.dumps({"id": "1", "type": "prompt", "message": "hi"}) + "\n"
    done = forked.run(
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
    assert "(the key is that of ANTHROPIC_API_KEY)" in done.stdout + done.stderr
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
        done = forked.run(
            [LINNET, *words, "--", *agent], input=say, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=50
        )
        assert done.returncode == 0, done.stderr
        assert KEY not in done.stdout + done.stderr
    assert server.requests[-1].headers["x-api-key"] == KEY
    for name in ("report.md", "raw.jsonl"):
        assert KEY not in (tmp_path / name).read_text()


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
        done = forked.run(
            [LINNET, *words], capture_output=True, text=True, env={"PATH": os.environ["PATH"], **env}, timeout=20
        )
        assert "named" in done.stdout
        assert KEY not in done.stdout + done.stderr
