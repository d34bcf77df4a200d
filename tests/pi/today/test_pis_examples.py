"""The programs that pi's package shows its users, unchanged, with linnet-pi where they start pi."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from linnet.testing.model_server import ModelServer
from tests.suite.real_pi import PACKAGES, PROGRAMS, needed, node, prepared_home

LINNET_PI = Path(sys.executable).with_name("linnet-pi")
SHIM = Path(__file__).parents[1] / "clients" / "shim.mjs"

PATIENCE = 30.0

pytestmark = pytest.mark.foreign


def laid_out(version: str, folder: Path) -> Path:
    """Return a folder like pi's package: its examples, and linnet-pi where its cli.js would be."""
    package = needed(PACKAGES[version])
    (folder / "dist").mkdir(parents=True)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "dist" / "cli.js").write_text(f'import "{SHIM}";\n')
    (folder / "examples").mkdir()
    for file in (package / "examples").glob("*.ts"):
        (folder / "examples" / file.name).write_bytes(file.read_bytes())
    (folder / "examples" / "extensions").symlink_to(package / "examples" / "extensions")
    modules = folder / "node_modules" / "@earendil-works"
    (modules / "pi-coding-agent").mkdir(parents=True)
    client = package / "dist" / "modes" / "rpc" / "rpc-client.js"
    (modules / "pi-coding-agent" / "index.js").write_text(f'export {{ RpcClient }} from "{client}";\n')
    (modules / "pi-coding-agent" / "package.json").write_text('{"type": "module", "main": "index.js"}')
    (modules / "pi-tui").symlink_to(needed(PROGRAMS / "@earendil-works" / "pi-tui"))
    return folder / "examples"


def environment(server: ModelServer, folder: Path) -> dict[str, str]:
    chosen: dict[str, Any] = {"defaultProvider": "ours", "defaultModel": "scripted"}
    found = folder / "bin"
    found.mkdir()
    (found / "node").symlink_to(node())
    home = prepared_home(folder / "home", server.url, **chosen)
    path = f"{found}{os.pathsep}{os.environ['PATH']}"
    return {**home, "PATH": path, "AGENT_UNDER_TEST": str(LINNET_PI), "LINNET_HOME": str(folder / "linnet")}


def test_the_example_of_a_client_prints_what_the_model_says(server: ModelServer, tmp_path: Path) -> None:
    examples = laid_out("pi15", tmp_path / "pi")
    (tmp_path / "work").mkdir()
    done = subprocess.run(
        [node(), str(examples / "rpc-client.ts"), '!tool bash {"command":"echo hi"}'],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path / "work",
        env=environment(server, tmp_path),
    )
    assert (done.returncode, done.stdout) == (0, "Running.tool done\n"), done.stderr
    assert "[tool: bash]" in done.stderr


class Terminal:
    """A program that draws, on a terminal of its own."""

    def __init__(self, command: list[str], cwd: Path, env: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, 120))
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=env, start_new_session=True
        )
        os.close(theirs)
        self.shown = ""

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._ours)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, words: str) -> None:
        """Wait until these words are drawn, after what was waited for before."""
        deadline = monotonic() + PATIENCE
        while words not in self.shown:
            left = deadline - monotonic()
            if left <= 0 or not select.select([self._ours], [], [], left)[0]:
                raise TimeoutError(f"{words!r} was not shown, but {self.shown[-2000:]!r}")
            self.shown += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", os.read(self._ours, 65536).decode(errors="replace"))
        self.shown = self.shown.partition(words)[2]


def test_the_example_of_dialogs_shows_what_the_agent_says_and_asks(server: ModelServer, tmp_path: Path) -> None:
    examples = laid_out("pi15", tmp_path / "pi")
    (tmp_path / "work").mkdir()
    env = {**environment(server, tmp_path), "TERM": "xterm-256color"}
    with Terminal([node(), str(examples / "rpc-extension-ui.ts")], tmp_path / "work", env) as terminal:
        terminal.until("/select")
        terminal.type("hello")
        terminal.until("hello")
        terminal.type("\r")
        terminal.until("Hello from the scripted model.")

        # What the example's extension, in TypeScript, asks and shows.
        terminal.type("/rpc-input\r")
        terminal.until("Enter a value")
        terminal.type("forty two\r")
        terminal.until("You entered: forty two")
        terminal.type('!tool bash {"command":"sudo true"}\r')
        terminal.until("Dangerous command: sudo true")
        terminal.type("\x1b[B\r")  # The second of its two answers.
        terminal.until("Command blocked by user")
