"""The table of all flags, which `linnet` accepts and `linnet --help` shows, and the parser.

Flags of settings are made from their rows in `runtime/config/config.py`.

A table and a loop instead of argparse, whose import and set-up would be a tenth of the time to the first answer.
What `linnet-pi` and `linnet-zot` accept besides is in `drop_in`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, get_args

from msgspec import Struct

from linnet.errors import BadInput, ConfigError, nearest
from linnet.runtime.config.config import ROWS, Keywords

USAGE = """\
linnet: a coding agent on a pipe

  linnet rpc [flags]              speak the zot protocol on stdin and stdout
  linnet --mode rpc [flags]       speak the pi protocol
  linnet -p "prompt" [flags]      do one thing, print the final text
  linnet --mode json "prompt"     do one thing, print every event as a line of JSON
  linnet --mode result "prompt"   do one thing, print what came of it as one JSON object
  … | linnet -p "prompt"          the same, with what is piped in front of the prompt
  linnet models [flags]           list the models that can be used, and what they cost
  linnet sessions [flags]         list the sessions of this folder
  linnet export SESSION [flags]   make a page of HTML of one
  linnet config [flags]           every setting, its value, and who said so; set and unset them
  linnet trust [flags]            use what this folder brings; linnet untrust forgets that
  linnet login PROVIDER           keep a key; linnet logout forgets it, linnet auth says where keys are
  linnet serve [flags]            any number of agents for any number of clients: on a socket, over HTTP, with a page
  linnet attach …                 drive or watch an agent of a server, on stdin and stdout
  linnet acp [flags]              speak the Agent Client Protocol, for editors: Zed, JetBrains, Neovim, Emacs
  linnet watch -- COMMAND…        run any agent, and show its conversation on a page
  linnet monitor -- COMMAND…      run any agent, and say what it does
  linnet capture … -- COMMAND…    run any agent with a script, and write a report
  linnet conform … -- COMMAND…    judge any agent by what its protocol promises
  linnet schema …                 what linnet reads and prints, as JSON Schema or TypeScript

  Exit codes of -p, json and result: 0 done, 1 failed, 2 not understood, 3 cut at the model's output limit,
  4 a limit was reached, 5 refused, 6 nothing was said, 128 and more after a signal

Flags
"""


class UsageError(ConfigError):
    """The command line makes no sense."""

    code = "usage"


class BadValue(UsageError):
    """A flag whose value is missing, or is not one of those that it may have."""

    def __init__(self, name: str, value: str | None, sentence: str) -> None:
        super().__init__(sentence)
        self.name = name
        self.value = value


class UnknownFlag(UsageError):
    """A flag that linnet does not know, but an extension may."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__(sentence)
        self.name = name


class Flag(Struct, frozen=True):
    """One flag, and what it sets."""

    names: tuple[str, ...]
    field: str  # What it sets; one without is accepted and changes nothing.
    help: str
    parse: Callable[[str], Any] | None = None  # Makes a value of the flag's word; without it, the flag takes no word.
    word: str = ""  # What `--help` calls the word.
    value: Any = True  # What a flag without a word means.
    repeatable: bool = False
    note: str = ""  # Said when it is used, where it would mislead; continues a sentence that starts with its name.


class Flags(Struct):
    """What the command line said, and nothing more. What the runtime is configured with is in `config`."""

    mode: str | None = None
    dialect: str | None = None
    pi_version: str | None = None
    print: bool = False
    help: bool = False
    version: bool = False
    show_thinking: bool = False
    debug: bool = False
    stream: Literal["full", "deltas"] | None = None
    settled: bool = False
    output_schema: str | None = None
    export: str | None = None
    out: str | None = None
    everywhere: bool = False
    in_project: bool = False
    listing: bool = False
    never: bool = False
    list_models: bool = False
    json: bool = False
    stands_in_for: Literal["pi", "zot"] | None = None
    words: list[str] = []
    notes: list[str] = []
    """Said before anything is done."""
    config: dict[str, Any] = {}

    def put(self, flag: Flag, value: Any) -> None:
        if not flag.field:
            return
        if flag.field in self.__struct_fields__:
            setattr(self, flag.field, value)
        elif flag.repeatable and flag.field in self.config:
            before = self.config[flag.field]
            self.config[flag.field] = f"{before}\n\n{value}" if isinstance(value, str) else [*before, *value]
        else:
            self.config[flag.field] = value


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(word: str) -> str:
        if word not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return word

    return parse


