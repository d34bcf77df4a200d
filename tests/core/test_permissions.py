"""Which calls may run, decided by rules."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.messages import ToolCall
from linnet.core.permissions import Mode, Rule, Verdict, decide, parse
from linnet.errors import BadInput

NAMES = ("bash", "read", "write", "edit", "mcp__git__status")
verdicts: st.SearchStrategy[Verdict] = st.sampled_from(get_args(Verdict))
modes: st.SearchStrategy[Mode] = st.sampled_from(get_args(Mode))


def bash(command: str) -> ToolCall:
    return ToolCall("1", "bash", {"command": command})


def edit(path: str) -> ToolCall:
    return ToolCall("1", "edit", {"path": path})


@given(modes, st.lists(st.builds(Rule, verdicts, st.sampled_from(["*", *NAMES]))), st.sampled_from(NAMES))
def test_the_last_rule_that_fits_wins_and_else_the_mode(mode: Mode, rules: list[Rule], name: str) -> None:
    fitting = [rule for rule in rules if rule.tool in ("*", name)]
    by_mode: dict[Mode, Verdict] = {
        "auto": "allow",
        "ask": "allow" if name == "read" else "ask",
        "read-only": "allow" if name == "read" else "deny",
        "deny": "deny",
    }
    expected = fitting[-1].verdict if fitting else by_mode[mode]
    assert decide(ToolCall("1", name, {}), mode, rules) == expected


@pytest.mark.parametrize(
    ("command", "fits"),
    [
        ("git status", True),
        ("git   status --short", True),
        ("git stash", False),
        ("git", False),
        ("gitstatus", False),
        ("git status; rm -rf .", False),
        ("git status && rm -rf .", False),
        ("git status\nrm -rf .", False),
        ("git status $(rm -rf .)", False),
        ("git status `rm -rf .`", False),
        ("git status > /etc/passwd", False),
        ("git status & rm x", False),
        ("git status | sh", False),
        ("git status <(rm x)", False),
    ],
)
def test_what_is_allowed_is_one_command_that_begins_so(command: str, fits: bool) -> None:
    rules = [parse("allow", "bash:git status")]
    assert decide(bash(command), "deny", rules) == ("allow" if fits else "deny")


@pytest.mark.parametrize(
    "command", ["rm -rf .", "ls; rm x", "true && rm x", "echo $(rm x)", "sudo rm x", "ls|rm x", "(rm x)"]
)
def test_what_is_denied_is_denied_wherever_it_stands(command: str) -> None:
    assert decide(bash(command), "auto", [parse("deny", "bash:rm")]) == "deny"


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("src/**", "src/a/b.py", True),
        ("src/*", "src/a/b.py", False),
        ("src/*", "src/a.py", True),
        ("src", "src/a/b.py", True),
        ("src", "srcs/a", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "x/y/a.py", True),
        ("*.py", "x/a.py", False),
        ("/etc/**", "/etc/passwd", True),
        ("a?c", "abc", True),
        ("a[b]", "a[b]", True),
        ("**", "../outside", True),
    ],
)
def test_paths_are_held_against_globs(pattern: str, path: str, fits: bool) -> None:
    rules = [parse("allow", f"edit:{pattern}")]
    assert decide(edit(path), "deny", rules, path) == ("allow" if fits else "deny")


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_pattern_and_any_path_lead_to_a_verdict(pattern: str, path: str) -> None:
    for call in (edit(path), bash(path), ToolCall("1", "write", {"path": 5}), ToolCall("1", "bash", {})):
        assert decide(call, "ask", [Rule("deny", "*", pattern)], path) in get_args(Verdict)


def test_a_rule_names_a_tool() -> None:
    assert parse("ask", "edit:src/**") == Rule("ask", "edit", "src/**")
    assert parse("deny", "bash") == Rule("deny", "bash")
    assert parse("allow", "mcp__git__*") == Rule("allow", "mcp__git__*")
    with pytest.raises(BadInput, match="names a tool"):
        parse("allow", ":x")
