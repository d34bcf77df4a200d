"""What a person and a project bring, over the pi protocol: templates, skills, instructions, and what one can type."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame
from linnet.testing.model_server import ModelServer

Spawn = Callable[..., Agent]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Where the agent works. Its home is below, as the agent of the tests has it."""
    folder = tmp_path / "work"
    mine = folder / ".linnet-home"
    for path, text in {
        mine / "prompts" / "same.md": "my same $1",
        mine / "prompts" / "args.md": "---\ndescription: all kinds\nargument-hint: <a> <b>\n---\n1=$1 all=$@",
        mine / "prompts" / "empty.md": "---\ndescription: nothing else\n---\n",
        mine / "prompts" / "bad.md": "---\ndescription: [\n---\nbody",
        mine / "skills" / "sums" / "SKILL.md": "---\ndescription: adds up\n---\n\nAdd $1.\n",
        folder / ".linnet" / "prompts" / "same.md": "project same $1",
        folder / ".linnet" / "prompts" / "proj.md": "project only",
        folder / ".agents" / "skills" / "shared" / "SKILL.md": "---\nname: shared\ndescription: of the project\n---\nB",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def prompted(agent: Agent, message: str, **fields: Any) -> Frame:
    """Send a prompt, wait for its end, and return its response."""
    agent.send({"id": message, "type": "prompt", "message": message, **fields})
    response = agent.until("response")[-1]
    if response["success"]:
        agent.until("agent_end")
    return response


def said(server: ModelServer) -> Any:
    return server.requests[-1].body["messages"][-1]["content"][-1]["text"]


def test_a_prompt_that_names_a_template_is_sent_in_full(pi: Spawn, work: Path, server: ModelServer) -> None:
    agent = pi("--trust")
    for typed, sent in {
        "/same X": "project same X",
        "/args\none 'two three'": "1=one all=one two three",
        "/proj": "project only",
        "/args $1 $@": "1=$1 all=$1 $@",
        "/nobody knows": "/nobody knows",
        "/bad": "/bad",
        "/Same X": "/Same X",
        " /same X": " /same X",
        "text /same X": "text /same X",
        "/": "/",
    }.items():
        assert prompted(agent, typed)["success"]
        assert said(server) == sent
    assert agent.stderr.count("\n") == 1
    assert "bad.md is left out: line 2" in agent.stderr


def test_what_is_queued_is_shown_in_full(pi: Spawn, work: Path) -> None:
    agent = pi("--trust")
    agent.send({"id": "l", "type": "prompt", "message": '!tool bash {"command":"read x < gate"}'})
    os.mkfifo(work / "gate")
    agent.until("tool_execution_start")
    agent.send(
        {"id": "s", "type": "steer", "message": "/same via-steer"},
        {"id": "f", "type": "follow_up", "message": "/same via-follow_up"},
        {"id": "p", "type": "prompt", "message": "/skill:sums 1 2", "streamingBehavior": "followUp"},
    )
    frames = agent.until(lambda frame: frame.get("id") == "p")
    frames += agent.until("queue_update")
    *_, last = [frame for frame in frames if frame["type"] == "queue_update"]
    assert last["steering"] == ["project same via-steer"]
    assert last["followUp"][0] == "project same via-follow_up"
    assert last["followUp"][1].startswith('<skill name="sums" location="')
    assert last["followUp"][1].endswith("Add $1.\n</skill>\n\n1 2")
    agent.ask("abort")
    agent.until("agent_end")


def test_a_template_that_stands_for_nothing_is_refused(pi: Spawn, work: Path, server: ModelServer) -> None:
    agent = pi()
    refused = prompted(agent, "/empty")
    assert (refused["success"], refused["error"]) == (False, "/empty stands for an empty message")
    assert prompted(agent, "hi")["success"]
    assert len(server.requests) == 1


def test_the_commands_there_are_have_pis_shape(pi: Spawn, work: Path) -> None:
    agent = pi("--trust", "--prompt-template", str(work / ".linnet-home" / "prompts" / "args.md"))
    listed = agent.ask("get_commands")["data"]["commands"]
    project, mine, shared = work / ".linnet", work / ".linnet-home", work / ".agents"

    def expected(name: str, description: str, source: str, where: str, path: Path, base: Path) -> Frame:
        found = {"path": "local", "user": "auto", "project": "auto"}[where]
        scope = {"path": "temporary"}.get(where, where)
        info = {"path": str(path), "source": found, "scope": scope, "origin": "top-level", "baseDir": str(base)}
        named = {"name": name, "description": description, "source": source}
        return {**named, "location": where, "path": str(path), "sourceInfo": info}

    prompts = mine / "prompts"
    assert listed == [
        expected("proj", "project only", "prompt", "project", project / "prompts" / "proj.md", project),
        expected("same", "project same $1", "prompt", "project", project / "prompts" / "same.md", project),
        expected("empty", "nothing else", "prompt", "user", prompts / "empty.md", mine),
        expected("args", "all kinds", "prompt", "path", prompts / "args.md", prompts) | {"argumentHint": "<a> <b>"},
        expected(
            "skill:shared", "of the project", "skill", "project", shared / "skills" / "shared" / "SKILL.md", shared
        ),
        expected("skill:sums", "adds up", "skill", "user", mine / "skills" / "sums" / "SKILL.md", mine),
    ]


def test_an_untrusted_project_brings_instructions_and_nothing_else(pi: Spawn, work: Path, server: ModelServer) -> None:
    (work / "AGENTS.md").write_text("Speak in rhymes.")
    (work / ".linnet" / "SYSTEM.md").write_text("hostile system")
    agent = pi()
    names = [command["name"] for command in agent.ask("get_commands")["data"]["commands"]]
    assert names == ["args", "empty", "same", "skill:sums"]
    prompted(agent, "/same X")
    assert said(server) == "my same X"
    system = str(server.requests[-1].body["system"])
    assert "Speak in rhymes." in system
    assert str(work / "AGENTS.md") in system
    assert "hostile" not in system
    assert "of the project" not in system


def test_skills_are_told_by_name_and_asked_for_by_name(pi: Spawn, work: Path, server: ModelServer) -> None:
    agent = pi()
    prompted(agent, "/skill:sums 1  2")
    path = work / ".linnet-home" / "skills" / "sums" / "SKILL.md"
    head = f'<skill name="sums" location="{path}">\nReferences are relative to {path.parent}.\n\n'
    assert said(server) == f"{head}Add $1.\n</skill>\n\n1  2"
    system = str(server.requests[-1].body["system"])
    assert "<name>sums</name>" in system
    assert str(path) in system
    assert "Add $1" not in system
    for typed in ("/skill:sums\n1", "/skill:nobody", "/skill:"):
        prompted(agent, typed)
        assert said(server) == typed


def test_what_changes_between_two_runs_is_read_again(pi: Spawn, work: Path, server: ModelServer) -> None:
    agent = pi()
    for text in ("first instructions", "other instructions, longer", None):
        if text is None:
            (work / "AGENTS.md").unlink()
        else:
            (work / "AGENTS.md").write_text(text)
        prompted(agent, "hi")
        system = str(server.requests[-1].body["system"])
        assert ("AGENTS.md" in system) == (text is not None)
        assert text is None or text in system


@pytest.mark.parametrize(
    ("flag", "gone", "still"),
    [
        ("--no-context-files", "Speak in rhymes.", "<name>sums</name>"),
        ("--no-skills", "<name>sums</name>", "Speak in rhymes."),
        ("--no-tools", "<name>sums</name>", "Speak in rhymes."),
    ],
)
def test_each_can_be_switched_off(pi: Spawn, work: Path, server: ModelServer, flag: str, gone: str, still: str) -> None:
    (work / "AGENTS.md").write_text("Speak in rhymes.")
    prompted(pi(flag), "hi")
    system = str(server.requests[-1].body["system"])
    assert gone not in system
    assert still in system


def test_templates_can_be_switched_off_but_for_those_that_are_named(pi: Spawn, work: Path, server: ModelServer) -> None:
    agent = pi("--no-prompt-templates", "--prompt-template", str(work / ".linnet-home" / "prompts" / "args.md"))
    for typed, sent in {"/same X": "/same X", "/args X": "1=X all=X"}.items():
        prompted(agent, typed)
        assert said(server) == sent


def test_in_a_sandbox_skills_of_the_user_can_be_loaded_all_the_same(
    pi: Spawn, work: Path, server: ModelServer, tmp_path: Path
) -> None:
    (work / ".linnet-home").rename(tmp_path / "home")
    agent = pi("--sandbox", env={"LINNET_HOME": str(tmp_path / "home")})
    agent.send({"id": "p", "type": "prompt", "message": '!tool skill {"name":"sums"}'})
    (result,) = [frame for frame in agent.until("agent_end") if frame["type"] == "tool_execution_end"]
    assert result["result"]["content"] == [{"type": "text", "text": "# Skill: sums\n\nadds up\n\n---\n\nAdd $1."}]
    assert "- sums [" in str(server.requests[-1].body["system"])


def test_a_file_name_that_is_not_text_is_no_trouble(pi: Spawn, work: Path, server: ModelServer) -> None:
    odd = os.fsencode(work / ".linnet-home") + b"/"
    for path in (odd + b"prompts/\xff.md", odd + b"skills/\xff/SKILL.md"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write("---\nname: odd\ndescription: odd\n---\nB")
    agent = pi()
    names = [command["name"] for command in agent.ask("get_commands")["data"]["commands"]]
    assert {"args", "skill:odd", "skill:sums"} <= set(names)
    assert len(names) == 6
    assert prompted(agent, "/skill:odd")["success"]
    assert "<name>odd</name>" in str(server.requests[-1].body["system"])


def test_nothing_is_read_before_somebody_needs_it(pi: Spawn, work: Path) -> None:
    for place in (
        "AGENTS.md",
        ".linnet-home/SYSTEM.md",
        ".linnet-home/skills/pipe/SKILL.md",
        ".linnet-home/prompts/p.md",
    ):
        (work / place).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(work / place)
    agent = pi()
    assert agent.ask("get_state")["success"]
    assert agent.stderr == ""
    prompted(agent, "hi")
    assert sorted(line.split()[1].rpartition("/")[2] for line in agent.stderr.splitlines()) == [
        "AGENTS.md",
        "SKILL.md",
        "SYSTEM.md",
    ]
