"""Finds out whether a shell line mentions the words of a rule, in their order, anywhere within one command.

What cannot be known counts as mentioned: `eval`, a program that is a variable, and a shell that is given its commands
by another program.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from linnet.core.permissions.shell_words import ShellCommand, TooMuch, Word, commands, inside

SHELLS = frozenset(("sh", "bash", "rbash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "busybox", "toybox"))
# Programs that are given a line of shell as an argument.
_INTERPRETERS = SHELLS | {"su", "ssh", "trap", "watch", "parallel", "script", "flock", "env", "xargs"}
# What comes before a program: words of the shell's own, and programs that run another.
_KEYWORDS = frozenset(("if", "then", "elif", "else", "while", "until", "do", "!", "{", "coproc"))
_RUNNER = re.compile(
    "builtin|chroot|chrt|command|doas|env|exec|flock|ionice|nice|nohup|nsenter|numactl|parallel|runuser|setarch|setpriv|"
    "setsid|ssh|stdbuf|strace|su|sudo|systemd-run|taskset|time|timeout|torsocks|unbuffer|unshare|watch|xargs"
)
_PLACED = frozenset(("chroot", "flock", "ssh"))  # Before the program they are told where: a folder, a file, a host.
_FEEDERS = frozenset(("parallel", "xargs"))  # What they read becomes part of the command.
_STARTERS = frozenset(("{", "do", "then", "else", "!", "-exec", "-execdir", "-ok", "-okdir"))
_READERS = SHELLS | {".", "source"}
_TOLD = re.compile(r"-[A-Za-z]*c")  # The option with which a shell is told what to run.
_PIECE = re.compile(r"[\w.+/~@%^-]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_VALUE = re.compile(r"\+?\d+(?:\.\d+)?[smhdkKMG]?\Z|[A-Za-z_]\w*=")
_BRACES = re.compile(r"\{([^{}]*)\}")
_WILD = "\0"  # Before a word that may stand for others.
MOST = 64  # Braces may stand for so many words.


class Line(Struct, frozen=True):
    """The commands of a shell line, as rules are held against them."""

    commands: tuple[str, ...] = ()
    """For each command all its words in order, each on a line."""
    wild: tuple[tuple[str, ...], ...] = ()
    """The words of commands of which some words may stand for others."""
    is_dark: bool = False
    """Nobody can know what the line runs."""


def mentions(line: str, words: Sequence[str]) -> bool:
    """Return whether one of the line's commands has these words in this order, or may have them."""
    found = read(line)
    if found.is_dark:
        return True
    pieces = _pieces(tuple(words))
    return any(_occur(pieces, command) for command in found.commands) or any(
        _occur(pieces, _meant(command, words)) for command in found.wild
    )


@lru_cache(16)
def read(line: str) -> Line:
    """Return the commands of a line. It is read once for all rules."""
    plain: list[str] = []
    wild: list[tuple[str, ...]] = []
    try:
        for command in _all(commands(line), 0):
            words = tuple(_words(command))
            if "eval" in words or (command.runs and _is_dark(command)):
                return Line(is_dark=True)
            if any(word.startswith(_WILD) for word in words):
                wild.append(words)
            else:
                plain.append(_text(words))
    except (TooMuch, RecursionError):
        return Line(is_dark=True)
    return Line(tuple(plain), tuple(wild))


def _all(found: list[ShellCommand], depth: int) -> Iterator[ShellCommand]:
    """Yield these commands, and those that are in their quotes. What is quoted runs if an interpreter is there to run
    it.
    """
    for command in found:
        yield command
        is_run = command.runs and any(_base(word.text) in _INTERPRETERS for word in command.words)
        for word in command.words:
            for quoted in _all(inside(word, depth + 1), depth + 1):
                quoted.runs &= is_run
                yield quoted


def _words(command: ShellCommand) -> Iterator[str]:
    programs = {id(word) for word in _programs(command)}
    for word in command.words:
        yield from _readings(word, is_program=id(word) in programs)


def _readings(word: Word, *, is_program: bool = False) -> Iterator[str]:
    """Yield all that the word may be, or be made of: itself, its parts, what braces and substitutions stand for."""
    text = word.text.replace("\n", " ")
    if text:
        yield text
    if _PIECE.fullmatch(text) is None or word.expands:
        for part in dict.fromkeys((*_PIECE.findall(text), *_PIECE.findall(word.line))):
            if part != text:
                yield part
    if text[:1] == "-" and text[1:2].isalpha() and len(text) > 2:
        yield text[2:]  # `-Srm`
    if word.braces:
        yield from (each for each in _expanded(text) if each not in ("", text))
    ranges = word.braces and ".." in text
    if (word.globs or ranges) and (is_program or re.search(r"[\w.]", _base(text))):
        yield _WILD + (_BRACES.sub("*", text) if ranges else text)
    for inner in word.inner:
        yield from _readings(inner)


