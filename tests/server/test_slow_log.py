"""An agent on a pipe whose log may wait: lines leave in order, and it ends when somebody else owns its session."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from linnet.runtime.config.config import PI, Config
from linnet.runtime.listener import Listener
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.sessions import telling
from linnet.runtime.settings.settings import resolve
from linnet.server.serve import Server
from linnet.server.stdio import Stdio
from linnet.store.factory import LogFactory, MemoryLogs
from linnet.testing.slow_log import SlowLogs
from linnet.wire.pi.dialect import Pi

COMMANDS: list[dict[str, Any]] = [
    {"id": "1", "type": "get_state"},
    {"id": "2", "type": "set_session_name", "name": "mine"},
    {"id": "3", "type": "prompt", "message": "go"},
    {"id": "4", "type": "no such command"},
    {"id": "5", "type": "set_thinking_level", "level": "low"},
]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., "Served"]]:
    monkeypatch.setattr(telling, "DELAYS", (0.0, 0.001))
    with ExitStack() as stack:
        yield lambda logs: stack.enter_context(Served(tmp_path, logs))


class Served:
    """A server in a thread of its own, on pipes of its own."""

    def __init__(self, folder: Path, logs: LogFactory) -> None:
        script = folder / "script.json"
        script.write_text(json.dumps({"turns": [[{"text": "one"}]]}))
        settings = resolve(Config(script=script, cwd=folder, save=True), {"LINNET_HOME": str(folder / "home")}, PI)
        source, self._stdin = os.pipe()
        self._stdout, sink = os.pipe()
        self.code: int | None = None

        def open_session(listener: Listener) -> Session:
            return Session(Resources(settings), [listener], logs=logs, new_session_id=lambda: "session-1")

        self._server = Server()
        self._server.connect(Pi(), Stdio(source, sink), open_session)
        self._thread = Thread(target=self._run)

    def __enter__(self) -> "Served":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def _run(self) -> None:
        self.code = self._server.run()

    def talk(self, *commands: dict[str, Any]) -> list[dict[str, Any]]:
        """Send them all, and return all that is printed until the agent ends."""
        os.write(self._stdin, b"".join(json.dumps(each).encode() + b"\n" for each in commands))
        os.close(self._stdin)
        self._thread.join()  # All that it prints has room in the pipe.
        return [json.loads(line) for line in os.read(self._stdout, 1 << 20).splitlines()]


def test_answers_to_lines_that_make_no_sense_keep_their_place_too(serve: Callable[..., Served]) -> None:
    expected = serve(MemoryLogs()).talk(*COMMANDS)
    logs = SlowLogs(["works", "fails", "is lost", "fails"])
    served = serve(logs)
    frames = [frame for frame in served.talk(*COMMANDS) if frame["type"] != "session_error"]
    assert served.code == 0
    kinds = [(frame["type"], frame.get("id"), frame.get("success")) for frame in frames]
    assert sorted(map(str, kinds)) == sorted(str((f["type"], f.get("id"), f.get("success"))) for f in expected)
    assert [frame["id"] for frame in frames if frame["type"] == "response"] == ["1", "2", "3", "4", "5"]
    assert any("mine" in line.decode() for line in logs.lines("session-1"))


def test_an_agent_whose_session_has_another_owner_answers_all_it_was_asked_says_why_and_fails(
    serve: Callable[..., Served], capfd: pytest.CaptureFixture[str]
) -> None:
    logs = SlowLogs(["works", "works", "is refused"])
    served = serve(logs)
    frames = served.talk(*COMMANDS)
    assert served.code == 1
    reason = "the session session-1 cannot be written to any more: it has another owner by now; this agent has ended"
    assert reason in capfd.readouterr().err
    answers = {frame["id"]: frame for frame in frames if frame["type"] == "response"}
    assert len(answers) == len(COMMANDS)
    assert {answer["error"] for id, answer in answers.items() if not answer["success"] and id != "4"} == {reason}
    assert not any("mine" in line.decode() for line in logs.lines("session-1"))
