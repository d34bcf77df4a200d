"""Golden transcripts: a folder is a conversation, a file in it is every byte that one dialect prints.

    stdin.jsonl              the lines sent, byte for byte. The next one is sent when what the last one started is over,
                             unless a mark says otherwise (below).
    model.json               what the scripted model does
    flags.json               a list of command-line flags (optional)
    files/                   what is in the working folder at the start (optional)
    stdout.DIALECT.jsonl     what is printed; `--update-golden` writes it, and the diff is the review
    session.DIALECT.jsonl    what the session's file says in the end, if there is one

A mark is a line of stdin.jsonl that starts with `# `. It is not sent; it says what to wait for after the line above it:

    # once TextGrew          until this event of the core has happened since that line was sent
    # at once                nothing

The clock stands still; the folder is printed as CWD, the version as VERSION, a command's time as 0.0 s.
"""

import json
import re
import shutil
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from threading import Condition
from typing import Any

import pytest
from msgspec import Struct

from linnet import __version__
from linnet.core.events import Event
from linnet.flags.flags import Flags, parse
from linnet.runtime.config.config import PI, ZOT, Config
from linnet.runtime.listener import Listener
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.settings.settings import resolve
from linnet.server.dispatch import dispatch
from linnet.store.session_folder import folder as session_folder
from linnet.testing.model_server import ModelServer
from linnet.wire.dialect import Asked, Dialect, Rejected
from linnet.wire.pi.dialect import Pi
from linnet.wire.zot.dialect import Zot

HERE = Path(__file__).parent
NOON = 1_767_268_800_000  # 2026-01-01T12:00:00Z
PATIENCE = 20.0
DIALECTS: dict[str, tuple[Config, Callable[[Flags], Dialect]]] = {
    "zot": (ZOT, lambda flags: Zot(show_thinking=flags.show_thinking)),
    "pi": (PI, lambda flags: Pi(stream=flags.stream)),
}


class Line(Struct, frozen=True):
    """`until`: an event to wait for, or nothing at all if it is empty; None for the end of what the line started."""

    data: bytes
    until: str | None = None


