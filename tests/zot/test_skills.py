"""Skills, templates and instructions over the zot protocol. Results of the `skill` tool are word for word zot's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer

Spawn = Callable[..., Agent]
SKILLS = {
    "same": "---\nname: same\ndescription: same from pz\n---\nbody pz\n",
    "quoted": "---\nname: 'Quoted Name'\ndescription: \"single: quoted\"\n---\nB",
    "nofront": "just a body, no frontmatter\n",
    "unclosed": "---\nname: unclosed\ndescription: never closed\nbody",
    "crlf": "---\r\nname: crlf\r\ndescription: with crlf\r\n---\r\nBody\r\n",
    "secret": "---\ndescription: d\ndisable-model-invocation: true\n---\nS",
}


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / ".linnet-home" / "skills"
    for name, text in SKILLS.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "SKILL.md").write_bytes(text.encode())
    return folder


def called(agent: Agent, arguments: str) -> tuple[str, bool]:
    frames = agent.prompt(f"!tool skill {arguments}")
    (result,) = [frame for frame in frames if frame["type"] == "tool_result"]
    return result["content"][0]["text"], result["is_error"]


def test_the_skill_tool_answers_as_zots_does(zot: Spawn, skills: Path, server: ModelServer) -> None:
    agent = zot()
    for arguments, text in {
        '{"name":"same"}': "# Skill: same\n\nsame from pz\n\n---\n\nbody pz",
        '{"name":"Quoted Name"}': "# Skill: Quoted Name\n\nsingle: quoted\n\n---\n\nB",
        '{"name":"nofront"}': "# Skill: nofront\n\n\n\n---\n\njust a body, no frontmatter",
        '{"name":"unclosed"}': "# Skill: unclosed\n\n\n\n---\n\n---\nname: unclosed\ndescription: never closed\nbody",
        '{"name":"crlf"}': "# Skill: crlf\n\nwith crlf\n\n---\n\nBody",
    }.items():
        assert called(agent, arguments) == (text, False)
    (tool,) = [tool for tool in server.requests[-1].body["tools"] if tool["name"] == "skill"]
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    assert tool["input_schema"] == schema


def test_the_skill_tool_says_what_was_wrong(zot: Spawn, skills: Path) -> None:
    agent = zot()
    known = "Quoted Name, crlf, nofront, same, unclosed"
    for arguments, text in {
        '{"name":"nope"}': f'skill: no skill named "nope" (there are: {known})',
        '{"name":"secret"}': f'skill: no skill named "secret" (there are: {known})',
        "{}": "skill: name is required",
        '{"name":5}': "skill: invalid args: name must be a string, not a number",
        "[]": "skill: invalid args: not a JSON object: []",
    }.items():
        assert called(agent, arguments) == (text, True)
    (skills / "same" / "SKILL.md").unlink()
    (skills / "crlf" / "SKILL.md").write_text("---\nname: crlf\ndescription: changed\n---\nnew body")
    assert called(agent, '{"name":"crlf"}') == ("# Skill: crlf\n\nchanged\n\n---\n\nnew body", False)


def test_the_model_is_told_of_skills_in_zots_shape(zot: Spawn, skills: Path, server: ModelServer) -> None:
    zot().prompt("hi")
    system = str(server.requests[-1].body["system"])
    home = str(Path.home())
    shown = f"~{str(skills)[len(home) :]}" if str(skills).startswith(home + "/") else skills
    assert f"- Quoted Name [{shown}/quoted/SKILL.md]: single: quoted" in system
    assert f"- nofront [{shown}/nofront/SKILL.md]: (no description)" in system
    assert "secret" not in system


def names(server: ModelServer) -> set[str]:
    return {tool["name"] for tool in server.requests[-1].body.get("tools", [])}


@pytest.mark.parametrize(
    ("flags", "has_it"),
    [
        ([], True),
        (["--tools", "read"], True),
        (["--no-tools"], False),
        (["--no-skills"], False),
        (["--no-skill"], False),
    ],
)
def test_the_tool_is_there_where_skills_and_tools_are(
    zot: Spawn, skills: Path, server: ModelServer, flags: list[str], has_it: bool
) -> None:
    zot(*flags).prompt("hi")
    assert ("skill" in names(server)) is has_it


def test_without_skills_there_is_no_tool_for_them(zot: Spawn, server: ModelServer) -> None:
    zot().prompt("hi")
    assert names(server) == {"read", "write", "edit", "bash"}
    assert "There are skills" not in str(server.requests[-1].body["system"])


def test_loading_a_skill_needs_no_permission_unless_a_rule_says_so(zot: Spawn, skills: Path) -> None:
    for flags in (["--permission", "read-only"], ["--permission", "ask"]):
        assert called(zot(*flags), '{"name":"same"}') == ("# Skill: same\n\nsame from pz\n\n---\n\nbody pz", False)
    for flags in (["--permission", "deny"], ["--permission", "ask", "--deny", "skill"]):
        text, is_error = called(zot(*flags), '{"name":"same"}')
        assert text.startswith("Denied")
        assert is_error


def test_a_client_cannot_bring_a_tool_of_that_name(zot: Spawn, skills: Path) -> None:
    tool = {"name": "skill", "description": "", "parameters": {"type": "object"}}
    refused = zot().ask("set_tools", tools=[tool])
    assert refused["success"] is False
    assert "skill" in refused["error"]
    assert zot("--no-skills").ask("set_tools", tools=[tool])["success"] is True


def test_templates_and_commands_are_an_addition(zot: Spawn, skills: Path, server: ModelServer) -> None:
    path = skills.parent / "prompts" / "t.md"
    path.parent.mkdir()
    path.write_text("Do $1.")
    agent = zot()
    listed: list[Any] = agent.ask("get_commands")["data"]["commands"]
    first = {"name": "t", "description": "Do $1.", "source": "prompt", "location": "user", "path": str(path)}
    assert listed[0] == first
    assert {each["name"] for each in listed[1:]} >= {"skill:same", "skill:secret"}
    (user,) = [frame for frame in agent.prompt("/t it") if frame["type"] == "user_message"]
    assert user["content"] == [{"type": "text", "text": "Do it."}]