def _whole(least: int) -> Callable[[str], int]:
    def parse(word: str) -> int:
        if not word.isdecimal() or len(word) > 18 or int(word) < least:
            raise ValueError(f"a whole number, {least} or more")
        return int(word)

    return parse


def _number(what: str) -> Callable[[str], float]:
    def parse(word: str) -> float:
        try:
            number = float(word)
        except ValueError:
            number = 0
        if not 0 < number < 1e9:
            raise ValueError(f"a number of {what}")
        return number

    return parse


def _names(word: str) -> list[str]:
    return [name.strip() for name in word.split(",") if name.strip()]


def _rule(verdict: Any) -> Callable[[str], list[Any]]:
    def read(word: str) -> list[Any]:
        from linnet.core.permissions.rule_syntax import parse

        try:
            return [parse(verdict, word)]
        except BadInput as error:
            raise UsageError(f"--{verdict}: {error}") from None

    return read


def _hosts(word: str) -> list[str]:
    hosts = [host.strip() for host in word.split(",")]
    if not all(hosts):
        raise ValueError("names with commas between them, such as github.com,*.example.org")
    return hosts


def _choice(field: str) -> Callable[[str], str]:
    from linnet.runtime.config.setting_keys import in_json, type_of

    return _one_of(*get_args(in_json(type_of(field))))


def _reader(field: str, name: str, word: str) -> Callable[[str], Any]:
    """Return a function that reads a value of this setting, by the word that stands for it, or else by its type."""
    match word, Keywords.__annotations__[field].partition(" | ")[0]:
        case (("S" | "SECONDS"), _):
            return _number("seconds")
        case "USD", _:
            return _number("dollars")
        case "N", kind:
            return _whole({"Count": 1, "Amount": 0}[kind])
        case "MODE", _:
            return _choice(field)
        case "LIST", _:
            return _names
        case "NAMES", _:
            return _hosts
        case "RULE", _:
            return _rule(name.removeprefix("--"))
        case _, "Sequence[Path]":
            return lambda path: [path]
        case _:
            return str


def _of_settings() -> Iterator[Flag]:
    """Yield the flags of each setting. How a value is read is found out when there is one, which saves time."""
    for field, row in ROWS.items():
        for spelled, help in row.spelled().items():
            *names, word = spelled.replace(",", "").split()
            if word[0] != "-":
                yield Flag(tuple(names), field, help, _reading(field, names[0], word), word, True, row.repeatable)
            elif word.startswith("--no-"):
                off = False if Keywords.__annotations__[field].startswith("bool") else ()
                yield Flag((*names, word), field, help, value=off)
            else:
                yield Flag((*names, word), field, help)


def _reading(field: str, name: str, word: str) -> Callable[[str], Any]:
    return lambda said: _reader(field, name, word)(said)


def _version_of_pi(word: str) -> str:
    from linnet.wire.pi.generations import spoken_by

    spoken_by(word)
    return word.removeprefix("v")


DIALECTS = ("zot", "pi", "pi-legacy", "pi-0.73", "pi-0.87", "pi-1")
_STREAM = _one_of("full", "deltas")

TABLE = (
    *_of_settings(),
    Flag(("--show-thinking",), "show_thinking", "zot protocol: send thinking_delta events too"),
    Flag(("--mode",), "mode", "rpc, json, result or text", _one_of("rpc", "json", "result", "text"), "MODE"),
    Flag(("--dialect",), "dialect", f"rpc mode: {', '.join(DIALECTS)}", _one_of(*DIALECTS), "NAME"),
    Flag(("--pi-version",), "pi_version", "speak as this version of pi does, such as 0.73", _version_of_pi, "V"),
    Flag(("--stream",), "stream", "pi protocol: full or deltas (updates without the message)", _STREAM, "MODE"),
    Flag(("--json",), "mode", "the same as --mode json", value="json"),
    Flag(("--settled",), "settled", "pi protocol: say agent_settled when a prompt is over, with all that followed it"),
    Flag(("-p", "--print"), "print", "do one thing, print the final text"),
    Flag(
        ("--output-schema",), "output_schema", "the answer is to be JSON that fits the JSON Schema in here", str, "FILE"
    ),
    Flag(("--debug",), "debug", "say on stderr what is asked of models, what is tried again, and how long it takes"),
    Flag(("--version",), "version", "print the version"),
    Flag(("-h", "--help"), "help", "print this"),
)


