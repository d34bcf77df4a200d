"""Decides whether a tool call may run: by the last rule that fits it, or by the mode where none does.

What is not known to be allowed is not allowed, and what might be forbidden is forbidden.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from linnet.core.messages import ToolCall
from linnet.core.permissions.mentions import mentions
from linnet.core.permissions.path_globs import Glob
from linnet.core.permissions.plain_command import plain_command, plain_words, shown
from linnet.core.permissions.rule import READING, SEARCHING, WRITING, Mode, Rule, Verdict, subject
from linnet.core.permissions.rule_syntax import pattern_words

_COVERED = {"read": READING, "edit": WRITING}


class Placed(Struct, frozen=True):
    """A rule, and what its pattern means in this working folder."""

    rule: Rule
    globs: tuple[Glob, ...] = ()  # For a pattern that is about paths.


class CallPlace(Struct, frozen=True):
    """The absolute path that a call is about."""

    named: str  # As the call names it.
    real: str  # With links followed.


def decide(
    call: ToolCall, mode: Mode | None, rules: Sequence[Placed], place: CallPlace | None = None, *, own: bool = True
) -> Verdict:
    """Return what the last rule that fits says, or else the mode; without a mode, somebody is asked about everything.

    `own`: the tool is linnet's, and not somebody else's of that name. A search is allowed if it may find something:
    `finds` says what. Nobody is asked about a search for the sake of what it would read.
    """
    at = _last(call, rules, place, own)
    verdict = rules[at].rule.verdict if at >= 0 else by_mode(call, mode, own=own)
    if verdict == "allow" or not own or call.name not in SEARCHING:
        return verdict
    if any(each.rule.verdict == "allow" and each.globs and _covers(each.rule, call, own) for each in rules[at + 1 :]):
        return "allow"
    if verdict == "ask" and at >= 0 and not _is_about_the_call(rules[at].rule):
        return "deny"
    return verdict


def finds(call: ToolCall, mode: Mode | None, rules: Sequence[Placed], place: CallPlace) -> bool:
    """Return whether a search of linnet's own that may run may also show what it found at this place."""
    at = _last(call, rules, place, True)
    if at < 0:
        return mode is None or by_mode(call, mode) == "allow"
    rule = rules[at].rule
    return rule.verdict == "allow" or (rule.verdict == "ask" and _is_about_the_call(rule))


def leaves_out(call: ToolCall, mode: Mode | None, rules: Sequence[Placed]) -> bool:
    """Return whether a search that may run may have to leave something out."""
    doubtful = any(each.rule.verdict != "allow" and _covers(each.rule, call, True) for each in rules)
    return doubtful or (mode is not None and by_mode(call, mode) != "allow")


def by_mode(call: ToolCall, mode: Mode | None, *, own: bool = True) -> Verdict:
    """Return the verdict where no rule fits. Only what linnet knows to change nothing counts as reading."""
    reads = own and (call.name in READING or call.name == "skill")
    match mode:
        case "auto":
            return "allow"
        case "ask":
            return "allow" if reads else "ask"
        case "read-only":
            return "allow" if reads else "deny"
        case "deny":
            return "deny"
        case None:
            return "ask"


def _last(call: ToolCall, rules: Sequence[Placed], place: CallPlace | None, own: bool) -> int:
    """Return the index of the last rule that fits; -1 if none does."""
    return next((at for at in reversed(range(len(rules))) if _fits(rules[at], call, place, own)), -1)


def _is_about_the_call(rule: Rule) -> bool:
    """Return whether the rule names the search itself, and not what it reads."""
    return not rule.pattern and rule.tool != "read"


def _covers(rule: Rule, call: ToolCall, own: bool) -> bool:
    return named(rule.tool, call.name) or (own and call.name in _COVERED.get(rule.tool, ()))


def named(tool: str, name: str) -> bool:
    """Return whether the tool of a rule, in which `*` stands for anything, is this one. Case does not matter."""
    tool, name = tool.lower(), name.lower()
    return tool == name or ("*" in tool and _star(tool).fullmatch(name) is not None)


@lru_cache(256)
def _star(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, text.split("*"))), re.DOTALL)


def _fits(placed: Placed, call: ToolCall, place: CallPlace | None, own: bool) -> bool:
    rule = placed.rule
    if not _covers(rule, call, own):
        return False
    if not rule.pattern:
        return True
    if rule.verdict == "allow":  # What somebody else's tool of that name does with its arguments is not known.
        return own and (_allows(rule, subject(call)) if call.name == "bash" else _leads_there(placed, place))
    if not subject(call) and place is None:
        return True
    if rule.tool == "bash":
        return mentions(subject(call), pattern_words(rule.pattern) or ())
    paths = (place.named, place.real) if place is not None else ()
    return not paths or any(glob.fits(path) for glob in placed.globs for path in paths)


def _leads_there(placed: Placed, place: CallPlace | None) -> bool:
    return place is not None and any(glob.fits(place.real) for glob in placed.globs)


def _allows(rule: Rule, line: str) -> bool:
    words, wanted = _plain_command(line), _plain_words(rule.pattern)
    if words is None or not wanted:
        return False
    if rule.whole or "*" in rule.pattern:
        return _matches(shown(wanted), shown(words))
    return words[: len(wanted)] == wanted


_plain_command = lru_cache(16)(plain_command)  # The same line is held against every rule,
_plain_words = lru_cache(256)(plain_words)  # and the same rule against every line.


def _matches(pattern: str, text: str) -> bool:
    """Return whether the text is the pattern with anything in place of the stars, in time linear in the text."""
    first, *others = pattern.split("*")
    if not others:
        return text == first
    if not text.startswith(first) or len(text) < len(first) + len(others[-1]) or not text.endswith(others[-1]):
        return False
    at, end = len(first), len(text) - len(others[-1])
    for other in others[:-1]:
        found = text.find(other, at, end)
        if found < 0:
            return False
        at = found + len(other)
    return True
