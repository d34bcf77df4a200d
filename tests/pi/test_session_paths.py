"""Pages, and the paths that a client sends: to anywhere, or with --confine to where sessions and work are."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer
from linnet.testing.sessions import run, state


def test_a_page_is_named_after_the_session_and_lies_in_the_folder_that_is_worked_in(
    pi: Callable[..., Agent], tmp_path: Path
) -> None:
    agent = pi()
    run(agent, "what is in <b>here</b>?")
    answer = agent.ask("export_html")
    name = Path(state(agent)["sessionFile"]).stem
    page = tmp_path / "work" / f"linnet-session-{name}.html"
    assert answer["data"] == {"path": str(page)}
    text = page.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert "what is in &lt;b&gt;here&lt;/b&gt;?" in text


@pytest.mark.parametrize("given", ["page.html", "{}/elsewhere.html", "../up.html"])
def test_a_page_goes_where_it_is_wanted(pi: Callable[..., Agent], tmp_path: Path, given: str) -> None:
    agent = pi()
    run(agent, "hi")
    target = given.format(tmp_path)
    full = Path(os.path.normpath(tmp_path / "work" / target))
    assert agent.ask("export_html", outputPath=target)["data"] == {"path": str(full)}
    assert "Hello from the scripted model." in full.read_text()
    assert sorted(path.name for path in full.parent.iterdir() if path.name.startswith(".linnet-")) in (
        [],
        [".linnet-home"],
    )


def test_a_page_is_made_beside_a_run(pi: Callable[..., Agent], server: ModelServer) -> None:
    agent = pi()
    run(agent, "before")
    agent.send({"type": "prompt", "message": "!gate g"})
    agent.until("message_update")
    answer = agent.ask("export_html")
    assert state(agent)["isStreaming"] is True
    page = Path(answer["data"]["path"]).read_text()
    assert "!gate g" in page
    server.release("g")
    assert agent.until("agent_end")[-1]["messages"][-1]["stopReason"] == "stop"


def test_a_page_of_a_session_in_which_nothing_was_said(pi: Callable[..., Agent]) -> None:
    assert Path(pi().ask("export_html")["data"]["path"]).read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("missing/page.html", "{work}/missing/page.html could not be written: No such file or directory"),
        ("file/page.html", "{work}/file/page.html could not be written: Not a directory"),
        (".", "{work} could not be written: Is a directory"),
        ("/dev/null", "/dev/null could not be written: Not a regular file"),
        ("a\0b", "'a\\x00b' is not a path: there is a zero byte in it"),
    ],
)
def test_a_page_that_cannot_be_written_is_refused_with_a_sentence(
    pi: Callable[..., Agent], tmp_path: Path, given: str, reason: str
) -> None:
    (tmp_path / "work" / "file").write_text("kept")
    agent = pi()
    run(agent, "hi")
    refused = agent.ask("export_html", outputPath=given)
    assert refused["success"] is False
    assert refused["error"] == reason.format(work=tmp_path / "work")
    assert (tmp_path / "work" / "file").read_text() == "kept"
    assert "Traceback" not in agent.stderr


def test_a_page_replaces_the_one_before(pi: Callable[..., Agent], tmp_path: Path) -> None:
    page = tmp_path / "work" / "page.html"
    agent = pi()
    run(agent, "one")
    agent.ask("export_html", outputPath="page.html")
    run(agent, "two, which is new")
    agent.ask("export_html", outputPath="page.html")
    assert "two, which is new" in page.read_text()


@pytest.fixture
def outside(tmp_path: Path, pi: Callable[..., Agent]) -> Path:
    """A folder that is neither the sessions' nor the one that is worked in, with a session in it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    agent = pi("--session", str(folder / "there.jsonl"))
    run(agent, "outside")
    agent.end()
    agent.wait()
    (tmp_path / "work" / "link.jsonl").symlink_to(folder / "there.jsonl")
    (tmp_path / "work" / "way").symlink_to(folder)
    return folder


PATHS = [
    "{outside}/there.jsonl",
    "../outside/there.jsonl",
    "sub/../../outside/there.jsonl",
    "link.jsonl",
    "way/there.jsonl",
]


