"""Reads rules as people write them: `bash:git status`, `edit:src/**`, `Bash(git status:*)`, `mcp__git__*`.

What makes no sense is refused with a sentence, since a rule that fits nothing protects nobody.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import get_args

from linnet.core.permissions.path_globs import alternatives
from linnet.core.permissions.plain_command import not_plain, plain_command, plain_words
from linnet.core.permissions.rule import OWN, SUBJECTS, Rule, Verdict
from linnet.core.permissions.shell_words import TooMuch, commands
from linnet.errors import BadInput

_NAME = re.compile(r"[A-Za-z0-9_.*-]+")
_WORDS = re.compile(r"(.*\S)(?::\*|[ \t]\*)", re.DOTALL)
_VARIABLE = re.compile(r"\$[A-Za-z_{]")
FORMS = "a tool, or a tool and a pattern, such as bash, bash:git status or edit:src/**"


def said_rule(text: str, known: Iterable[str] = ()) -> Rule:
    """Return the rule that a text says with its verdict: `allow bash:git status`, `deny edit`. Raises BadInput."""
    verdict, _, rest = text.strip().partition(" ")
    for each in get_args(Verdict):
        if verdict.lower() == each:
            return parse(each, rest, known)
    raise BadInput(f"a rule begins with {', '.join(get_args(Verdict))}, not {verdict!r}")


def checked(rule: Rule, known: Iterable[str] = ()) -> Rule:
    """Return a rule that a program made as `parse` would have made it. Raises BadInput."""
    if not isinstance(rule, Rule) or rule.verdict not in get_args(Verdict):
        raise BadInput(f'a rule is a text such as "deny bash:rm", or a Rule, not {rule!r}')
    tool = _tool(rule.tool.strip(), known)
    pattern = rule.pattern.strip()
    return _rule(rule.verdict, tool, pattern, whole=rule.whole) if pattern else Rule(rule.verdict, tool)


def parse(verdict: Verdict, text: str, known: Iterable[str] = ()) -> Rule:
    """Return the rule that a text says: `bash`, `bash:git status`, `Bash(git status)`, `edit:src/**`, `mcp__*`. Raises
    BadInput.

    `known` are tools besides linnet's own: names near those of linnet's are not taken for slips then.
    """
    text = text.strip()
    name, sign, rest = _split(text)
    if not name:
        raise BadInput(f"a rule names {FORMS}, not {text!r}")
    tool = _tool(name, known)
    if not sign:
        return Rule(verdict, tool)
    if sign == "(":
        if not rest.endswith(")"):
            raise BadInput(f"{text!r} has a parenthesis that is not closed")
        rest = rest[:-1]
    if not rest.strip():
        raise BadInput(f"{text!r} has no pattern; for every call of {tool}, say {tool}")
    return _rule(verdict, tool, rest.strip(), whole=sign == "(")


def _split(text: str) -> tuple[str, str, str]:
    found = re.search(r"[:(]", text)
    if found is None:
        return text, "", ""
    return text[: found.start()].rstrip(), found[0], text[found.end() :]


def _tool(name: str, known: Iterable[str]) -> str:
    if name.lower() in OWN:
        return name.lower()
    if not _NAME.fullmatch(name):
        words = name.split()
        hint = f"; did you mean {words[0].lower()}:{' '.join(words[1:])}?" if words[0].lower() in OWN else ""
        raise BadInput(f"{name!r} cannot be the name of a tool{hint}")
    if (
        "*" not in name
        and name not in known
        and (meant := next((own for own in OWN if _is_slip(name.lower(), own)), ""))
    ):
        raise BadInput(f'there is no tool "{name}"; did you mean {meant}?')
    if re.fullmatch(r"mcp__(?:[^_*]|_(?!_))+", name):
        return f"{name}__*"  # All tools of that server.
    return name


def _is_slip(name: str, own: str) -> bool:
    """Return whether a name is one of linnet's with one letter missing, added or changed, or with two swapped."""
    if name == own or abs(len(name) - len(own)) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(name, own, strict=False)) if a != b), min(len(name), len(own)))
    a, b = name[start:], own[start:]
    swapped = a[:2] == b[1::-1] and len(b) > 1 and a[2:] == b[2:]
    if len(own) < 3:  # Many names are near a short one.
        return swapped
    return swapped or a[1:] == b[1:] or a[1:] == b or a == b[1:]


