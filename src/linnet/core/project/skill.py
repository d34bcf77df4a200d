"""Skills: instructions for particular tasks, of which the model is told only name and description until it asks."""

from collections.abc import Sequence

from msgspec import Struct

from linnet.core.text import frontmatter
from linnet.errors import BadInput

COMMAND = "skill:"  # What a user types before a skill's name.
READERS = ("read", "bash")  # The tools that a skill can be read with, the better one first.
_TO_READ = """\
There are skills: instructions for particular tasks, in files. When a task fits a description below, look at that \
skill's file with `{tool}` before you begin, and do as it says. Paths in it are relative to its folder."""
_TO_LOAD = (
    "There are skills: instructions for particular tasks. When a task fits one of these, load it with the `skill` \
tool, by its name, before you begin:"
)
NO_DESCRIPTION = "(no description)"


class Skill(Struct, frozen=True):
    """A skill, without its instructions."""

    name: str
    description: str
    path: str
    hidden: bool = False  # The model is not told of it; a user can still ask for it.


def parse(path: str, folder: str, text: str) -> tuple[Skill, str]:
    """Return the skill in a file's text, and its instructions. `folder` is its name if the file has none. Raises
    BadInput.
    """
    document = frontmatter.parse(text)
    name = document.text("name") or folder
    if not name.isprintable():
        raise BadInput("the name has characters that cannot be typed")
    hidden = document.text("disable-model-invocation").lower() == "true"
    return Skill(name, document.text("description"), path, hidden), document.body.strip()


def asked_for(skill: Skill, folder: str, body: str, arguments: str) -> str:
    """Return the message that `/skill:name arguments` stands for, in pi's shape."""
    head = f'<skill name="{skill.name}" location="{skill.path}">'
    text = f"{head}\nReferences are relative to {folder}.\n\n{body}\n</skill>"
    return f"{text}\n\n{arguments}" if arguments else text


def loaded(skill: Skill, body: str) -> str:
    """Return what zot's `skill` tool answers when it loads a skill."""
    return f"# Skill: {skill.name}\n\n{skill.description}\n\n---\n\n{body}"


def to_read(skills: Sequence[Skill], tools: Sequence[str]) -> str:
    """Return what the model is told where it reads skills with one of these tools; "" without skills or such a tool."""
    tool = next((tool for tool in READERS if tool in tools), None)
    shown = [skill for skill in skills if not skill.hidden]
    if tool is None or not shown:
        return ""
    entries = "\n".join(
        f"  <skill>\n    <name>{_escaped(skill.name)}</name>\n    <description>{_escaped(skill.description)}"
        f"</description>\n    <location>{_escaped(skill.path)}</location>\n  </skill>"
        for skill in shown
    )
    return f"{_TO_READ.format(tool=tool)}\n\n<available_skills>\n{entries}\n</available_skills>"


def to_load(skills: Sequence[Skill], home: str) -> str:
    """Return what the model is told where it has zot's `skill` tool: a line for each skill, sorted by name, with `~`
    for this home; "" without skills.
    """
    shown = sorted((skill for skill in skills if not skill.hidden), key=lambda skill: skill.name)
    if not shown:
        return ""
    lines = [f"- {skill.name} [{_short(skill.path, home)}]: {_line(skill.description)}" for skill in shown]
    return "\n".join([_TO_LOAD, *lines])


def _short(path: str, home: str) -> str:
    return "~" + path[len(home) :] if home != "/" and path.startswith(f"{home}/") else path


def _line(description: str) -> str:
    return " ".join(description.split()) or NO_DESCRIPTION


def _escaped(text: str) -> str:
    for letter, name in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot"), ("'", "apos")):
        text = text.replace(letter, f"&{name};")
    return text