def _expanded(text: str) -> list[str]:
    """Return the texts that a word with braces stands for. Raises TooMuch."""
    found = [text]
    while any(_BRACES.search(each) for each in found):
        some = []
        for each in found:
            braces = _BRACES.search(each)
            choices = braces[1].split(",") if braces is not None else [""]
            start, end = braces.span() if braces is not None else (len(each), len(each))
            some += [each[:start] + choice + each[end:] for choice in choices]
        found = some
        if len(found) > MOST:
            raise TooMuch
    return found


def _text(words: Sequence[str]) -> str:
    return "\n" + "\n".join(words) + "\n"


def _meant(command: Sequence[str], words: Sequence[str]) -> str:
    """Return the text of a command in which each wild word is replaced by those of `words` that it may stand for."""
    said: list[str] = []
    for each in command:
        if each.startswith(_WILD):
            glob = _glob(each[1:])
            said += [word for word in words if glob.fullmatch(word) or glob.fullmatch(_base(word))]
            base = _glob(_base(each[1:]))
            said += [word for word in words if base.fullmatch(_base(word)) and word not in said]
        else:
            said.append(each)
    return _text(said)


@lru_cache(64)
def _glob(text: str) -> re.Pattern[str]:
    text = re.sub(r"\[[!^]?\]?(?:\[:\w+:\]|[^\]])*\]", "?", text)
    return re.compile("".join({"*": ".*", "?": "."}.get(sign, re.escape(sign)) for sign in text), re.DOTALL)


@lru_cache(64)
def _pieces(words: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Return patterns that must be found one after another. A word fits a word or the end of a path; a star fits
    anything.
    """
    found: list[re.Pattern[str]] = []
    for place, word in enumerate(words):
        first, *others = (_base(word) or word if place == 0 else word).split("*")
        if not others:
            found.append(re.compile(rf"(?<=[\n/]){re.escape(first)}(?=\n)"))
            continue
        if first:
            found.append(re.compile(rf"(?<=[\n/]){re.escape(first)}"))
        found += [re.compile(re.escape(other)) for other in others[:-1] if other]
        if others[-1]:
            found.append(re.compile(rf"{re.escape(others[-1])}(?=\n)"))
    return tuple(found)


def _occur(pieces: Sequence[re.Pattern[str]], text: str) -> bool:
    """Return whether the pieces occur in this order. The first place for each is the best one: there is no way back."""
    at = 0
    for piece in pieces:
        found = piece.search(text, at)
        if found is None:
            return False
        at = found.end()
    return True


def _is_dark(command: ShellCommand) -> bool:
    """Return whether nobody can know what the command runs: its program, or the lines it gives to a shell."""
    for program in _programs(command):
        if program.expands:
            return True
        if _base(program.text) in _READERS:
            told = any(_TOLD.match(word.text) for word in command.words)
            made = any(word.expands and (told or word.is_input) for word in command.words)
            if made or (command.is_piped and (not told or _is_fed(command))):
                return True
    return False


def _is_fed(command: ShellCommand) -> bool:
    """Return whether a shell is told to run what another program prints: `xargs sh -c`, `xargs -I% sh -c %`."""
    texts = [word.text for word in command.words if not word.is_target]
    if not any(_base(text) in _FEEDERS for text in texts):
        return False
    return bool(_TOLD.fullmatch(texts[-1])) or any(re.match(r"-[A-Za-z0-9]*[Ii]|--replace", text) for text in texts)


def _programs(command: ShellCommand) -> Iterator[Word]:
    """Yield the words that may be the program: the first that is not about something else, and what runners run."""
    words = [word for word in command.words if not word.is_target]
    yield from (after for word, after in pairwise(words) if word.text in _STARTERS)
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.text in _KEYWORDS or _ASSIGNMENT.match(word.line):
            continue
        yield word
        if not _RUNNER.fullmatch(_base(word.text)):
            return
        takes_value = False
        while at < len(words):
            text = words[at].text
            if takes_value and not text.startswith("-"):
                yield words[at]  # The value of an option, or the program.
                takes_value = False
            elif text.startswith("-"):
                takes_value = len(text) == 2 or (text.startswith("--") and "=" not in text)
            elif not _VALUE.match(text):
                break
            at += 1
        if _base(word.text) in _PLACED and at < len(words):
            yield words[at]
            at += 1


def _base(path: str) -> str:
    return path.rpartition("/")[2]