def _rule(verdict: Verdict, tool: str, pattern: str, *, whole: bool) -> Rule:
    if pattern in ("*", ":*") or (pattern == "**" and tool != "bash"):
        return Rule(verdict, tool)
    if tool not in SUBJECTS:
        raise BadInput(
            f"a rule about {tool} has no pattern: only those about {', '.join(sorted(SUBJECTS))} have one, "
            f"not {pattern!r}"
        )
    if any(ord(sign) < 32 or ord(sign) == 127 for sign in pattern):
        raise BadInput(f"the pattern {pattern!r} has a character in it that cannot be printed")
    if tool == "bash":
        return _bash_rule(verdict, pattern, whole)
    _check_path(pattern)
    return Rule(verdict, tool, pattern)


def _bash_rule(verdict: Verdict, pattern: str, whole: bool) -> Rule:
    """Return a rule about commands. `words:*` and `words *` mean those that begin with these words. Raises BadInput."""
    prefix = _WORDS.fullmatch(pattern)
    if prefix is not None and "*" not in prefix[1]:
        pattern, whole = prefix[1], False
    words = pattern_words(pattern)
    if words is None:
        raise BadInput(
            f"the pattern {pattern!r} is more than the words of one command; a rule is about one command, "
            f"without joints, redirections, variables or open quotes"
        )
    if verdict == "allow" and plain_words(pattern) is None:
        raise BadInput(
            f"nothing would be allowed by {pattern!r}: only plain commands are, and {not_plain(pattern)!r} is never "
            f"part of one"
        )
    if verdict == "allow" and plain_command(pattern.replace("*", "x")) is None:
        raise BadInput(f"nothing would be allowed by {pattern!r}: a plain command begins with the name of a program")
    if not any(word.strip("*") for word in words):
        return Rule(verdict, "bash")
    return Rule(verdict, "bash", pattern, whole)


@lru_cache(256)
def pattern_words(pattern: str) -> tuple[str, ...] | None:
    """Return the words of a pattern for bash, with quotes undone; None if it is more than one command's words."""
    try:
        found = commands(pattern)
    except TooMuch:
        return None
    if len(found) != 1 or any(word.expands or word.is_target for word in found[0].words) or _is_open(pattern):
        return None
    return tuple(word.text for word in found[0].words)


def _is_open(pattern: str) -> bool:
    """Return whether a quote is not closed, or the pattern has signs that rules have no need of."""
    rest = re.sub(r"'[^']*'|\"[^\"]*\"", "", pattern)
    return bool(re.search(r"[\\'\";&|<>()\n]", rest)) or "\\" in pattern or "$" in pattern or "`" in pattern


def _check_path(pattern: str) -> None:
    if _VARIABLE.search(pattern):
        raise BadInput(f"the path {pattern!r} has a variable in it, which nobody puts in; write ~ or the path in full")
    if pattern.startswith("!"):
        raise BadInput(f"the path {pattern!r} begins with !, and rules have no exceptions: say another rule after it")
    if pattern.startswith("~") and pattern[1:2] not in ("", "/"):
        raise BadInput(f"the path {pattern!r} is in the home of somebody else; write it in full, or ./~… for a name")
    if "\\" in pattern:
        raise BadInput(f"the path {pattern!r} has a backslash in it, and nothing is escaped in a rule")
    if pattern.count("{") != pattern.count("}"):
        raise BadInput(f"the path {pattern!r} has a brace that is not closed, or not opened")
    try:
        alternatives(pattern)
    except ValueError as error:
        raise BadInput(f"the path {pattern!r} cannot be used: {error}") from None
