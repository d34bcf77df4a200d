"""A secret that stands in models.json as a header, under a name that says nothing, looked for in all that comes out."""

import json
import os
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess
from threading import Thread
from typing import Any

import pytest

from linnet import Runtime
from tests.suite import forked

LINNET = str(Path(sys.executable).with_name("linnet"))
PASS = f"open/sesame+{os.urandom(6).hex()}"
HEADERS = [{"X-Door": PASS}, {"X-Door": f"Knock {PASS}"}, {"Cookie": f"theme=dark; visit={PASS}; last=1"}]
SHAPES = ["provider", "model", "override", "list"]


class Echo(BaseHTTPRequestHandler):
    """Refuses with what it was sent. A path that begins with `say` has the model say it, a few characters at a time."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        said = str(self.headers.items())
        self.server.heard.append(said)  # type: ignore[attr-defined]
        status, kind, body = "401 No", "application/json", json.dumps({"error": {"message": said}})
        if self.path.startswith("/say"):
            pieces = [said[at : at + 5] for at in range(0, len(said), 5)]
            chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"content": each}}]} for each in pieces]
            chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            body = "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + "data: [DONE]\n\n"
            status, kind = "200 OK", "text/event-stream"
        head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.wfile.write(f"{head}{body}".encode())
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def echo() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        server.heard = []  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


def written(home: Path, url: str, header: dict[str, str], shape: str = "provider") -> tuple[str, str]:
    """Write models.json, and return the names of the provider and the model in it."""
    own: dict[str, Any] = {"baseUrl": url, "api": "openai-completions", "apiKey": "k", "models": [{"id": "m"}]}
    content: Any = {"providers": {"lan": own}}
    names = "lan", "m"
    if shape == "provider":
        own["headers"] = header
    elif shape == "model":
        own["models"] = [{"id": "m", "headers": header}]
    elif shape == "override":
        content = {"providers": {"openai": {"baseUrl": url, "modelOverrides": {"gpt-4.1": {"headers": header}}}}}
        names = "openai", "gpt-4.1"
    else:
        content = [{"id": "gpt-4.1", "provider": "openai", "base_url": url, "headers": header}]
        names = "openai", "gpt-4.1"
    (home / "models.json").write_text(json.dumps(content))
    return names


def run(home: Path, *words: str, **env: str) -> CompletedProcess[str]:
    return forked.run(
        [LINNET, *words],
        capture_output=True,
        text=True,
        cwd=home,
        env={"PATH": os.environ["PATH"], "LINNET_HOME": str(home), **env},
        timeout=50,
    )


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_an_error_and_a_trace_do_not_show_it(
    shape: str, header: dict[str, str], echo: ThreadingHTTPServer, home: Path
) -> None:
    provider, model = written(home, f"http://127.0.0.1:{echo.server_port}", header, shape)
    flags = ("--provider", provider, "--model", model, "--retries", "0", "--debug")
    done = run(home, "-p", "hi", *flags, OPENAI_API_KEY="k")
    assert PASS in echo.heard[-1]  # type: ignore[attr-defined]
    assert done.returncode == 1
    assert "[key]" in done.stderr
    for text in (done.stdout, done.stderr, *(file.read_text() for file in home.rglob("*.jsonl"))):
        assert PASS not in text


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_recording_has_it_nowhere(
    shape: str, header: dict[str, str], echo: ThreadingHTTPServer, home: Path, tmp_path: Path
) -> None:
    provider, model = written(home, f"http://127.0.0.1:{echo.server_port}/say", header, shape)
    file = tmp_path / "recording.jsonl"
    done = run(
        home,
        "-p",
        f"repeat {PASS}",
        "--provider",
        provider,
        "--model",
        model,
        "--record",
        str(file),
        OPENAI_API_KEY="k",
    )
    assert done.returncode == 0, done.stderr
    assert PASS in done.stdout  # The model may say what it likes to whoever asks it.
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert PASS not in file.read_text()
    said = "".join(row[1] for line in lines for row in line.get("deltas", ()) if row[0] == "TextDelta")
    assert "[REDACTED]" in said
    assert PASS not in said
    played = run(home, "-p", f"repeat {PASS}", "--provider", "replay", "--recording", str(file))
    assert (played.returncode, played.stderr) == (0, "")
    assert played.stdout.strip() == said


def test_a_server_that_is_asked_for_its_models_is_not_quoted_with_it(echo: ThreadingHTTPServer, home: Path) -> None:
    url = f"http://127.0.0.1:{echo.server_port}"
    content = {"providers": {"ollama": {"baseUrl": url, "apiKey": "a-key-of-mine", "headers": {"X-Door": PASS}}}}
    (home / "models.json").write_text(json.dumps(content))
    done = run(home, "models", "--provider", "ollama")
    assert PASS in echo.heard[-1]  # type: ignore[attr-defined]
    assert "it cannot be asked which models it has" in done.stderr
    assert "[key]" in done.stderr
    assert PASS not in done.stderr
    assert "a-key-of-mine" not in done.stderr


def test_a_capture_of_an_agent_that_shows_it_does_not(echo: ThreadingHTTPServer, home: Path) -> None:
    written(home, f"http://127.0.0.1:{echo.server_port}", {"X-Door": PASS})
    (home / "auth.json").write_text(json.dumps({"anthropic": "kept-in-a-file"}))
    (home / "auth.json").chmod(0o600)
    (home / "script.txt").write_text("wait 10ms\n")
    code = f"print({json.dumps({'type': 'x', 'said': PASS + ' kept-in-a-file'})!r}, flush=True); input()"
    files = ("--script", "script.txt", "--raw", "raw.jsonl", "--out", "report.md")
    done = run(home, "capture", *files, "--", sys.executable, "-c", code)
    for text in (done.stdout, done.stderr, (home / "raw.jsonl").read_text(), (home / "report.md").read_text()):
        assert PASS not in text
        assert "kept-in-a-file" not in text
    assert "[REDACTED]" in (home / "raw.jsonl").read_text()


def test_the_sdk_does_not_show_it(echo: ThreadingHTTPServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider, model = written(home, f"http://127.0.0.1:{echo.server_port}", {"X-Door": PASS}, "model")
    monkeypatch.setenv("LINNET_HOME", str(home))
    with Runtime(cwd=home, provider=provider, model=model, retries=0) as runtime:
        result = runtime.run("hi")
        assert PASS in echo.heard[-1]  # type: ignore[attr-defined]
        assert result.error
        assert "[key]" in result.error
        assert PASS not in repr(result) + repr(runtime.list_models(everywhere=True))


def test_headers_that_say_nothing_secret_leave_errors_readable(echo: ThreadingHTTPServer, home: Path) -> None:
    plain = {
        "User-Agent": "acme-agent/1.0",
        "HTTP-Referer": "https://acme.example",
        "X-Title": "Acme tools",
        "X-On": "yes",
    }
    provider, model = written(home, f"http://127.0.0.1:{echo.server_port}", plain)
    done = run(home, "-p", "hi", "--provider", provider, "--model", model, "--retries", "0")
    for value in plain.values():
        assert value in done.stderr
    written(home, f"http://127.0.0.1:{echo.server_port}", {"X-Site": "https://inner.acme.example", **plain})
    done = run(home, "-p", "hi", "--provider", provider, "--model", model, "--retries", "0")
    assert "inner.acme" not in done.stderr
    assert "https://acme.example" in done.stderr  # Not everything that begins like it is hidden.