@pytest.mark.parametrize("path", PATHS)
def test_confined_a_session_outside_is_refused(pi: Callable[..., Agent], outside: Path, path: str) -> None:
    given = path.format(outside=outside)
    agent = pi("--confine")
    before, data = state(agent), (outside / "there.jsonl").read_bytes()
    refused = agent.ask("switch_session", sessionPath=given)
    assert refused["success"] is False
    assert " leads outside " in refused["error"]
    assert refused["error"].endswith(", which --confine does not allow")
    assert state(agent) == before
    assert (outside / "there.jsonl").read_bytes() == data


@pytest.mark.parametrize("flags", [(), ("--confine",)])
@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "/" + "y/" * 3000, "~nobody/a.jsonl", "\ud800.jsonl"])
def test_what_cannot_be_a_path_is_refused_with_a_sentence(
    pi: Callable[..., Agent], flags: tuple[str, ...], path: str
) -> None:
    agent = pi(*flags)
    refused = agent.ask("switch_session", sessionPath=path)
    assert refused["success"] is False
    assert "internal error" not in refused["error"]
    assert agent.stderr == ""


@pytest.mark.parametrize("path", PATHS)
def test_without_the_flag_it_is_opened(pi: Callable[..., Agent], outside: Path, path: str) -> None:
    agent = pi()
    assert agent.ask("switch_session", sessionPath=path.format(outside=outside))["success"]
    assert state(agent)["messageCount"] == 2


@pytest.mark.parametrize(
    "path", ["{outside}/page.html", "../page.html", "a/../../page.html", "way/page.html", "out.html"]
)
def test_confined_a_page_outside_is_refused(pi: Callable[..., Agent], outside: Path, tmp_path: Path, path: str) -> None:
    (tmp_path / "work" / "out.html").symlink_to(outside / "page.html")
    agent = pi("--confine")
    run(agent, "hi")
    refused = agent.ask("export_html", outputPath=path.format(outside=outside))
    assert refused["error"].endswith(", which --confine does not allow")
    assert sorted(each.name for each in outside.iterdir()) == ["there.jsonl"]
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("path", ["{outside}/page.html", "../page.html", "way/page.html", "out.html"])
def test_without_the_flag_it_is_made(pi: Callable[..., Agent], outside: Path, tmp_path: Path, path: str) -> None:
    (tmp_path / "work" / "out.html").symlink_to(outside / "page.html")
    agent = pi()
    run(agent, "hi")
    assert agent.ask("export_html", outputPath=path.format(outside=outside))["success"]
    assert (outside / "page.html").exists() or (tmp_path / "page.html").exists()


def test_confined_to_both_folders_everything_works(pi: Callable[..., Agent], tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    agent = pi("--confine", "--session-dir", str(sessions))
    run(agent, "one")
    first = state(agent)
    assert agent.ask("new_session")["success"]
    run(agent, "two")
    assert agent.ask("switch_session", sessionPath=first["sessionFile"])["success"]
    entry = agent.ask("get_branch_messages")["data"]["messages"][0]["entryId"]
    assert agent.ask("branch", entryId=entry)["success"]
    assert agent.ask("switch_session", sessionPath=first["sessionId"])["success"]
    assert len(agent.ask("list_sessions")["data"]["sessions"]) == 3
    for path in ("page.html", str(tmp_path / "work" / "page.html"), str(sessions / "page.html"), None):
        assert agent.ask("export_html", outputPath=path)["success"]
    (tmp_path / "work" / "copy.jsonl").write_bytes(Path(first["sessionFile"]).read_bytes())
    assert agent.ask("switch_session", sessionPath="./copy.jsonl")["success"]
    assert "session_error" not in types(agent.seen)


def test_confined_sessions_of_other_folders_are_neither_found_nor_listed(
    pi: Callable[..., Agent], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    home = {"LINNET_HOME": str(tmp_path / "home")}
    there = pi(cwd=other, env=home)
    run(there, "elsewhere")
    id = state(there)["sessionId"]
    there.end()
    there.wait()
    agent = pi("--confine", env=home)
    assert agent.ask("switch_session", sessionPath=id)["success"] is False
    assert [each["current"] for each in agent.ask("list_sessions", all=True)["data"]["sessions"]] == [True]
    assert pi(env=home).ask("switch_session", sessionPath=id)["success"]
