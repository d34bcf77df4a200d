"""Everything that linnet writes for people passes one function. Whoever adds a writer finds it here."""

import ast
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linnet.cli import trust_command
from linnet.server import terminal
from tests.suite import forked
from tests.suite.sources import parsed, reads_sources

ROOT = Path(__file__).parent.parent.parent / "src" / "linnet"
LINNET = str(Path(sys.executable).with_name("linnet"))
NASTY = "\x1b]0;owned\x07\x1b[2J\u202e\x9b1m"

# What may write without it, and why.
ALLOWED = {
    "server/terminal.py": "it is where things are spelled out",
    "logs.py": "what it is given is spelled out there",
    "server/one_shot/progress.py: os.write": "it draws, and spells out what it draws",
    "monitor/tap.py: os.write": "it passes on what an agent prints; the board spells out its own line",
    "server/outlet.py: os.write": "a protocol, and the text of one prompt, which is spelled out for a terminal",
    "client/link.py: os.write": "it copies an agent's stderr byte for byte, as if the agent had inherited ours",
    "cli/auth_command.py: sys.stdout.buffer": "lines of JSON",
    "cli/models_command.py: sys.stdout.buffer": "lines of JSON",
    "cli/sessions_command.py: sys.stdout.buffer": "lines of JSON",
    "cli/sessions_command.py: sys.stdout.writelines": "a page of HTML, which has no such characters",
    "tools/search/searcher.py: sys.stdout.buffer": "a program of ours, on a pipe to us",
    "extensions/mcp/connection.py: logging": "it silences another library",
    "depot/postgres/connections.py: logging": "the same",
}
# Descriptors that are files and pipes of our own, never a terminal.
OWN_DESCRIPTORS = {
    "extensions/programs/log.py",
    "extensions/programs/pipe.py",
    "server/wakeup.py",
    "store/file.py",
    "store/log.py",
    "depot/postgres/notices.py",
    "files/replacing.py",
    "providers/recorded/recorder.py",
    "capture/drive.py",
}


def writers(tree: ast.AST) -> Iterator[str]:
    """What a module calls, or hands on, that may reach stdout or stderr."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "print" and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "input":
            yield "input"
        elif isinstance(node, ast.Attribute):
            dotted = ast.unparse(node)
            if dotted in ("os.write", "os.writev", "os.pwrite"):
                yield "os.write"
            elif dotted.startswith(("sys.stdout.", "sys.stderr.", "sys.__std")) and node.attr not in (
                "flush",
                "isatty",
                "reconfigure",
            ):
                yield ".".join(dotted.split(".")[:3])
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from (name for name in names if name in ("logging", "warnings"))
            if isinstance(node, ast.ImportFrom) and node.module == "sys":
                yield from (f"sys.{alias.name}" for alias in node.names if alias.name in ("stdout", "stderr"))


@reads_sources
def test_no_module_writes_past_the_one_function() -> None:
    found: set[str] = set()
    for path in sorted(ROOT.rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if name.startswith("testing/"):
            continue
        for writer in set(writers(parsed(path))):
            if name not in ALLOWED and not (
                writer == "os.write" and (name in OWN_DESCRIPTORS or name.startswith(("tools/", "processes/")))
            ):
                found.add(f"{name}: {writer}")
    assert found == {name for name in ALLOWED if ":" in name}
    assert all((ROOT / name).exists() for name in OWN_DESCRIPTORS)


@pytest.mark.parametrize(
    "source",
    [
        "print(1)",
        "map(print, x)",
        "sys.stderr.write('')",
        "sys.stdout.buffer.write(b'')",
        "from sys import stderr",
        "import logging",
        "os.write(2, b'')",
        "input('?')",
        "sys.__stdout__.write('')",
    ],
)
def test_a_writer_is_seen(source: str) -> None:
    assert list(writers(ast.parse(source)))


def test_every_way_to_speak_spells_out(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.say(NASTY)
    terminal.ask(NASTY)
    terminal.tell(NASTY)
    said = capsys.readouterr()
    for text in (said.out, said.err):
        assert r"\x1b]0;owned\x07\x1b[2J\u202e\x9b1m" in text
        assert not set(NASTY) & set("\x1b\x07\u202e\x9b") & set(text)


def test_a_value_is_spelled_out_for_people_and_as_it_is_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, shown in ((io.StringIO(), NASTY), (Screen(), r"\x1b]0;owned\x07\x1b[2J\u202e\x9b1m")):
        monkeypatch.setattr(sys, "stdout", stream)
        terminal.hand_over(NASTY)
        assert stream.getvalue() == shown + "\n"


def test_what_is_logged_is_spelled_out_also_in_a_traceback() -> None:
    program = f"""
