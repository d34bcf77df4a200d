"""Which session a process begins with, and what of it comes back: --session, --continue, --fork and the like."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.agent import Agent, Frame
from linnet.testing.model_server import ModelServer
from linnet.testing.sessions import run, state

HELLO = "Hello from the scripted model."


def texts(agent: Agent) -> list[str]:
    told: list[Frame] = agent.ask("get_messages")["data"]["messages"]
    return [message["content"][0]["text"] for message in told]


def lines(file: str | Path) -> list[Frame]:
    return [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()]


def refusal(agent: Agent, code: int = 1) -> str:
    """It ends before it said anything, with one sentence."""
    assert agent.read() is None
    assert agent.wait() == code
    assert agent.stderr.startswith("linnet: ")
    assert agent.stderr.count("\n") == 1
    return agent.stderr.removeprefix("linnet: ").rstrip("\n")


@pytest.fixture
def begun(pi: Callable[..., Agent]) -> Callable[..., Frame]:
    """A session in which something was said, and which nobody has open any more; its last state."""

    def begin(message: str, *flags: str, **options: object) -> Frame:
        agent = pi(*flags, **options)
        run(agent, message)
        told = state(agent)
        agent.end()
        agent.wait()
        return told

    return begin


@pytest.fixture
def plain(spawn: Callable[..., Agent], server: ModelServer) -> Callable[..., Agent]:
    """Without a provider on the command line: keys and addresses are in the environment."""
    env = {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": server.url}
    return lambda *flags, **more: spawn("--mode", "rpc", *flags, env={**env, **more})


def test_a_file_that_is_not_there_is_begun(pi: Callable[..., Agent], tmp_path: Path) -> None:
    agent = pi("--session", "deep/down/mine.jsonl")
    told = state(agent)
    assert told["sessionFile"] == str(tmp_path / "work" / "deep" / "down" / "mine.jsonl")
    assert lines(told["sessionFile"])[0]["id"] == told["sessionId"]
    run(agent, "one")
    agent.ask("new_session")
    assert Path(state(agent)["sessionFile"]).parent != Path(told["sessionFile"]).parent
    agent.end()
    assert texts(pi("--session", "deep/down/mine.jsonl")) == ["one", HELLO]


@pytest.mark.parametrize("length", [8, 13, 36])
def test_the_beginning_of_an_id_is_enough(pi: Callable[..., Agent], begun: Callable[..., Frame], length: int) -> None:
    one = begun("one")
    begun("two")
    assert state(pi("--session", one["sessionId"][:length]))["sessionFile"] == one["sessionFile"]


def test_an_id_is_looked_for_in_other_folders_too(
    pi: Callable[..., Agent], begun: Callable[..., Frame], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    env = {"LINNET_HOME": str(tmp_path / "home")}
    there = begun("elsewhere", cwd=other, env=env)
    assert state(pi("--session", there["sessionId"], env=env))["sessionFile"] == there["sessionFile"]


def test_an_id_that_nobody_has_or_that_several_have_is_refused(
    pi: Callable[..., Agent], begun: Callable[..., Frame]
) -> None:
    file = Path(begun("one")["sessionFile"])
    assert refusal(pi("--session", "zzzz")) == ("no session has an id that begins with zzzz; see linnet sessions --all")
    for end in "12":
        file.with_name(f"2026-01-01T00-00-00-000Z_abcdef{end}.jsonl").write_bytes(file.read_bytes())
    assert refusal(pi("--session", "abcd")).startswith("abcd is the beginning of 2 sessions; write more of its id, or ")
    assert state(pi("--session", "abcdef2"))["messageCount"] == 2


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty: it is not a session"),
        (b"junk\n", "is not a session: its first line is no session header"),
        (b'{"type":"session","version":9,"id":"x"}\n', "is a session of version 9; the newest that linnet knows is 3"),
    ],
)
@pytest.mark.parametrize("flag", ["--session", "--fork"])
def test_a_file_that_is_no_session_is_refused_and_left_untouched(
    pi: Callable[..., Agent], tmp_path: Path, flag: str, data: bytes, why: str
) -> None:
    file = tmp_path / "work" / "it.jsonl"
    file.write_bytes(data)
    assert refusal(pi(flag, str(file))) == f"{file} {why}"
    assert file.read_bytes() == data
    assert sorted(path.name for path in file.parent.iterdir()) == ["it.jsonl"]


def test_continue_goes_on_with_the_newest_in_which_something_was_said(
    pi: Callable[..., Agent], begun: Callable[..., Frame]
) -> None:
    one, two = begun("one"), begun("two")
    empty = pi()
    state(empty)
    empty.end()
    empty.wait()
    junk = Path(one["sessionFile"]).with_name("9999-junk.jsonl")
    junk.write_text("what?\n")
    agent = pi("--continue")
    assert state(agent)["sessionFile"] == two["sessionFile"]
    assert texts(agent) == ["two", HELLO]
    agent.end()
    agent.wait()
    os.utime(one["sessionFile"])
    assert state(pi("--continue"))["sessionFile"] == one["sessionFile"]


def test_continue_begins_one_where_there_is_none(pi: Callable[..., Agent]) -> None:
    agent = pi("--continue")
    told = state(agent)
    assert told["messageCount"] == 0
    assert lines(told["sessionFile"])[0]["id"] == told["sessionId"]
    assert agent.stderr == ""


def test_continue_does_not_mistake_a_folder_for_another_with_much_the_same_name(
    pi: Callable[..., Agent], begun: Callable[..., Frame], tmp_path: Path
) -> None:
    env = {"LINNET_HOME": str(tmp_path / "home")}
    for name in ("a/b", "a-b"):
        (tmp_path / name).mkdir(parents=True)
    theirs = begun("theirs", cwd=tmp_path / "a" / "b", env=env)
    ours = state(pi("--continue", cwd=tmp_path / "a-b", env=env))
    assert ours["messageCount"] == 0
    assert Path(ours["sessionFile"]).parent == Path(theirs["sessionFile"]).parent


def test_continue_does_not_go_on_with_what_another_process_has(
    pi: Callable[..., Agent], begun: Callable[..., Frame]
) -> None:
    first = pi()
    run(first, "one")
    assert f"is in use by process {first.process.pid}" in refusal(pi("--continue"))


def test_fork_goes_on_with_a_copy(pi: Callable[..., Agent], begun: Callable[..., Frame], tmp_path: Path) -> None:
    one = begun("one")
    before = Path(one["sessionFile"]).read_bytes()
    agent = pi("--fork", one["sessionId"][:8])
    told = state(agent)
    assert told["sessionFile"] != one["sessionFile"]
    assert lines(told["sessionFile"])[0]["parentSession"] == one["sessionFile"]
    assert texts(agent) == ["one", HELLO]
    run(agent, "two")
    assert Path(one["sessionFile"]).read_bytes() == before
    assert refusal(pi("--fork", "zzzz")) == "no session has an id that begins with zzzz; see linnet sessions --all"
    assert refusal(pi("--fork", f"{tmp_path}/nowhere.jsonl")) == f"{tmp_path}/nowhere.jsonl does not exist"


def test_a_folder_for_sessions_may_be_chosen(
    pi: Callable[..., Agent], begun: Callable[..., Frame], tmp_path: Path
) -> None:
    one = begun("one", "--session-dir", "kept here")
    assert Path(one["sessionFile"]).parent == tmp_path / "work" / "kept here"
    again = pi("--session-dir", str(tmp_path / "work" / "kept here"), "--continue")
    assert state(again)["sessionFile"] == one["sessionFile"]
    assert [each["path"] for each in again.ask("list_sessions")["data"]["sessions"]] == [one["sessionFile"]]
    again.ask("new_session")
    assert Path(state(again)["sessionFile"]).parent == tmp_path / "work" / "kept here"
    assert not (tmp_path / "work" / ".linnet-home" / "sessions").exists()


def test_a_folder_that_was_chosen_is_one_for_every_folder_that_is_worked_in(
    pi: Callable[..., Agent], begun: Callable[..., Frame], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    kept = str(tmp_path / "kept")
    one = begun("one", "--session-dir", kept, cwd=other)
    assert state(pi("--session-dir", kept, "--continue"))["sessionFile"] == one["sessionFile"]


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--no-session", "--session", "a.jsonl"], "--no-session and --session do not go together; give one of them"),
        (["--no-session", "--continue"], "--no-session and --continue do not go together; give one of them"),
        (["--session", "a.jsonl", "--continue"], "--session and --continue do not go together; give one of them"),
        (["--fork", "a.jsonl", "--continue"], "--continue and --fork do not go together; give one of them"),
    ],
)
def test_flags_that_contradict_each_other_are_refused(
    pi: Callable[..., Agent], tmp_path: Path, flags: list[str], why: str
) -> None:
    assert refusal(pi(*flags), code=2) == why
    assert list((tmp_path / "work").iterdir()) == []


def test_what_is_asked_for_wins_over_what_the_session_remembers(
    pi: Callable[..., Agent], begun: Callable[..., Frame]
) -> None:
    one = begun("one", "--model", "claude-opus-4-5", "--thinking", "high")
    before = len(lines(one["sessionFile"]))
    agent = pi("--session", one["sessionFile"], "--model", "claude-haiku-4-5", "--thinking", "low")
    told = state(agent)
    assert (told["model"]["id"], told["thinkingLevel"]) == ("claude-haiku-4-5", "low")
    assert len(lines(one["sessionFile"])) == before  # It is not changed by being looked at.
    run(agent, "two")
    added = lines(one["sessionFile"])[before:]
    assert [entry.get("modelId") or entry.get("thinkingLevel") for entry in added[:2]] == ["claude-haiku-4-5", "low"]
    agent.end()
    agent.wait()
    told = state(pi("--session", one["sessionFile"]))
    assert (told["model"]["id"], told["thinkingLevel"]) == ("claude-haiku-4-5", "low")


def test_otherwise_what_the_session_remembers_comes_back(
    plain: Callable[..., Agent], begun: Callable[..., Frame]
) -> None:
    one = begun("one", "--model", "claude-opus-4-5", "--thinking", "high")
    before = Path(one["sessionFile"]).read_bytes()
    told = state(plain("--continue"))
    assert (told["model"]["id"], told["thinkingLevel"]) == ("claude-opus-4-5", "high")
    assert Path(one["sessionFile"]).read_bytes() == before


def test_the_model_of_another_provider_comes_back_if_there_is_a_key(
    plain: Callable[..., Agent], begun: Callable[..., Frame], server: ModelServer
) -> None:
    url = f"{server.url}/v1"
    one = begun("one", "--base-url", url, provider="openai")
    there = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": url}
    agent = plain("--session", one["sessionFile"], **there)
    assert (state(agent)["model"]["provider"], agent.stderr) == ("openai", "")
    run(agent, "two")
    assert server.requests[-1].path.startswith("/v1/")
    agent.end()
    agent.wait()
    other = plain("--session", one["sessionFile"], "--provider", "anthropic", **there)
    assert (state(other)["model"]["provider"], other.stderr) == ("anthropic", "")


def test_a_model_that_cannot_be_used_here_is_told_and_another_taken(
    plain: Callable[..., Agent], begun: Callable[..., Frame], server: ModelServer
) -> None:
    one = begun("one", "--base-url", f"{server.url}/v1", "--model", "gpt-5", provider="openai")
    agent = plain("--session", one["sessionFile"])
    assert state(agent)["model"]["id"] == "claude-sonnet-5"
    said = "the session's model openai/gpt-5 cannot be used here; going on with anthropic/claude-sonnet-5"
    assert agent.stderr == f"linnet: {said}\n"
    run(agent, "two")
    assert texts(agent) == ["one", HELLO, "two", HELLO]


def test_the_provider_of_a_session_is_enough(
    spawn: Callable[..., Agent], begun: Callable[..., Frame], server: ModelServer
) -> None:
    """Nobody needs a key for the provider that would have been taken otherwise."""
    url = f"{server.url}/v1"
    begun("one", "--base-url", url, provider="openai")
    agent = spawn("--mode", "rpc", "--continue", env={"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": url})
    assert state(agent)["model"]["provider"] == "openai"
    run(agent, "two")
    assert len(texts(agent)) == 4
    stranger = spawn("--mode", "rpc", "--continue", "--session-dir", "empty", env={"OPENAI_API_KEY": "x"})
    assert state(stranger)["model"]["provider"] == "openai"  # The only one that there is a key for.
    stranger = spawn("--mode", "rpc", "--continue", "--session-dir", "none")
    assert "no credential for anthropic" in stranger.ask("prompt", message="hi")["error"]


def test_switching_to_a_session_whose_model_cannot_be_used_keeps_the_present_one(
    plain: Callable[..., Agent], begun: Callable[..., Frame], server: ModelServer
) -> None:
    one = begun("one", "--base-url", f"{server.url}/v1", "--model", "gpt-5", provider="openai")
    agent = plain()
    answer = agent.ask("switch_session", sessionPath=one["sessionFile"])["data"]
    said = "the session's model openai/gpt-5 cannot be used here; going on with anthropic/claude-sonnet-5"
    assert answer == {"cancelled": False, "warning": said}
    assert state(agent)["model"]["id"] == "claude-sonnet-5"
    run(agent, "two")
    assert texts(agent) == ["one", HELLO, "two", HELLO]


def test_the_earlier_protocol_keeps_sessions_too(pi: Callable[..., Agent]) -> None:
    agent = pi("--dialect", "pi-legacy", "--session", "mine.jsonl")
    agent.send({"type": "prompt", "message": "one"})
    agent.until("agent_end")
    agent.end()
    agent.wait()
    assert texts(pi("--session", "mine.jsonl")) == ["one", HELLO]


def test_a_session_is_not_changed_by_being_looked_at(pi: Callable[..., Agent], begun: Callable[..., Frame]) -> None:
    file = Path(begun("one")["sessionFile"])
    before = file.read_bytes().replace(b'"anthropic"', b'"openai"').replace(b"claude-sonnet-4-5", b"gpt-5")
    file.write_bytes(before)
    agent = pi("--session", str(file))
    assert state(agent)["model"]["provider"] == "anthropic"
    assert agent.ask("switch_session", sessionPath=begun("two")["sessionFile"])["success"] is True
    assert "openai/gpt-5 cannot be used" in agent.ask("switch_session", sessionPath=str(file))["data"]["warning"]
    agent.ask("set_thinking_level", level="low")
    agent.end()
    added = lines(str(file))[len(before.splitlines()) :]
    assert [entry["type"] for entry in added] == ["thinking_level_change"]


def test_a_start_that_fails_leaves_no_session_behind(
    spawn: Callable[..., Agent], begun: Callable[..., Frame], tmp_path: Path
) -> None:
    source = begun("one")["sessionFile"]
    home = tmp_path / "new"
    for flags in (["--session", "new.jsonl"], ["--continue"], ["--fork", source]):
        agent = spawn("rpc", *flags, env={"LINNET_HOME": str(home), "ANTHROPIC_API_KEY": ""})
        assert agent.wait() == 1
        assert "no credential for anthropic" in agent.stderr
    assert not (tmp_path / "work" / "new.jsonl").exists()
    assert list(home.rglob("*.jsonl")) == []


def test_the_beginning_of_an_id_in_several_folders_means_none_of_them(pi: Callable[..., Agent], tmp_path: Path) -> None:
    root = tmp_path / "home" / "sessions"
    for name in ("aaa", "bbb"):
        (root / f"--{name}--").mkdir(parents=True)
        header = {"type": "session", "version": 3, "id": f"abcd-{name}", "timestamp": "", "cwd": f"/{name}"}
        (root / f"--{name}--" / f"x_abcd-{name}.jsonl").write_text(json.dumps(header) + "\n")
    home = {"LINNET_HOME": str(tmp_path / "home")}
    assert "abcd is the beginning of 2 sessions" in refusal(pi("--session", "abcd", env=home))
    agent = pi("--session", "abcd-b", env=home)
    assert state(agent)["sessionId"] == "abcd-bbb"
    assert "2 sessions" in agent.ask("switch_session", sessionPath="abcd")["error"]


def test_paths_are_whole_wherever_the_home_is(spawn: Callable[..., Agent], server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "work" / "in").mkdir()
    flags = ("--mode", "rpc", "--base-url", server.url, "--api-key", "x", "--cwd", "in")
    agent = spawn(*flags, env={"LINNET_HOME": "home"})
    one = state(agent)["sessionFile"]
    assert one.startswith(str(tmp_path / "work" / "home" / "sessions"))
    agent.ask("new_session")
    assert agent.ask("switch_session", sessionPath=one)["success"] is True
    other = spawn(*flags, env={"LINNET_HOME": "~/mine", "HOME": str(tmp_path)})
    assert state(other)["sessionFile"].startswith(str(tmp_path / "mine" / "sessions"))


def test_a_folder_has_one_list_whichever_link_leads_there(pi: Callable[..., Agent], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "work")
    agent = pi()
    run(agent, "one")
    one = state(agent)["sessionFile"]
    agent.end()
    assert state(pi("--continue", "--cwd", str(tmp_path / "link")))["sessionFile"] == one


def test_a_newer_session_that_cannot_be_read_is_mentioned(pi: Callable[..., Agent], tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    agent = pi("--session-dir", str(kept))
    run(agent, "one")
    one = state(agent)["sessionFile"]
    agent.end()
    newer = kept / "newer.jsonl"
    newer.write_text('{"type":"session","version":4,"id":"x"}\n')
    agent = pi("--session-dir", str(kept), "--continue")
    assert state(agent)["sessionFile"] == one
    assert agent.stderr == f"linnet: {newer} is a session of version 4; the newest that linnet knows is 3\n"


def test_an_empty_name_is_none(pi: Callable[..., Agent]) -> None:
    reason = "must name a file, or the beginning of a session's id"
    assert refusal(pi("--session", "")) == f"--session {reason}"
    assert refusal(pi("--fork", " ")) == f"--fork {reason}"
