"""Sessions in one's own process: nothing is kept unless asked for, and everything a client can do a program can do."""

import asyncio
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from linnet import AsyncRuntime, Config, LinnetError, Runtime
from linnet.errors import BadInput, Closed, ConfigError, SessionError
from linnet.store.log import FileLog
from linnet.testing.model_server import ModelServer

HELLO = "Hello from the scripted model."
Open = Callable[..., Runtime]


@pytest.fixture
def start(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Runtimes on the scripted server, closed in the end."""
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    with ExitStack() as stack:

        def start(**options: Any) -> Runtime:
            config = Config(
                provider="anthropic", base_url=server.url, api_key="x", cwd=str(tmp_path / "work"), **options
            )
            return stack.enter_context(Runtime(config))

        yield start


def say(runtime: Runtime, *prompts: str) -> None:
    for prompt in prompts:
        list(runtime.prompt(prompt))


def said(runtime: Runtime) -> list[str]:
    return [text for _, text in runtime.sessions.prompts()]


def test_nothing_is_kept_unless_somebody_asks(start: Open, tmp_path: Path) -> None:
    runtime = start()
    say(runtime, "hi")
    assert runtime.sessions.file is None
    assert runtime.sessions.id
    runtime.close()
    assert not (tmp_path / "home").exists()
    assert list((tmp_path / "work").iterdir()) == []


def test_where_nothing_is_kept_there_is_nothing_to_branch_from(start: Open) -> None:
    runtime = start()
    say(runtime, "hi")
    reason = "this agent keeps no session; start it with session or resume"
    for ask in (runtime.sessions.prompts, runtime.sessions.outline, runtime.sessions.listed, runtime.sessions.clone):
        with pytest.raises(BadInput, match=reason):
            ask()
    with pytest.raises(LinnetError, match="Cannot export in-memory session to HTML"):
        runtime.sessions.export_html()
    before = runtime.sessions.id
    runtime.sessions.new()
    assert runtime.sessions.id != before
    assert runtime.messages() == []


def test_a_session_in_a_file_is_gone_on_with(start: Open, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    with start(session=str(file)) as runtime:
        assert runtime.sessions.file == str(file)
        assert file.exists()
        say(runtime, "one")
    again = start(session=str(file))
    say(again, "two")
    assert said(again) == ["one", "two"]
    assert len(again.messages()) == 4


def test_the_newest_session_is_gone_on_with(start: Open, tmp_path: Path) -> None:
    with start(save=True) as runtime:
        say(runtime, "one")
        file = runtime.sessions.file
    assert file is not None
    assert Path(file).is_relative_to(tmp_path / "home" / "sessions")
    assert start(resume=True).sessions.file == file


def test_a_folder_for_sessions_may_be_chosen(start: Open, tmp_path: Path) -> None:
    runtime = start(save=True, session_dir=str(tmp_path / "kept"))
    assert Path(str(runtime.sessions.file)).parent == tmp_path / "kept"
    assert start(session_dir=str(tmp_path / "kept")).sessions.file is None


def test_a_copy_is_gone_on_with(start: Open, tmp_path: Path) -> None:
    file = str(tmp_path / "mine.jsonl")
    original = start(session=file)
    say(original, "one")
    copy = start(fork=file)
    say(copy, "two")
    assert said(copy) == ["one", "two"]
    assert said(original) == ["one"]


@pytest.fixture
def runtime(start: Open) -> Runtime:
    runtime = start(save=True)
    say(runtime, "one", "two")
    return runtime


def test_new_and_back(runtime: Runtime) -> None:
    sessions = runtime.sessions
    first, id = str(sessions.file), sessions.id
    sessions.new(parent=first)
    assert sessions.file != first
    assert sessions.id != id
    assert runtime.messages() == []
    assert json.loads(Path(str(sessions.file)).read_text().splitlines()[0])["parentSession"] == first
    sessions.switch(first)
    assert (sessions.file, sessions.id) == (first, id)
    assert len(runtime.messages()) == 4
    sessions.new()
    sessions.switch(id[:8])
    assert sessions.file == first


def test_branch_clone_and_navigate(runtime: Runtime) -> None:
    sessions = runtime.sessions
    first = sessions.file
    (one, _), (two, text) = sessions.prompts()
    assert text == "two"
    assert sessions.branch(two) == "two"
    assert sessions.file != first
    assert len(runtime.messages()) == 2
    sessions.clone()
    assert len(runtime.messages()) == 2
    sessions.navigate(one)
    assert [message.role for message in runtime.messages()] == ["user"]
    sessions.navigate(None)
    assert runtime.messages() == []
    say(runtime, "afresh")
    assert said(runtime) == ["one", "afresh"]


def test_name_outline_and_entries(runtime: Runtime) -> None:
    sessions = runtime.sessions
    assert sessions.name == ""
    sessions.name = "mine"
    assert sessions.name == "mine"
    outline = sessions.outline()
    assert [entry.text for entry in outline if entry.role == "user"] == ["one", "two"]
    entries = [json.loads(line) for line in sessions.entries()]
    assert [entry["id"] for entry in entries] == [entry.id for entry in outline]
    assert entries[-1]["name"] == "mine"
    assert [json.loads(line) for line in sessions.entries(since=outline[-2].id)] == entries[-1:]


def test_list_and_export(runtime: Runtime, start: Open, tmp_path: Path) -> None:
    (found,) = runtime.sessions.listed()
    assert (found.path, found.first_message, found.messages) == (runtime.sessions.file, "one", 4)
    assert found.cost is not None
    assert found.cost > 0
    elsewhere = start(save=True)
    say(elsewhere, "elsewhere")
    assert [each.first_message for each in runtime.sessions.listed(everywhere=True)] == ["elsewhere", "one"]
    path = runtime.sessions.export_html(str(tmp_path / "page.html"))
    assert path == str(tmp_path / "page.html")
    assert HELLO in Path(path).read_text("utf-8")
    assert Path(runtime.sessions.export_html()).parent == tmp_path / "work"


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (lambda sessions: sessions.switch("nowhere.jsonl"), r"/nowhere\.jsonl does not exist"),
        (lambda sessions: sessions.branch("nope"), "Invalid entry ID for branching"),
        (lambda sessions: sessions.navigate("nope"), "Entry nope not found"),
        (lambda sessions: sessions.entries("nope"), "Entry nope not found"),
        (lambda sessions: sessions.export_html("nowhere/page.html"), "No such file or directory"),
    ],
)
def test_what_cannot_be_done_raises_and_changes_nothing(
    runtime: Runtime, ask: Callable[[Any], Any], reason: str
) -> None:
    file = runtime.sessions.file
    with pytest.raises((SessionError, BadInput), match=reason):
        ask(runtime.sessions)
    assert runtime.sessions.file == file
    assert len(runtime.messages()) == 4


def test_a_move_ends_what_runs(runtime: Runtime) -> None:
    run = runtime.prompt("!gate never")
    next(run)
    runtime.sessions.new()
    ends = [event.type for event in run]
    assert ends[-2:] == ["turn_end", "done"]
    assert runtime.messages() == []


def test_a_session_that_cannot_be_used_is_no_runtime(start: Open, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    start(session=str(file))
    with pytest.raises(SessionError, match="is in use by process"):
        start(session=str(file))
    (tmp_path / "junk.jsonl").write_text("junk\n")
    with pytest.raises(SessionError, match="is not a session"):
        start(session=str(tmp_path / "junk.jsonl"))
    with pytest.raises(ConfigError, match="do not go together"):
        start(session=str(file), resume=True)
    with pytest.raises(ConfigError, match="do not go together"):
        start(session=str(file), save=False)


def test_a_closed_runtime_lets_go_of_its_session(start: Open, tmp_path: Path) -> None:
    file = str(tmp_path / "mine.jsonl")
    runtime = start(session=file)
    runtime.close()
    with pytest.raises(Closed):
        runtime.sessions.new()
    with pytest.raises(Closed):
        runtime.sessions.listed()
    assert start(session=file).sessions.file == file


def test_a_process_that_was_forked_off_does_not_keep_the_session(start: Open, tmp_path: Path) -> None:
    file = str(tmp_path / "mine.jsonl")
    runtime = start(session=file)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(theirs)
        os.read(ours, 1)  # Until the test is over.
        os._exit(0)
    try:
        runtime.close()
        assert start(session=file).sessions.file == file
    finally:
        os.close(theirs)
        os.waitpid(child, 0)
        os.close(ours)


def test_asynchronously_too(server: ModelServer, tmp_path: Path) -> None:
    file = str(tmp_path / "mine.jsonl")
    options: dict[str, Any] = {"provider": "anthropic", "base_url": server.url, "api_key": "x"}
    options |= {"cwd": str(tmp_path), "session_dir": str(tmp_path)}

    async def main() -> None:
        async with AsyncRuntime(session=file, **options) as runtime:
            async for _ in runtime.prompt("one"):
                pass
            assert [text for _, text in await runtime.sessions.prompts()] == ["one"]
            await runtime.sessions.clone()
            assert runtime.sessions.file != file
        async with AsyncRuntime(session=file, **options) as again:
            assert len(await again.messages()) == 2

    asyncio.run(main())


def test_paths_may_be_paths(start: Open, tmp_path: Path) -> None:
    runtime = start(session=tmp_path / "one.jsonl", session_dir=tmp_path / "kept")
    say(runtime, "hi")
    assert runtime.sessions.export_html(tmp_path / "page.html") == str(tmp_path / "page.html")
    runtime.sessions.new(tmp_path / "one.jsonl")
    runtime.sessions.switch(tmp_path / "one.jsonl")
    assert runtime.sessions.file == str(tmp_path / "one.jsonl")


def test_a_name_of_blanks_is_none(runtime: Runtime) -> None:
    with pytest.raises(BadInput, match="Session name cannot be empty"):
        runtime.sessions.name = " "


def test_nothing_is_read_of_a_session_that_was_let_go_of(runtime: Runtime) -> None:
    runtime.close()
    for ask in (runtime.sessions.prompts, runtime.sessions.outline, runtime.sessions.entries):
        with pytest.raises(Closed):
            ask()


def test_whoever_wants_to_save_must_be_able_to(start: Open, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for wanted in ({"save": True}, {"resume": True}):
        with pytest.raises(SessionError, match="could not be made"):
            start(session_dir=str(tmp_path / "file"), **wanted)


def test_sessions_may_be_switched_from_many_threads(start: Open, tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    for file in files:
        runtime = start(session=file)
        runtime.run("hi")
        runtime.close()
    runtime = start(save=True)
    failures: list[Exception] = []

    def switch() -> None:
        try:
            for at in range(20):
                runtime.sessions.switch(files[at % 2])
        except LinnetError as error:
            failures.append(error)

    threads = [threading.Thread(target=switch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_forked_off_process_may_close_what_is_not_its_own(start: Open, tmp_path: Path) -> None:
    runtime = start(session=str(tmp_path / "mine.jsonl"))
    journal = runtime._session._storage.journal
    assert journal is not None
    log = journal.store.log
    assert isinstance(log, FileLog)
    with log._syncing:  # As if another thread were at it when the process is forked.
        child = os.fork()
        if child == 0:
            log.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    with pytest.raises(SessionError, match="is in use"):
        start(session=str(tmp_path / "mine.jsonl"))
