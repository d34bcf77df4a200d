"""Which tool calls may run: rules by tool and pattern, as a pure decision."""

import re
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

from linnet.core.messages import ToolCall
from linnet.errors import BadInput

Verdict: TypeAlias = Literal["allow", "ask", "deny"]
Mode: TypeAlias = Literal["auto", "ask", "read-only", "deny"]
SEARCHING = frozenset(("grep", "find", "ls"))  # Without a path, in the working folder.
READING = SEARCHING | {"read"}
# The argument that a pattern is held against.
_SUBJECTS = {
    "bash": "command",
    "read": "path",
    "write": "path",
    "edit": "path",
    "grep": "path",
    "find": "path",
    "ls": "path",
}


class Rule(Struct, frozen=True):
    """`tool` is a tool's name or `*`. `pattern` is the beginning of a command for bash, a glob of paths for tools that
    take one; empty, it fits every call.
    """

    verdict: Verdict
    tool: str
    pattern: str = ""


def parse(verdict: Verdict, text: str) -> Rule:
    """`bash`, `bash:git status`, `edit:src/**`, `mcp__*`. Raises BadInput."""
    tool, _, pattern = text.partition(":")
    if not tool.strip():
        raise BadInput(f"a rule names a tool, such as bash or edit:src/**, not {text!r}")
    return Rule(verdict, tool.strip(), pattern.strip())


def said_rule(text: str) -> Rule:
    """`allow bash:git status`, `deny edit`. Raises BadInput."""
    verdict, _, rest = text.strip().partition(" ")
    for known in get_args(Verdict):
        if verdict == known:
            return parse(known, rest)
    raise BadInput(f"a rule begins with {', '.join(get_args(Verdict))}, not {verdict!r}")


def decide(call: ToolCall, mode: Mode, rules: Sequence[Rule], path: str = "") -> Verdict:
    """What the rules say; where none fits, the mode decides."""
    return ruled(call, rules, path) or by_mode(call, mode)


def ruled(call: ToolCall, rules: Sequence[Rule], path: str = "") -> Verdict | None:
    """The last rule that fits wins. `path` is the call's path in full, with links followed and relative to the working
    folder where it lies inside: a rule for a folder is not fooled by `..`.
    """
    return next((rule.verdict for rule in reversed(rules) if _fits(rule, call, path)), None)


def by_mode(call: ToolCall, mode: Mode) -> Verdict:
    match mode:
        case "auto":
            return "allow"
        case "ask":
            return "allow" if call.name in READING else "ask"
        case "read-only":
            return "allow" if call.name in READING else "deny"
        case "deny":
            return "deny"


def _fits(rule: Rule, call: ToolCall, path: str) -> bool:
    if not _glob(rule.tool, call.name):
        return False
    if not rule.pattern:
        return True
    if call.name == "bash":
        return (
            _begins(subject(call), rule.pattern) if rule.verdict == "allow" else _mentions(subject(call), rule.pattern)
        )
    return bool(path) and _glob(rule.pattern, path)


def subject(call: ToolCall) -> str:
    """The command or path that the call is about; empty if it has none."""
    value: Any = call.args.get(_SUBJECTS.get(call.name, ""), "")
    return value if isinstance(value, str) else ""


# What joins several commands into one, or runs one inside another.
_JOINTS = re.compile(r"[;&|\n`()<>]|\$\(|\$\{")


def _begins(command: str, prefix: str) -> bool:
    """Whether it is a single command that begins with these words. One that is made of several is never taken for its
    first: `git status; rm -rf .` does not fit `git status`.
    """
    words = command.split()
    wanted = prefix.split()
    return words[: len(wanted)] == wanted and not _JOINTS.search(command)


def _mentions(command: str, prefix: str) -> bool:
    """Whether any of the commands that it is made of begins with these words."""
    wanted = prefix.split()
    parts = (part.split() for part in _JOINTS.split(command))
    return any(part[at : at + len(wanted)] == wanted for part in parts for at in (0, 1))


def _glob(pattern: str, text: str) -> bool:
    """`*` and `?` stay within a part of a path, `**` does not; a folder's name alone means all that is in it."""
    out = ""
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            out, at = out + "(?:.*/)?", at + 3
        elif pattern.startswith("**", at):
            out, at = out + ".*", at + 2
        elif pattern[at] == "*":
            out, at = out + "[^/]*", at + 1
        elif pattern[at] == "?":
            out, at = out + "[^/]", at + 1
        else:
            out, at = out + re.escape(pattern[at]), at + 1
    inside = "(?:/.*)?" if not pattern.endswith(("*", "?")) else ""
    return re.fullmatch(out.rstrip("/") + inside, text, re.DOTALL) is not None
