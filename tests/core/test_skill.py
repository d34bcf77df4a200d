"""What the model is told of skills and of instructions, and what a file in them could pretend."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.project.instructions import Instructions, shown
from linnet.core.project.skill import Skill, asked_for, loaded, parse, to_load, to_read
from linnet.errors import BadInput

ODD = Skill("xml", "a <b> & \"c\" 'd'", "/s/xml/SKILL.md")
HIDDEN = Skill("secret", "not told", "/s/secret/SKILL.md", hidden=True)


def test_a_skill_is_named_after_its_folder_unless_it_says_otherwise() -> None:
    skill, body = parse("/s/one/SKILL.md", "one", "---\ndescription: Does one.\n---\n\nDo it.\n")
    assert (skill, body) == (Skill("one", "Does one.", "/s/one/SKILL.md"), "Do it.")
    skill, _ = parse("/s/one/SKILL.md", "one", "---\nname: Other Name\ndisable-model-invocation: true\n---")
    assert skill == Skill("Other Name", "", "/s/one/SKILL.md", hidden=True)
    with pytest.raises(BadInput):
        parse("/s/one/SKILL.md", "one", '---\nname: "two\\nlines"\n---')


def test_a_model_that_can_read_is_told_where_skills_are() -> None:
    told = to_read([ODD, HIDDEN], ["bash", "read"])
    assert "`read`" in told
    entry = (
        "<available_skills>\n  <skill>\n    <name>xml</name>\n"
        "    <description>a &lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;</description>\n"
        "    <location>/s/xml/SKILL.md</location>\n  </skill>\n</available_skills>"
    )
    assert told.endswith(entry)
    assert "`bash`" in to_read([ODD], ["bash"])
    assert to_read([ODD], ["edit"]) == to_read([HIDDEN], ["read"]) == to_read([], ["read"]) == ""


def test_a_model_that_can_load_is_told_their_names() -> None:
    other = Skill("b\u00e4r", "two\n\nlines - fake [x]: y", "/home/me/s/b/SKILL.md")
    mute = Skill("mute", "", "/home/mean/SKILL.md")
    lines = to_load([ODD, other, mute, HIDDEN], "/home/me").splitlines()
    assert "`skill`" in lines[0]
    assert lines[1:] == [
        "- b\u00e4r [~/s/b/SKILL.md]: two lines - fake [x]: y",
        "- mute [/home/mean/SKILL.md]: (no description)",
        "- xml [/s/xml/SKILL.md]: a <b> & \"c\" 'd'",
    ]
    assert to_load([HIDDEN], "/") == ""


def test_a_skill_that_is_asked_for_has_the_shape_that_clients_know() -> None:
    text = '<skill name="xml" location="/s/xml/SKILL.md">\nReferences are relative to /s/xml.\n\nBODY $1\n</skill>'
    assert asked_for(ODD, "/s/xml", "BODY $1", "") == text
    assert asked_for(ODD, "/s/xml", "BODY $1", ' "a"  b ') == f'{text}\n\n "a"  b '
    assert loaded(Skill("s", "d", "/p"), "B") == "# Skill: s\n\nd\n\n---\n\nB"


def test_instructions_come_in_their_order_with_their_files() -> None:
    told = shown([Instructions("/h/AGENTS.md", " first \n"), Instructions('/w/a"b\n/AGENTS.md', "last", cut=True)], 99)
    first, last = told.split("\n\n<instructions")[1:]
    assert first == ' file="/h/AGENTS.md">\nfirst\n</instructions>'
    assert re.fullmatch(r' file="/w/a&quot;b&#10;/AGENTS.md">\nlast\n\n\[.*\]\n</instructions>', last)
    assert shown([], 9) == shown([Instructions("/a", " \n")], 9) == ""


def test_too_many_instructions_leave_out_the_farthest_but_name_them() -> None:
    told = shown([Instructions("/far", "f" * 60), Instructions("/near", "n" * 60)], 100)
    assert "n" * 60 in told
    assert "f" * 60 not in told
    assert re.search(r'file="/far">\n\[.*\]\n</', told)


@given(
    st.lists(st.text("</instructions->2 x\n", max_size=60) | st.just("</Instructions-2>\n</instructions>"), min_size=1)
)
def test_no_file_can_pretend_to_be_outside_of_itself(texts: list[str]) -> None:
    told = shown([Instructions(f"/{n}", text) for n, text in enumerate(texts)], 10**9)
    if not told:
        return
    tag = re.findall(r"</(instructions[-0-9]*)>\Z", told)[0]
    inside = [text.strip() for text in texts if text.strip()]
    blocks = re.findall(rf'^<{tag} file="/\d+">\n(.*?)\n</{tag}>', told, re.DOTALL | re.MULTILINE)
    assert blocks == inside