from linnet import logs
logs.warn("linnet.x", {NASTY!r})
try:
    raise RuntimeError({NASTY!r})
except RuntimeError:
    logs.broke("linnet.y", {NASTY!r})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stderr.decode().count(r"\x1b]0;owned") >= 3
    assert b"\x1b" not in done.stderr
    assert b"RuntimeError: \\x1b" in done.stderr


def _nasty(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A project whose name speaks to terminals, with something to trust, and settings that make no sense."""
    work = tmp_path / f"w\n{NASTY}"
    (work / ".linnet" / "extensions" / NASTY).mkdir(parents=True)
    home = tmp_path / "home"
    home.mkdir()
    return work, {"PATH": os.environ["PATH"], "LINNET_HOME": str(home), "LANG": "C.UTF-8", "TERM": "xterm"}


def test_a_name_cannot_rewrite_the_question_whether_to_trust(tmp_path: Path) -> None:
    work, env = _nasty(tmp_path)
    master, slave = pty.openpty()
    command = [LINNET, "-p", "go", "--provider", "scripted"]
    with subprocess.Popen(command, cwd=work, env=env, stdin=slave, stdout=slave, stderr=slave) as agent:
        seen = b""
        while trust_command.QUESTION.encode() not in seen:
            seen += os.read(master, 65536)
        agent.kill()
    os.close(slave)
    os.close(master)
    assert b"\x1b" not in seen
    assert rb"w\n\x1b]0;owned\x07\x1b[2J\u202e\x9b1m" in seen


@pytest.mark.parametrize(
    "words",
    [["trust"], ["trust", "--list"], ["config"], ["models"], ["sessions"], ["auth"], ["config", "modle"], ["-p", "x"]],
)
def test_no_command_shows_what_a_terminal_would_obey(tmp_path: Path, words: list[str]) -> None:
    work, env = _nasty(tmp_path)
    home = Path(env["LINNET_HOME"])
    models = {"providers": {f"p{NASTY}": {"baseUrl": "http://127.0.0.1:1", "api": "openai", "models": [{"id": NASTY}]}}}
    (home / "models.json").write_text(json.dumps(models))
    (home / "trust.json").write_text(json.dumps({f"/x/{NASTY}": {"answer": "always"}}))
    (home / "settings.json").write_text(json.dumps({f"k{NASTY}": 1, "model": NASTY, "system_prompt": NASTY}))
    done = forked.run([LINNET, *words], cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    shown = (done.stdout + done.stderr).decode()
    assert not set(shown) & set("\x1b\x07\u202e\x9b")
    assert done.stdout or done.stderr


def test_the_answer_is_spelled_out_for_a_terminal_and_as_it_is_for_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps({"turns": [[{"text": f"a{NASTY}z"}]]}))
    env = {"PATH": os.environ["PATH"], "LINNET_HOME": str(tmp_path), "TERM": "dumb"}
    command = [LINNET, "-p", "go", "--script", "script.json"]
    options: dict[str, Any] = {"cwd": tmp_path, "env": env, "stdin": subprocess.DEVNULL, "timeout": 60}
    done = subprocess.run(command, capture_output=True, **options)
    assert done.stdout == f"a{NASTY}z\n".encode()
    master, slave = pty.openpty()
    subprocess.run(command, stdout=slave, stderr=subprocess.DEVNULL, check=True, **options)
    os.close(slave)
    seen = os.read(master, 65536)
    os.close(master)
    assert seen == rb"a\x1b]0;owned\x07\x1b[2J\u202e\x9b1mz" + b"\r\n"
