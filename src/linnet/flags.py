"""The flags of every mode, in one table: what `linnet` accepts and what `linnet --help` says.

A table and a loop instead of argparse, whose import and set-up would be a tenth of the time to the first answer.
What `linnet-pi` and `linnet-zot` accept besides is in `drop_in`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from msgspec import Struct

from linnet.errors import BadInput, ConfigError, nearest

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
  linnet monitor -- COMMAND…      run any agent, and say what it does
  linnet capture … -- COMMAND…    run any agent with a script, and write a report

  Exit codes of -p, json and result: 0 done, 1 failed, 2 not understood, 3 cut at the model's output limit,
  4 a limit was reached, 5 refused, 6 nothing was said, 128 and more after a signal

Flags
"""


class UsageError(ConfigError):
    code = "usage"


class UnknownFlag(UsageError):
    """One that an extension may know."""


class Flag(Struct, frozen=True):
    """`parse` turns the flag's word into a value; a flag without one takes no word and means `value`.

    One without a `field` is accepted and changes nothing; `note` says so where that would mislead, and continues a
    sentence that starts with the flag's name.
    """

    names: tuple[str, ...]
    field: str
    help: str
    parse: Callable[[str], Any] | None = None
    word: str = ""
    value: Any = True
    repeatable: bool = False
    note: str = ""


class Flags(Struct):
    """What the command line said, and nothing more. `config` holds what the runtime is configured with."""

    mode: str | None = None
    dialect: str | None = None
    print: bool = False
    help: bool = False
    version: bool = False
    show_thinking: bool = False
    debug: bool = False
    stream: Literal["full", "deltas"] = "full"
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


_seconds = _number("seconds")
_dollars = _number("dollars")


def _names(word: str) -> list[str]:
    return [name.strip() for name in word.split(",") if name.strip()]


def _rule(verdict: Literal["allow", "ask", "deny"]) -> Callable[[str], list[Any]]:
    def read(word: str) -> list[Any]:
        from linnet.core.permissions.spelling import parse

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


def _files(word: str) -> list[str]:
    return [word]


_STREAM = _one_of("full", "deltas")

