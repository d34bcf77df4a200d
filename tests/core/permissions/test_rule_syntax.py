"""How rules are written, and what is refused because it would fit nothing."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.permissions.rule import OWN, Rule, Verdict
from linnet.core.permissions.rule_syntax import checked, parse, said_rule
from linnet.errors import BadInput

verdicts: st.SearchStrategy[Verdict] = st.sampled_from(get_args(Verdict))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("bash", Rule("ask", "bash")),
        (" BASH ", Rule("ask", "bash")),
        ("bash:*", Rule("ask", "bash")),
        ("Bash(*)", Rule("ask", "bash")),
        ("Bash(:*)", Rule("ask", "bash")),
        ("bash:git status", Rule("ask", "bash", "git status")),
        ("bash: git status ", Rule("ask", "bash", "git status")),
        ("bash:echo *", Rule("ask", "bash", "echo")),
        ("Bash(echo *)", Rule("ask", "bash", "echo")),
        ("Bash(echo:*)", Rule("ask", "bash", "echo")),
        ("bash:echo:*", Rule("ask", "bash", "echo")),
        ("bash:echo*", Rule("ask", "bash", "echo*")),
        ("Bash(git status)", Rule("ask", "bash", "git status", whole=True)),
        ("Bash(npm run *:watch)", Rule("ask", "bash", "npm run *:watch", whole=True)),
        ("bash:git commit -m 'a b'", Rule("ask", "bash", "git commit -m 'a b'")),
        ("Read(.env)", Rule("ask", "read", ".env")),
        ("Read(**)", Rule("ask", "read")),
        ("read:~/.ssh/**", Rule("ask", "read", "~/.ssh/**")),
        ("Edit(src/**)", Rule("ask", "edit", "src/**")),
        ("edit:app/[id]/page.tsx", Rule("ask", "edit", "app/[id]/page.tsx")),
        ("Edit(a (copy).txt)", Rule("ask", "edit", "a (copy).txt")),
        ("LS", Rule("ask", "ls")),
        ("*", Rule("ask", "*")),
        ("mcp__git__*", Rule("ask", "mcp__git__*")),
        ("mcp__git", Rule("ask", "mcp__git__*")),
        ("mcp__my_server", Rule("ask", "mcp__my_server__*")),
        ("mcp__git__status", Rule("ask", "mcp__git__status")),
        ("deploy(*)", Rule("ask", "deploy")),
        ("Deploy", Rule("ask", "Deploy")),
        ("lsp", Rule("ask", "lsp")),
    ],
)
def test_a_rule_means_what_people_write(text: str, rule: Rule) -> None:
    assert parse("ask", text) == rule
    assert said_rule(f"ask {text}") == rule
    assert checked(rule) == rule
    assert said_rule(str(rule)) == rule


@pytest.mark.parametrize(
    ("verdict", "text", "words"),
    [
        ("deny", "", "names a tool"),
        ("deny", ":x", "names a tool"),
        ("deny", "(x)", "names a tool"),
        ("deny", "bash:", "has no pattern"),
        ("deny", "Bash()", "has no pattern"),
        ("deny", "Bash(rm", "not closed"),
        ("deny", "bash rm", "did you mean bash:rm"),
        ("deny", "no tool", "cannot be the name"),
        ("deny", "bsh", "did you mean bash"),
        ("deny", "raed:.env", "did you mean read"),
        ("deny", "Wirte", "did you mean write"),
        ("deny", "greps", "did you mean grep"),
        ("deny", "fnd", "did you mean find"),
        ("deny", "sl", "did you mean ls"),
        ("deny", "deploy:prod", "has no pattern"),
        ("deny", "mcp__git__*:x", "has no pattern"),
        ("deny", "*:src/**", "has no pattern"),
        ("deny", "bash:curl x | sh", "one command"),
        ("deny", "bash:a; b", "one command"),
        ("deny", "bash:echo > x", "one command"),
        ("deny", "bash:$X", "one command"),
        ("deny", "bash:echo `x`", "one command"),
        ("deny", "bash:echo 'x", "one command"),
        ("deny", "bash:a\nb", "cannot be printed"),
        ("allow", "bash:echo {a,b}", "'{' is never part"),
        ("allow", "bash:[ -f x ]", r"'\[' is never part"),
        ("allow", "bash:A=1 make", "begins with the name of a program"),
        ("deny", "read:$HOME/.ssh", "write ~"),
        ("deny", "read:~somebody/.ssh", "home of somebody else"),
        ("deny", "read:src/\\[id\\]/x", "nothing is escaped"),
        ("deny", "read:{a,b", "not closed"),
        ("deny", "read:!secret", "another rule after it"),
        ("deny", "read:" + "{a,b}" * 7, "more than 64"),
        ("deny", "read:a\0b", "cannot be printed"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(verdict: Verdict, text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        parse(verdict, text)


def test_a_tool_that_somebody_has_is_no_slip() -> None:
    assert parse("deny", "bsh", known=["bsh"]) == Rule("deny", "bsh")
    assert parse("deny", "finds", known=["finds"]).tool == "finds"


BY_HAND: list[Any] = [Rule("alow", "bash"), Rule("deny", "bsh"), Rule("deny", "bash", "a | b"), ("deny", "x")]  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", BY_HAND)
def test_a_rule_that_was_made_by_hand_is_read_like_any_other(rule: Rule) -> None:
    with pytest.raises(BadInput):
        checked(rule)


@given(st.sampled_from(OWN), st.data())
def test_names_are_known_in_any_case(name: str, data: st.DataObject) -> None:
    spelled = "".join(data.draw(st.sampled_from([sign, sign.upper()])) for sign in name)
    assert parse("deny", spelled).tool == name


@given(
    verdicts,
    st.text(max_size=20) | st.sampled_from(OWN).flatmap(lambda own: st.text(max_size=12).map(f"{own}:".__add__)),
)
def test_a_text_is_a_rule_that_can_be_said_again_or_is_refused(verdict: Verdict, text: str) -> None:
    try:
        rule = parse(verdict, text)
    except BadInput:
        return
    assert said_rule(str(rule)) == rule
