"""What was typed as `/name`: one function says what it stands for, whoever knows it."""

from hypothesis import example, given
from hypothesis import strategies as st

from linnet.core.slash import Fetch, RunNamed, Say, resolved, split, to_fetch

NAMES = ("deploy", "skill:deploy", "mcp__deploy", "deploy/x")
texts = st.one_of(
    st.text(),
    st.builds(lambda name, end: f"/{name}{end}", st.sampled_from(NAMES), st.sampled_from(["", " now", "\nnow", "  "])),
)
names = st.sets(st.sampled_from([*NAMES, "deploy"])).map(frozenset)
made = st.sampled_from(["", "Do it.", "/mcp__x y"])


class Known:
    """Sources that know these names, and remember who was asked."""

    def __init__(self, commands: frozenset[str], skills: frozenset[str], templates: frozenset[str], text: str) -> None:
        self.commands, self.skills, self.templates, self.text = commands, skills, templates, text
        self.asked: list[str] = []

    def has_command(self, name: str) -> bool:
        return name in self.commands

    def skill(self, name: str, arguments: str) -> str | None:
        self.asked.append("skill")
        return self.text if name in self.skills else None

    def template(self, name: str, arguments: str) -> str | None:
        self.asked.append("template")
        return self.text if name in self.templates else None


@given(texts, names, names, names, made)
@example("/deploy now", frozenset(["deploy"]), frozenset(), frozenset(["deploy"]), "Do it.")
@example("/skill:deploy now", frozenset(), frozenset(["deploy"]), frozenset(["skill:deploy"]), "Do it.")
@example("/skill:deploy\nnow", frozenset(), frozenset(["deploy"]), frozenset(), "Do it.")
@example("/deploy", frozenset(), frozenset(), frozenset(["deploy"]), "/mcp__x y")
def test_a_command_comes_before_a_skill_a_template_and_a_server_and_nothing_else_is_touched(
    text: str, commands: frozenset[str], skills: frozenset[str], templates: frozenset[str], made: str
) -> None:
    known = Known(commands, skills, templates, made)
    found, words = resolved(text, known), split(text)
    if words is not None and words[0] in commands:
        assert found == RunNamed(*words)
        assert known.asked == []
        return
    is_skill = text.startswith("/skill:") and text.removeprefix("/skill:").partition(" ")[0] in skills
    is_template = words is not None and words[0] in templates
    said = made if is_skill or is_template else text
    if said.startswith("/mcp__"):
        assert isinstance(found, Fetch)
        assert found.text == said
        assert (found.name, found.arguments) == split(said)
    else:
        assert found == (Say(made) if is_skill or is_template else None)
    assert "template" not in known.asked or not is_skill


@given(st.text())
def test_only_what_is_a_servers_is_asked_of_one(text: str) -> None:
    assert to_fetch(text) is None or text.startswith("/mcp__")
    assert to_fetch("/mcp__" + text) is not None