class Program(Struct, frozen=True):
    """An executable, or one of its commands."""

    name: str
    usage: str
    flags: tuple[Flag, ...] = ()
    """Its own, which come before the table's where they share a name."""
    dialect: str | None = None
    """What it speaks unless a flag says otherwise; None is that it depends on how rpc mode is spelled."""
    stands_in_for: Literal["pi", "zot"] | None = None
    """The agent that whoever spawns it means."""
    version: str = "{name} {version}"
    """What `--version` prints; `{pi}` stands for the version of pi that it speaks as."""
    elsewhere: tuple[str, ...] = ()
    """Commands of its namesake that it has not: what begins with one is not meant as a prompt."""
    errors: tuple[str, str] = ("", "")
    """What is written before an error and before a note, instead of its name."""
    misuse: int = 2
    """The exit code for a command line that makes no sense."""
    spell: Callable[[Exception], str] = str
    """Returns an error as a sentence."""
    amend: Callable[[Flags], None] = lambda flags: None
    """Called last, to change what the command line said."""
    table: tuple[Flag, ...] = TABLE

    def by_name(self) -> dict[str, Flag]:
        """Return all its flags by name."""
        return {name: flag for flag in (*self.table, *self.flags) for name in flag.names}


LINNET = Program("linnet", USAGE, version="{name} {version} (speaks as pi {pi})")


def parse(argv: Sequence[str], program: Program = LINNET, *, tolerant: bool = False) -> Flags:
    """Return what the command line says. Raises UsageError with a sentence that names the flag and what it wants.

    With `tolerant`, an unknown flag is passed over; its value, if it has one, is then taken for a word.
    """
    flags = Flags(stands_in_for=program.stands_in_for)
    known = program.by_name()
    rest = list(argv)
    if rest[:1] in (["rpc"], ["--rpc"]) and program.stands_in_for != "pi" and program.table is TABLE:
        rest.pop(0)
        flags.mode, flags.dialect = "rpc", "zot"
    while rest:
        word = rest.pop(0)
        if word == "--":
            flags.words += rest
            break
        if not word.startswith("-") or word == "-":
            flags.words.append(word)
            continue
        name, equals, value = word.partition("=")
        flag = known.get(name)
        if flag is None:
            if tolerant:
                continue
            raise UnknownFlag(name, f"unknown flag {name}{_nearest(name, known)}; see {program.name} --help")
        if flag.note:
            flags.notes.append(f"{name} {flag.note}")
        if flag.parse is None:
            if equals:
                raise UsageError(f"{name} takes no value")
            flags.put(flag, flag.value)
            continue
        if not equals:
            if not rest:
                raise BadValue(name, None, f"{name} needs a value: {flag.word}")
            value = rest.pop(0)
        try:
            flags.put(flag, flag.parse(value))
        except ValueError as error:
            raise BadValue(name, value, f"{name} must be {error}, not {value!r}") from None
    program.amend(flags)
    return flags


def help_text(program: Program = LINNET) -> str:
    """Return what `--help` prints."""
    known = program.by_name()
    flags = [flag for flag in (*program.table, *program.flags) if known[flag.names[0]] is flag]
    rows = [(", ".join(flag.names) + (f" {flag.word}" if flag.word else ""), flag.help) for flag in flags]
    width = max(len(left) for left, _ in rows)
    return program.usage + "\n".join(f"  {left:<{width}}  {right}" for left, right in rows)


_MEANT = {"--hook": "--extension", "--plugin": "--extension", "--cost": "--max-cost", "--prompt": "-p"}


def _nearest(name: str, known: Iterable[str]) -> str:
    """Return a question that names a similar flag; nothing if there is none."""
    near = _MEANT.get(name) or nearest(name, known)
    return f" (did you mean {near}?)" if near else ""