class Desk(Listener):
    """Where the server sits, without its pipes: takes lines, and keeps every byte that would be printed."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._encoder = dialect.encoder()
        self._changed = Condition()
        self._heard: list[str] = []
        self._printed: list[bytes] = []

    @property
    def printed(self) -> bytes:
        return b"".join(self._printed)

    def hear(self, events: Sequence[Event]) -> None:
        self._printed += [bytes(buffer) for line in self._encoder.encode(events) for buffer in line]
        with self._changed:
            self._heard += [type(event).__name__ for event in events]
            self._changed.notify_all()

    def take(self, line: bytes, session: Session) -> None:
        self._heard.clear()
        asked = self._dialect.decode(line)
        if isinstance(asked, Rejected):
            self._printed.append(self._dialect.refuse(asked, asked.reason))
        else:
            dispatch(asked, self._dialect, session, lambda line, succeeded: self._answered(asked, line, succeeded))

    def _answered(self, asked: Asked, line: bytes, succeeded: bool) -> None:
        if succeeded:
            self._dialect.heed(asked)
        self._printed.append(line)

    def wait_for(self, event: str) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: event in self._heard, PATIENCE):
                raise TimeoutError(f"{event} never happened; printed so far:\n{self.printed.decode()}")


def read_script(path: Path) -> list[Line]:
    lines: list[Line] = []
    for data in path.read_bytes().removesuffix(b"\n").split(b"\n"):
        mark = re.fullmatch(rb"# (?:once (\w+)|at once)", data)
        if mark:
            lines[-1] = Line(lines[-1].data, (mark[1] or b"").decode())
        else:
            lines.append(Line(data))
    return lines


def play(folder: Path, dialect: str, cwd: Path, **said: Any) -> tuple[bytes, bytes]:
    """What is printed, and what the files of the sessions say. Unless something else is named, the script is played."""
    if (folder / "files").exists():
        shutil.copytree(folder / "files", cwd, dirs_exist_ok=True)
    flags_file = folder / "flags.json"
    flags = parse(["rpc", *(json.loads(flags_file.read_text()) if flags_file.exists() else [])])
    model = {} if said.keys() & {"recording", "provider"} else {"script": str(folder / "model.json")}
    config = Config(**{"cwd": str(cwd), **model, **said, **flags.config})
    policy, speak = DIALECTS[dialect]
    settings = resolve(config, {"LINNET_HOME": str(cwd / "no-home")}, policy)
    desk = Desk(speak(flags))
    ids, sessions = count(1), count(1)
    session = Session(
        Resources(settings),
        [desk],
        clock=lambda: NOON,
        new_id=lambda: f"{next(ids):08x}",
        new_session_id=lambda: f"SESSION-{next(sessions)}",
    )
    try:
        for line in read_script(folder / "stdin.jsonl"):
            if line.data.strip():
                desk.take(line.data, session)
            if line.until is None:
                session.finish()
            elif line.until:
                desk.wait_for(line.until)
        session.finish()
    finally:
        session.close()
    files = sorted((cwd / "no-home" / "sessions").glob("*/*.jsonl"))
    return desk.printed, b"".join(file.read_bytes() for file in files)


def normalised(printed: bytes, cwd: Path) -> bytes:
    printed = printed.replace(str(cwd).encode(), b"CWD").replace(
        b'"version":"' + __version__.encode(), b'"version":"VERSION'
    )
    printed = printed.replace(session_folder("", str(cwd)).removeprefix("sessions/").encode(), b"--CWD--")
    return re.sub(rb"Took \d+\.\ds", b"Took 0.0s", printed)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "dialect" not in metafunc.fixturenames:
        return
    cases = [(file.parent.name, file.name.split(".")[1]) for file in sorted(HERE.glob("*/stdout.*.jsonl"))]
    if metafunc.config.getoption("--update-golden", default=False):
        new = {file.parent.name for file in HERE.glob("*/stdin.jsonl")} - {name for name, _ in cases}
        cases += [(name, "zot") for name in sorted(new)]
    metafunc.parametrize(("name", "dialect"), cases, ids=[f"{name}-{dialect}" for name, dialect in cases])


def test_a_conversation_prints_exactly_what_it_did(
    name: str, dialect: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    printed, saved = (normalised(data, tmp_path) for data in play(HERE / name, dialect, tmp_path))
    golden, session = (HERE / name / f"{what}.{dialect}.jsonl" for what in ("stdout", "session"))
    if request.config.getoption("--update-golden", default=False):
        golden.write_bytes(printed)
        session.unlink(missing_ok=True)
        if saved:
            session.write_bytes(saved)
    assert printed.split(b"\n") == golden.read_bytes().split(b"\n")
    assert saved.split(b"\n") == (session.read_bytes() if session.exists() else b"").split(b"\n")


def test_a_conversation_that_was_recorded_prints_the_same_when_it_is_played_in_another_folder(
    name: str, dialect: str, tmp_path: Path
) -> None:
    file = str(tmp_path / "recording.jsonl")
    folders = [tmp_path / "there", tmp_path / "elsewhere" / "deeper"]
    for folder in folders:
        folder.mkdir(parents=True)
    recorded = play(HERE / name, dialect, folders[0], record=file)
    if Path(file).exists():  # The model was asked something.
        played = play(HERE / name, dialect, folders[1], recording=file)
        for was, now in zip(recorded, played, strict=True):
            assert normalised(now, folders[1]).split(b"\n") == normalised(was, folders[0]).split(b"\n")


@pytest.mark.parametrize("said_in", DIALECTS)
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_what_came_over_http_prints_the_same_when_it_is_played(
    provider: str, said_in: str, server: ModelServer, tmp_path: Path
) -> None:
    prompts = (
        *("hello", "!think", "!cache", "!utf8", "!toolargs 40", "!thinklength", "!length", "!refusal"),
        *('!tool bash {"command":"pwd; false"}', '!tools [["read",{"path":"x"}],["write",{"path":"y","content":"z"}]]'),
        *("!fail 503 1", "!overflow 1", "!drop 3", "!droptool", "!sseerror overloaded_error", "!fail 400 1"),
    )
    asked_first = [json.dumps({"type": each}) for each in ("get_state", "get_models", "get_available_models")]
    lines = [*asked_first, *(json.dumps({"type": "prompt", "message": each}) for each in prompts)]
    (tmp_path / "stdin.jsonl").write_text("\n".join([*lines, *asked_first]))
    folders = [tmp_path / "there", tmp_path / "elsewhere"]
    for folder in folders:
        folder.mkdir()
    file = str(tmp_path / "recording.jsonl")
    asked = {"provider": provider, "base_url": server.url, "api_key": "x", "record": file}
    was, saved = play(tmp_path, said_in, folders[0], **asked, retry_delay=0.01)
    answered = len(server.requests)
    assert answered > len(prompts)
    now, again = play(tmp_path, said_in, folders[1], recording=file, retry_delay=0.01)
    assert len(server.requests) == answered
    assert normalised(now, folders[1]).split(b"\n") == normalised(was, folders[0]).split(b"\n")
    assert normalised(again, folders[1]).split(b"\n") == normalised(saved, folders[0]).split(b"\n")


def test_every_conversation_is_whole() -> None:
    for folder in (path for path in HERE.iterdir() if path.is_dir() and path.name not in ("__pycache__", "requests")):
        assert (folder / "model.json").exists(), folder.name
        assert (folder / "stdin.jsonl").exists(), folder.name
        dialects = [file.name.split(".")[1] for file in folder.glob("stdout.*.jsonl")]
        assert dialects, f"{folder.name}: run `make golden`"
        assert set(dialects) <= set(DIALECTS), folder.name