TABLE = (
    Flag(("--provider",), "provider", "anthropic, openai, deepseek, scripted (offline), or your own", str, "NAME"),
    Flag(("--model",), "model", "a model: ID or PROVIDER/ID (see linnet models)", str, "ID"),
    Flag(("--cwd",), "cwd", "the folder to work in (default: this one)", str, "DIR"),
    Flag(("--api-key",), "api_key", "the key, if it is not in the environment or auth.json", str, "KEY"),
    Flag(("--base-url",), "base_url", "another server that speaks the provider's protocol", str, "URL"),
    Flag(("--system-prompt",), "system_prompt", "say this instead of linnet's own system prompt", str, "TEXT"),
    Flag(
        ("--append-system-prompt",),
        "append_system_prompt",
        "say this after the system prompt; may be given more than once",
        str,
        "TEXT",
        repeatable=True,
    ),
    Flag(("--reasoning", "--thinking"), "reasoning", "off, minimal, low, medium, high or xhigh", str, "LEVEL"),
    Flag(("--max-steps",), "max_steps", "most model calls for one prompt (default: no limit)", _whole(1), "N"),
    Flag(("--max-cost",), "max_cost", "most US dollars for one prompt (default: no limit)", _dollars, "USD"),
    Flag(("--max-seconds",), "max_seconds", "most seconds for one prompt (default: no limit)", _seconds, "S"),
    Flag(("--max-reply",), "max_reply", "most bytes of one reply of a model (default: 67108864)", _whole(1), "N"),
    Flag(("--bash-timeout",), "bash_timeout", "seconds for a command that sets no limit itself", _seconds, "S"),
    Flag(("--tools",), "tools", "the tools the model may use, such as read,bash (default: all)", _names, "LIST"),
    Flag(("--no-tools",), "tools", "the model may use no tools", value=()),
    Flag(("--script",), "script", "play this script on the scripted provider", str, "FILE"),
    Flag(("--show-thinking",), "show_thinking", "zot protocol: send thinking_delta events too"),
    Flag(("--timeout",), "timeout", "seconds a model may stay silent (default: 600)", _seconds, "SECONDS"),
    Flag(("--retries",), "retries", "tries after a transient failure (default: 3)", _whole(0), "N"),
    Flag(("--retry-delay",), "retry_delay", "pi protocol: seconds before the first retry (default: 2)", _seconds, "S"),
    Flag(("--compact-reserve",), "compact_reserve", "tokens to keep free before compacting (16384)", _whole(0), "N"),
    Flag(("--compact-keep",), "compact_keep", "tokens' worth to keep when compacting (20000)", _whole(1), "N"),
    Flag(("--session",), "session", "go on with this session, or begin one in this file", str, "FILE|ID"),
    Flag(("--continue",), "resume", "go on with the newest session of this folder"),
    Flag(("--fork",), "fork", "go on with a copy of this session", str, "FILE|ID"),
    Flag(("--session-dir",), "session_dir", "where sessions are kept (default: in LINNET_HOME)", str, "DIR"),
    Flag(("--save",), "save", "keep a session where the others of this folder are"),
    Flag(("--no-session",), "save", "keep nothing on disk (the zot protocol does not, unless asked)", value=False),
    Flag(("--confine",), "confine", "paths that a client sends must stay in the folders of sessions and of work"),
    Flag(
        ("--permission",),
        "permission",
        "for tool calls that no rule matches: auto, ask, read-only or deny",
        _one_of("auto", "ask", "read-only", "deny"),
        "MODE",
    ),
    Flag(
        ("--allow",),
        "rules",
        "let this run: TOOL, TOOL:PATTERN or TOOL(PATTERN); repeatable, the last rule wins",
        _rule("allow"),
        "RULE",
        repeatable=True,
    ),
    Flag(("--ask",), "rules", "ask before this runs; repeatable", _rule("ask"), "RULE", repeatable=True),
    Flag(("--deny",), "rules", "never run this; repeatable", _rule("deny"), "RULE", repeatable=True),
    Flag(
        ("--question-timeout",),
        "question_timeout",
        "seconds after which no answer is a no (default: none)",
        _seconds,
        "S",
    ),
    Flag(("--trust",), "trust", "use what this project brings in its .linnet folder"),
    Flag(("--no-trust",), "trust", "use nothing that this project brings", value=False),
    Flag(("--shell",), "shell", "run commands with this shell (default: /bin/bash, or else /bin/sh)", str, "FILE"),
    Flag(("--shell-prefix",), "shell_prefix", "lines of shell to put before each command", str, "TEXT"),
    Flag(
        ("--steering-mode",),
        "steering_mode",
        "pi protocol: how steering messages are taken: all or one-at-a-time (default)",
        _one_of("all", "one-at-a-time"),
        "MODE",
    ),
    Flag(
        ("--follow-up-mode",),
        "follow_up_mode",
        "pi protocol: the same for follow-up messages",
        _one_of("all", "one-at-a-time"),
        "MODE",
    ),
    Flag(("--no-context-files",), "context_files", "do not read AGENTS.md and CLAUDE.md", value=False),
    Flag(
        ("--prompt-template",), "template_paths", "a template, or a folder; repeatable", _files, "PATH", repeatable=True
    ),
    Flag(("--no-prompt-templates",), "templates", "no templates but those that are named", value=False),
    Flag(("--skill",), "skill_paths", "a skill, or a folder of them; repeatable", _files, "PATH", repeatable=True),
    Flag(("--no-skills", "--no-skill"), "skills", "no skills but those that are named", value=False),
    Flag(("--mcp-config",), "mcp_config", "MCP servers to use; repeatable", _files, "FILE", repeatable=True),
    Flag(("--mcp-wait",), "mcp_wait", "seconds the first prompt waits for MCP servers (default: 10)", _seconds, "S"),
    Flag(("--no-mcp",), "mcp", "use no MCP servers", value=False),
    Flag(("--extension", "-e"), "extensions", "use this extension; repeatable", _files, "PATH", repeatable=True),
    Flag(("--no-extensions",), "find_extensions", "use no extensions but those that are named", value=False),
    Flag(
        ("--extension-wait",),
        "extension_wait",
        "seconds that prompts wait for an extension that is named (default: 30)",
        _seconds,
        "S",
    ),
    Flag(("--hook-timeout",), "hook_timeout", "seconds an extension has to answer (default: 10)", _seconds, "S"),
    Flag(("--pass-keys",), "pass_keys", "give commands and MCP servers the variables that hold providers' keys"),
    Flag(("--sandbox",), "sandbox", "run commands where they can write in the working folder only, without network"),
    Flag(("--sandbox-network",), "sandbox_network", "with --sandbox: commands may use the network"),
    Flag(
        ("--sandbox-hosts",),
        "sandbox_hosts",
        "with --sandbox: commands reach these hosts, such as github.com,*.example.org",
        _hosts,
        "NAMES",
        repeatable=True,
    ),
    Flag(("--sandbox-files",), "sandbox_files", "instead of --sandbox, and weaker: only files are kept from commands"),
    Flag(("--mode",), "mode", "rpc, json, result or text", _one_of("rpc", "json", "result", "text"), "MODE"),
    Flag(("--dialect",), "dialect", "rpc mode: zot, pi or pi-legacy", _one_of("zot", "pi", "pi-legacy"), "NAME"),
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
    """An executable. Its own flags come before the table's where they share a name.

    `dialect` is what it speaks unless a flag says otherwise; without one, that depends on how rpc mode is spelled.
    `stands_in_for`: the agent that whoever spawns it means. `amend` has the last word on what the command line said.
    """

    name: str
    usage: str
    flags: tuple[Flag, ...] = ()
    dialect: Literal["zot", "pi"] | None = None
    stands_in_for: Literal["pi", "zot"] | None = None
    version: str = "{name} {version}"
    amend: Callable[[Flags], None] = lambda flags: None
    table: tuple[Flag, ...] = TABLE

    def by_name(self) -> dict[str, Flag]:
        return {name: flag for flag in (*self.table, *self.flags) for name in flag.names}


LINNET = Program("linnet", USAGE)


def parse(argv: Sequence[str], program: Program = LINNET, *, tolerant: bool = False) -> Flags:
    """Raises UsageError with a sentence that names the flag and what it wants; `tolerant`: not for one that is unknown,
    which may then leave a word behind.
    """
    flags = Flags(stands_in_for=program.stands_in_for)
    known = program.by_name()
    rest = list(argv)
    if rest[:1] in (["rpc"], ["--rpc"]) and program.dialect != "pi" and program.table is TABLE:
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
            raise UnknownFlag(f"unknown flag {name}{_nearest(name, known)}; see {program.name} --help")
        if flag.note:
            flags.notes.append(f"{name} {flag.note}")
        if flag.parse is None:
            if equals:
                raise UsageError(f"{name} takes no value")
            flags.put(flag, flag.value)
            continue
        if not equals:
            if not rest:
                raise UsageError(f"{name} needs a value: {flag.word}")
            value = rest.pop(0)
        try:
            flags.put(flag, flag.parse(value))
        except ValueError as error:
            raise UsageError(f"{name} must be {error}, not {value!r}") from None
    program.amend(flags)
    return flags


def help_text(program: Program = LINNET) -> str:
    known = program.by_name()
    flags = [flag for flag in (*program.table, *program.flags) if known[flag.names[0]] is flag]
    rows = [(", ".join(flag.names) + (f" {flag.word}" if flag.word else ""), flag.help) for flag in flags]
    width = max(len(left) for left, _ in rows)
    return program.usage + "\n".join(f"  {left:<{width}}  {right}" for left, right in rows)


_MEANT = {"--hook": "--extension", "--plugin": "--extension", "--cost": "--max-cost", "--prompt": "-p"}


def _nearest(name: str, known: Iterable[str]) -> str:
    near = _MEANT.get(name) or nearest(name, known)
    return f" (did you mean {near}?)" if near else ""
