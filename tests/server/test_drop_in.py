"""linnet-pi and linnet-zot: what clients that spawn pi or zot by name may pass, and what they are told."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet import __version__
from linnet.flags.drop_in import PI, ZOT
from linnet.flags.flags import LINNET, TABLE, Flag, Program, help_text, parse
from linnet.testing.agent import types
from linnet.testing.model_server import ModelServer
from tests.suite import forked

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")
GET_STATE = '{"id":"s","type":"get_state"}\n'
Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, server: ModelServer) -> Run:
    """Run a namesake to its end, on the scripted server."""
    folder = tmp_path / "work"
    folder.mkdir()

    def run(name: str, *flags: str, say: str = "") -> Done:
        executable = Path(sys.executable).with_name(f"linnet-{name}")
        return forked.run(
            [executable, *flags, "--base-url", server.url, "--api-key", "x"],
            input=say,
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=20,
            env={"LINNET_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)},
        )

    return run


def frames(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("flag", ["--version", "-v"])
def test_the_version_is_told_as_the_namesake_tells_it(run: Run, flag: str) -> None:
    assert run("pi", flag).stdout == "1.5.0\n"
    assert run("zot", flag).stdout == f"linnet-zot {__version__}\n"


@pytest.mark.parametrize("program", [LINNET, PI, ZOT], ids=lambda program: program.name)
def test_help_names_every_flag_once(program: Program) -> None:
    lines = help_text(program).splitlines()
    start = lines.index("Flags") + 1
    named = [word for line in lines[start:] for word in line[2:].partition("  ")[0].replace(",", "").split()]
    named = [word for word in named if word.startswith("-")]
    usable = set(program.by_name())
    assert sorted(named) == sorted(usable)
    assert program.name in lines[0]


def test_pi_speaks_pi(run: Run) -> None:
    done = run("pi", "--mode", "rpc", "--provider", "anthropic", "--model", "claude-opus-4-5", say=GET_STATE)
    (state,) = frames(done)
    assert (state["id"], state["data"]["model"]["id"]) == ("s", "claude-opus-4-5")
    assert (done.stderr, done.returncode) == ("", 0)


def test_zot_speaks_zot_however_rpc_mode_is_spelled(run: Run) -> None:
    for spelling in (["rpc"], ["--rpc"], ["--mode", "rpc"]):
        (state,) = frames(run("zot", *spelling, say=GET_STATE))
        assert state["data"]["message_count"] == 0


def test_a_first_word_rpc_is_a_prompt_to_pi(run: Run, server: ModelServer) -> None:
    assert run("pi", "rpc", "-p").returncode == 0
    assert [request.body["messages"][-1]["content"][0]["text"] for request in server.requests] == ["rpc"]


@pytest.mark.parametrize("name", ["pi", "zot"])
def test_print_prints_the_final_text(run: Run, name: str) -> None:
    done = run(name, "-p", '!tool bash {"command":"echo noise"}')
    assert (done.stdout, done.stderr, done.returncode) == ("tool done\n", "", 0)


def test_json_tells_the_events_in_the_namesakes_own_words(run: Run) -> None:
    for flags in (["--mode", "json", "hi"], ["-p", "--mode", "json", "hi"]):
        header, *told = types(frames(run("pi", *flags)))
        assert (header, told[0], told[-1]) == ("session", "agent_start", "agent_settled")
        assert "message_update" in told
    told = types(frames(run("zot", "--json", "hi")))
    assert (told[0], told[-1]) == ("user_message", "done")


def test_pi_takes_several_prompts_and_says_them_one_after_another(run: Run, server: ModelServer) -> None:
    done = run("pi", "--mode", "json", "one", "two")
    users = [f["message"] for f in frames(done) if f["type"] == "message_end" and f["message"]["role"] == "user"]
    assert [message["content"][0]["text"] for message in users] == ["one", "two"]
    assert len(server.requests[1].body["messages"]) == 3


def test_what_is_piped_comes_before_the_first_prompt_and_its_files(
    run: Run, server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "work" / "note.txt").write_text("the note")
    run("pi", "-p", "@note.txt", "one", "two", say="a diff\n")
    said = [request.body["messages"][-1]["content"][0]["text"] for request in server.requests]
    assert said[0].startswith("a diff\n\n<file name=")
    assert said[0].endswith("</file>\none")
    assert said[1] == "two"


def test_files_are_shown_to_the_model_with_the_first_prompt(run: Run, tmp_path: Path) -> None:
    text, picture = tmp_path / "work" / "note.txt", tmp_path / "work" / "dot"
    text.write_text("the note\n")
    picture.write_bytes(PNG)
    done = run("pi", "--mode", "json", "@note.txt", "what is this?", "@dot", "and this?")
    ended = [f["message"] for f in frames(done) if f["type"] == "message_end"]
    first, second = [message["content"] for message in ended if message["role"] == "user"]
    shown = f'<file name="{text}">\nthe note\n\n</file>\n<file name="{picture}"></file>\nwhat is this?'
    assert first[0] == {"type": "text", "text": shown}
    assert first[1]["type"] == "image"
    assert second == [{"type": "text", "text": "and this?"}]


def test_a_file_alone_is_a_prompt_and_one_that_is_missing_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "work" / "ask.md").write_text("hi")
    assert run("pi", "-p", "@ask.md").stdout == "Hello from the scripted model.\n"
    done = run("pi", "-p", "@nope.md", "hi")
    assert done.stderr == f"Error: File not found: {tmp_path / 'work' / 'nope.md'}\n"
    assert done.returncode == 1


def test_files_are_an_error_in_rpc_mode_and_words_are_ignored_as_in_pi(run: Run) -> None:
    done = run("pi", "--mode", "rpc", "@/etc/hostname", "hi", say=GET_STATE)
    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr == "Error: @file arguments are not supported in RPC mode\n"
    done = run("pi", "--mode", "rpc", "hello from argv", say=GET_STATE)
    assert frames(done)[0]["data"]["messageCount"] == 0
    assert "hello from argv" in done.stderr
    assert done.returncode == 0


def given(program: Program) -> list[Flag]:
    return [flag for flag in program.flags if not flag.field]


@pytest.mark.parametrize(("name", "program", "mode"), [("pi", PI, ["--mode", "rpc"]), ("zot", ZOT, ["rpc"])])
def test_flags_that_mean_nothing_yet_are_accepted_and_say_so_where_that_would_mislead(
    run: Run, name: str, program: Program, mode: list[str]
) -> None:
    flags = [words for flag in given(program) for words in (flag.names[-1], *(["x"] if flag.parse else []))]
    done = run(name, *mode, *flags, *flags, say=GET_STATE)
    assert frames(done)[0]["success"] is True
    who = program.errors[1] or program.name
    assert done.stderr.splitlines() == [f"{who}: {flag.names[-1]} {flag.note}" for flag in given(program) if flag.note]
    assert done.returncode == 0


@pytest.mark.parametrize(("name", "words"), [("pi", ["sonnet"]), ("zot", [])])
def test_models_are_listed_as_the_namesake_lists_them(run: Run, name: str, words: list[str]) -> None:
    done = run(name, "--list-models", *words)
    assert (done.stderr, done.returncode) == ("", 0)
    header, *rows = done.stdout.splitlines()
    columns = {"pi": "provider model context max-out thinking images", "zot": "PROVIDER MODEL CONTEXT OUTPUT"}[name]
    assert header.split()[: len(columns.split())] == columns.split()
    assert any("claude-sonnet-4-5" in row for row in rows)
    assert any("opus" in row for row in rows) == (name == "zot")


def test_a_mistake_is_answered_by_the_name_that_was_called(run: Run) -> None:
    done = run("zot", "--contineu")
    assert done.stderr == "linnet-zot: unknown flag --contineu (did you mean --continue?); see linnet-zot --help\n"
    assert done.returncode == 2
    done = run("zot")
    assert "linnet-zot -p" in done.stderr
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("flags", "config"),
    [
        (["--provider", "openai", "--model", "a/b"], {"provider": "openai", "model": "a/b"}),
        (["--model", "gpt-5:latest"], {"model": "gpt-5:latest"}),
        (["--models", "gpt-*, opus"], {"models": ["gpt-*", "opus"]}),
        (["-t", "read, bash"], {"tools": ["read", "bash"]}),
        (["-nt"], {"tools": ()}),
        (["-nbt", "-xt", "bash,mcp__*"], {"builtin_tools": False, "exclude_tools": ["bash", "mcp__*"]}),
    ],
)
def test_pi_has_words_of_its_own_for_models_and_tools(flags: list[str], config: dict[str, Any]) -> None:
    assert parse(flags, PI).config == config


def brought(folder: Path) -> None:
    """A template and a skill, in the folders that an agent has for them, and instructions."""
    for path, text in {
        folder / "prompts" / "t.md": "Do $1.",
        folder / "skills" / "s" / "SKILL.md": "---\ndescription: does it\n---\nB",
        folder / "SYSTEM.md": "The system prompt.",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("flags", "template", "skill"),
    [
        ([], True, True),
        (["-ns"], True, False),
        (["-np"], False, True),
        (["-nc"], True, True),
        (["-ns", "--skill", "."], True, True),
        (["-np", "--prompt-template", "."], True, True),
    ],
)
def test_pi_reads_pis_own_folders(
    run: Run, server: ModelServer, tmp_path: Path, flags: list[str], template: bool, skill: bool
) -> None:
    brought(tmp_path / ".pi" / "agent")
    (tmp_path / "AGENTS.md").write_text("above the folder")
    flags = [str(tmp_path / ".pi" / "agent" / ("skills" if flags[0] == "-ns" else "prompts")) if flag == "." else flag
             for flag in flags]  # fmt: skip
    done = run("pi", "-p", "/t it", "--no-session", *flags)
    assert (done.stderr, done.returncode) == ("", 0)
    body = server.requests[-1].body
    assert body["messages"][-1]["content"][-1]["text"] == ("Do it." if template else "/t it")
    system = str(body["system"])
    assert "The system prompt." in system
    assert ("<name>s</name>" in system) is skill
    assert ("above the folder" in system) is ("-nc" not in flags)


@pytest.mark.parametrize(
    ("flags", "has_it"),
    [
        ([], False),
        (["--with-skills"], True),
        (["--with-skills", "--no-skill"], False),
        (["--no-skills", "--with-skills"], False),
    ],
)
def test_zot_looks_for_skills_only_if_it_is_asked_to(
    run: Run, server: ModelServer, tmp_path: Path, flags: list[str], has_it: bool
) -> None:
    brought(tmp_path / ".local" / "state" / "zot")
    done = run("zot", "-p", "hi", *flags)
    assert (done.stderr, done.returncode) == ("", 0)
    body = server.requests[-1].body
    assert ("skill" in {tool["name"] for tool in body["tools"]}) is has_it
    assert ("- s [~/.local/state/zot/skills/s/SKILL.md]: does it" in str(body["system"])) is has_it
    assert "The system prompt." in str(body["system"])


def test_pi_reads_system_prompts_from_files_too(tmp_path: Path) -> None:
    file = tmp_path / "system.md"
    file.write_text("Be brief.")
    flags = ["--system-prompt", str(file), "--append-system-prompt", "In Latin.", "--append-system-prompt", str(file)]
    assert parse(flags, PI).config == {"system_prompt": "Be brief.", "append_system_prompt": "In Latin.\n\nBe brief."}
    assert parse(flags[:2]).config == {"system_prompt": str(file)}


def test_linnet_itself_accepts_none_of_this() -> None:
    assert LINNET.by_name().keys() == {name for flag in TABLE for name in flag.names}


def test_no_yolo_asks_before_a_command_runs_and_no_answer_is_a_no(run: Run, tmp_path: Path) -> None:
    say = json.dumps({"type": "prompt", "message": '!tool bash {"command":"touch ran"}'}) + "\n"
    told = frames(run("zot", "rpc", "--no-yolo", "--provider", "anthropic", say=say))
    [result] = [frame for frame in told if frame["type"] == "tool_result"]
    assert result["content"][0]["text"] == "Denied: nobody allowed this call to bash."
    assert told[-1]["type"] == "done"
    assert not (tmp_path / "work" / "ran").exists()
    run("zot", "rpc", "--provider", "anthropic", say=say)
    assert (tmp_path / "work" / "ran").exists()
