"""Which calls may run, decided by rules: the very functions that the gate calls."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.messages import ToolCall
from linnet.core.permissions.decision import CallPlace, Placed, decide, finds
from linnet.core.permissions.path_globs import Glob, anchored, anywhere
from linnet.core.permissions.rule import Mode, Rule, Verdict
from linnet.core.permissions.rule_syntax import said_rule

NAMES = ("bash", "read", "write", "edit", "grep", "find", "ls", "skill", "mcp__git__status")
READING = ("read", "grep", "find", "ls")
verdicts: st.SearchStrategy[Verdict] = st.sampled_from(get_args(Verdict))
modes: st.SearchStrategy[Mode | None] = st.sampled_from([*get_args(Mode), None])


def placed(*said: str, cwd: str = "/work") -> list[Placed]:
    """As the gate places them, where no links are."""
    found: list[Placed] = []
    for rule in map(said_rule, said):
        globs: list[Glob] = []
        if rule.pattern and rule.tool != "bash":
            strict = rule.verdict == "allow"
            globs.append(anchored(rule.pattern, cwd, "/home/u", strict=strict))
            if not strict and (everywhere := anywhere(rule.pattern, cwd)) is not None:
                globs.append(everywhere)
        found.append(Placed(rule, tuple(globs)))
    return found


def bash(command: str) -> ToolCall:
    return ToolCall("1", "bash", {"command": command})


def at(path: str, name: str = "edit") -> tuple[ToolCall, CallPlace]:
    return ToolCall("1", name, {"path": path}), CallPlace(path, path)


def covered(tool: str, name: str, own: bool) -> bool:
    """What the page says about names, once more."""
    if tool in ("*", name):
        return True
    return own and ((tool == "read" and name in READING) or (tool == "edit" and name == "write"))


@given(
    modes,
    st.lists(st.builds(Rule, verdicts, st.sampled_from(["*", *NAMES])), max_size=6),
    st.sampled_from(NAMES),
    st.booleans(),
)
def test_the_last_rule_that_fits_wins_and_else_the_mode(
    mode: Mode | None, rules: list[Rule], name: str, own: bool
) -> None:
    fitting = [rule for rule in rules if covered(rule.tool, name, own)]
    reads = own and name in (*READING, "skill")
    by_mode: dict[Mode | None, Verdict] = {
        "auto": "allow",
        "ask": "allow" if reads else "ask",
        "read-only": "allow" if reads else "deny",
        "deny": "deny",
        None: "ask",
    }
    expected = fitting[-1].verdict if fitting else by_mode[mode]
    if own and name in ("grep", "find", "ls") and fitting and expected == "ask" and fitting[-1].tool == "read":
        expected = "deny"  # A search is never asked about for the sake of what it reads.
    call = ToolCall("1", name, {})
    assert decide(call, mode, [Placed(rule) for rule in rules], own=own) == expected


@pytest.mark.parametrize(
    ("rule", "command", "fits"),
    [
        ("bash:git status", "git status", True),
        ("bash:git status", "git   status --short", True),
        ("bash:git status", "'git' \"status\"", True),
        ("bash:git status", "git stash", False),
        ("bash:git status", "git", False),
        ("bash:git status", "git 'status x'", False),
        ("bash:git status", "/tmp/git status", False),
        ("bash:git status", "git -C . status", False),
        ("bash:git status", "gitstatus", False),
        ("bash:git status", r"git status $[$'a[\x24\x28touch ZAPPED\x29]']", False),
        ("bash:git status", "git status; rm -rf .", False),
        ("bash:echo *", "echo a b", True),
        ("bash:echo *", "echo", True),
        ("bash:echo *", "echoes", False),
        ("bash:echo *", "echo $(rm x)", False),
        ("bash:echo*", "echoes a", True),
        ("bash:git * --short", "git status -s --short", True),
        ("bash:git * --short", "git status --short x", False),
        ("bash:git log *", "git 'log x'", False),
        ("Bash(git status)", "git status", True),
        ("Bash(git status)", "git status --short", False),
        ("Bash(git status:*)", "git status --short", True),
        ("bash", "a; b", True),
        ("bash:*", "a; b", True),
        ("Bash(*)", "a $(b)", True),
        ("BASH", "a", True),
    ],
)
def test_to_allow_a_command_is_plain_and_begins_so(rule: str, command: str, fits: bool) -> None:
    assert decide(bash(command), "deny", placed(f"allow {rule}")) == ("allow" if fits else "deny")


@pytest.mark.parametrize(
    "rule", ["bash:rm", "Bash(rm:*)", "bash:rm *", "Bash(rm)", "BASH:rm", "bash:*rm*", "bash:/bin/rm"]
)
@pytest.mark.parametrize(
    "command", ["rm -rf .", "ls; rm x", "true && rm x", "echo $(rm x)", "sudo rm x", "eval x", "$X"]
)
@pytest.mark.parametrize("verdict", ["ask", "deny"])
def test_what_is_denied_is_denied_wherever_it_stands(rule: str, command: str, verdict: str) -> None:
    assert decide(bash(command), "auto", placed(f"{verdict} {rule}")) == verdict
    assert decide(bash("ls -la"), "auto", placed(f"{verdict} {rule}")) == "allow"


@given(
    st.sampled_from(["git status", "ls", "make *", "npm run test"]),
    st.text(st.sampled_from("git status;|&$`(){}<>'\"\\*\n=x"), max_size=25),
)
def test_nothing_is_allowed_that_denying_the_same_would_not_deny(pattern: str, line: str) -> None:
    if decide(bash(line), "deny", placed(f"allow bash:{pattern}")) == "allow":
        assert decide(bash(line), "auto", placed(f"deny bash:{pattern}")) == "deny"


@pytest.mark.parametrize(
    ("pattern", "path", "allows", "denies"),
    [
        ("src/**", "/work/src/a/b.py", True, True),
        ("src/*", "/work/src/a/b.py", False, True),
        ("src/*", "/work/src/a.py", True, True),
        ("src", "/work/src/a/b.py", True, True),
        ("./src", "/work/src/a", True, True),
        ("src/", "/work/src/a", True, True),
        ("src", "/work/srcs/a", False, False),
        ("src/x/../y", "/work/src/y", True, True),
        (".env", "/work/.env", True, True),
        (".env", "/work/sub/.env", False, True),
        ("./.env", "/work/sub/.env", False, False),
        (".env", "/elsewhere/.env", False, False),
        ("/work/.env", "/work/.env", True, True),
        ("~/.ssh/**", "/home/u/.ssh/id", True, True),
        ("~", "/home/u/x", True, True),
        ("**/*.py", "/work/a.py", True, True),
        ("**/*.py", "/work/x/y/a.py", True, True),
        ("*.py", "/work/x/a.py", False, True),
        ("/etc/**", "/etc/passwd", True, True),
        ("/", "/etc/passwd", True, True),
        (".", "/work/x", True, True),
        (".", "/other", False, False),
        ("../x", "/x", True, True),
        ("a?c", "/work/abc", True, True),
        ("a[b]", "/work/a[b]", True, True),
        ("a[bc]", "/work/ab", False, True),
        ("a[!b]", "/work/ab", False, False),
        ("a[z-a]", "/work/ab", False, True),
        ("*.{js,ts}", "/work/a.ts", True, True),
        ("*.{js,ts}", "/work/a.py", False, False),
    ],
)
def test_paths_are_held_against_globs(pattern: str, path: str, allows: bool, denies: bool) -> None:
    assert decide(*_mode(path, "deny"), placed(f"allow edit:{pattern}"), CallPlace(path, path)) == (
        "allow" if allows else "deny"
    )
    assert decide(*_mode(path, "auto"), placed(f"deny edit:{pattern}"), CallPlace(path, path)) == (
        "deny" if denies else "allow"
    )


def _mode(path: str, mode: Mode) -> tuple[ToolCall, Mode]:
    return ToolCall("1", "edit", {"path": path}), mode


def test_a_folder_whose_name_looks_like_a_pattern_is_itself() -> None:
    rules = placed("allow edit:a", cwd="/w{x,y}[z]*")
    call = ToolCall("1", "edit", {"path": "a"})
    assert decide(call, "deny", rules, CallPlace("/w{x,y}[z]*/a", "/w{x,y}[z]*/a")) == "allow"
    assert decide(call, "deny", rules, CallPlace("/wx/a", "/wxz/a")) == "deny"


def test_to_allow_it_counts_where_a_link_leads_and_to_deny_its_name_too() -> None:
    call = ToolCall("1", "read", {"path": "link"})
    there, away = CallPlace("/work/link", "/work/src/a"), CallPlace("/work/src/link", "/etc/passwd")
    assert decide(call, "deny", placed("allow read:src/**"), there) == "allow"
    assert decide(call, "deny", placed("allow read:src/**"), away) == "deny"
    assert decide(call, "deny", placed("allow read:link"), there) == "deny"
    assert decide(call, "auto", placed("deny read:link"), there) == "deny"
    assert decide(call, "auto", placed("deny read:src/**"), there) == "deny"
    assert decide(call, "auto", placed("deny read:/etc"), away) == "deny"


@pytest.mark.parametrize(
    ("rule", "name", "fits"),
    [
        ("read:x", "read", True),
        ("read:x", "grep", True),
        ("read:x", "find", True),
        ("read:x", "ls", True),
        ("read:x", "edit", False),
        ("edit:x", "edit", True),
        ("edit:x", "write", True),
        ("write:x", "write", True),
        ("write:x", "edit", False),
        ("grep:x", "grep", True),
        ("grep:x", "read", False),
    ],
)
@pytest.mark.parametrize("verdict", ["allow", "deny", "ask"])
def test_read_covers_searching_and_edit_covers_writing(rule: str, name: str, fits: bool, verdict: str) -> None:
    call, place = at("/work/x", name)
    mode: Mode = "deny" if verdict == "allow" else "auto"
    expected = verdict if fits else {"deny": "deny", "auto": "allow"}[mode]
    if fits and verdict == "ask" and name in ("grep", "find", "ls"):
        expected = "deny"
    assert decide(call, mode, placed(f"{verdict} {rule}"), place) == expected


def test_whose_tool_it_is_decides_and_not_its_name() -> None:
    call, place = at("/work/x", "grep")
    assert decide(call, "deny", placed("allow read"), place, own=False) == "deny"
    assert decide(call, "auto", placed("deny read"), place, own=False) == "allow"
    assert decide(call, "read-only", [], place, own=False) == "deny"
    assert decide(call, "deny", placed("allow grep"), place, own=False) == "allow"
    assert decide(call, "deny", placed("allow grep:x"), place, own=False) == "deny", "its path may be anything"
    assert decide(call, "auto", placed("deny grep:x"), place, own=False) == "deny"
    assert decide(ToolCall("1", "bash", {"cmd": "rm"}), "auto", placed("deny bash:rm"), own=False) == "deny"
    assert decide(ToolCall("1", "bash", {"command": "ls"}), "deny", placed("allow bash:ls"), own=False) == "deny"


@pytest.mark.parametrize(
    ("rules", "mode", "folder", "verdict", "shown"),
    [
        (["deny read:.env"], "auto", "/work", "allow", {"src/a"}),
        (["ask read:.env"], "auto", "/work", "allow", {"src/a"}),
        (["ask read:.env"], None, "/work", "ask", {"src/a"}),
        (["deny read:.env"], "auto", "/work/.env", "deny", set()),
        (["ask read:.env"], "auto", "/work/.env", "deny", set()),
        (["ask read"], "auto", "/work", "deny", set()),
        (["ask grep"], "auto", "/work", "ask", {".env", "src/a"}),
        (["ask *"], "auto", "/work", "ask", {".env", "src/a"}),
        (["allow read:src/**"], "deny", "/work", "allow", {"src/a"}),
        (["allow read:src/**"], "deny", "/work/src", "allow", {"src/a"}),
        (["deny read", "allow read:src/**"], "auto", "/work", "allow", {"src/a"}),
        (["allow read:src/**", "deny read"], "auto", "/work", "deny", set()),
        (["allow read", "deny read:src"], "deny", "/work", "allow", {".env"}),
        ([], "deny", "/work", "deny", set()),
        ([], "ask", "/work", "allow", {".env", "src/a"}),
    ],
)
def test_a_search_leaves_out_what_may_not_be_read_and_does_not_ask(
    rules: list[str], mode: Mode | None, folder: str, verdict: Verdict, shown: set[str]
) -> None:
    call, place = at(folder, "grep")
    assert decide(call, mode, placed(*rules), place) == verdict
    paths = {".env": CallPlace("/work/.env", "/work/.env"), "src/a": CallPlace("/work/src/a", "/work/src/a")}
    found = {name for name, each in paths.items() if finds(call, mode, placed(*rules), each)}
    assert found == shown or verdict == "deny"


@given(
    modes,
    st.lists(
        st.tuples(verdicts, st.sampled_from(["read", "read:src", "read:.env", "grep:src", "read:**/a", "*"])),
        max_size=4,
    ),
    st.sampled_from(["/work/.env", "/work/src/a", "/work/x/a"]),
)
def test_a_search_shows_nothing_that_reading_would_not(
    mode: Mode | None, said: list[tuple[Verdict, str]], path: str
) -> None:
    """Where rules name only what is read, and somebody else than a callback decides."""
    rules = placed(*(f"{verdict} {rule}" for verdict, rule in said))
    place = CallPlace(path, path)
    if mode is None or any(rule.rule.tool in ("*", "grep") for rule in rules):
        return
    read = decide(ToolCall("1", "read", {"path": path}), mode, rules, place)
    assert finds(ToolCall("1", "grep", {}), mode, rules, place) is (read == "allow")


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_command_and_any_path_lead_to_a_verdict(pattern: str, path: str) -> None:
    glob = anchored(pattern, "/work", "/home/u", strict=False)
    rules = [Placed(Rule("deny", "edit", pattern or "x"), (glob,)), *placed("ask bash:rm", "allow bash:ls")]
    for call in (
        ToolCall("1", "edit", {"path": path}),
        bash(path),
        ToolCall("1", "write", {"path": 5}),
        ToolCall("1", "bash", {}),
    ):
        assert decide(call, "ask", rules, CallPlace(path, path)) in get_args(Verdict)
