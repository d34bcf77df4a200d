"""How an agent is opened, and opened again when it wakes: words that would follow `linnet`, and what was set since."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from linnet.errors import BadInput
from linnet.flags.dialect_choice import chosen, made
from linnet.flags.flags import DIALECTS, LINNET, Flags, Program, UnknownFlag, UsageError, parse
from linnet.flags.session_habits import factory
from linnet.runtime.config.config import Config
from linnet.serve.agents.record import Record
from linnet.wire.dialect import Dialect

if TYPE_CHECKING:
    from linnet.runtime.session_factory import SessionFactory
    from linnet.store.factory import LogFactory

KEPT = Config(sessions=True, save=True)
"""Under a server every agent has a session, whatever its protocol is used to."""
_BEGUN_WITH = ("session", "resume", "fork", "session_id", "session_name")
_REMEMBERED = ("provider", "model", "reasoning")


class OpenRequest(Struct, frozen=True, kw_only=True):
    """What is asked of a server that is to open an agent."""

    dialect: str | None = None
    cwd: str | None = None
    flags: tuple[str, ...] = ()
    """Words as they would follow `linnet`."""
    env: Mapping[str, str] = {}
    """Variables of whoever asks: keys of providers."""
    program: str = "linnet"
    keep: bool = True
    """The agent outlives the connection that opened it."""
    key: str = ""
    """The name of the request, if it has one, and what it says, in short: the agent is found by it again."""
    digest: str = ""


class Recipe(Struct, frozen=True):
    """All that it takes to open an agent's session."""

    flags: Flags
    dialect: str
    program: Program
    words: tuple[str, ...]
    """Those of whoever opens it that may be written down: without a key."""
    cwd: str
    resumes: bool = False
    """Its session was there before, and what it remembers wins over the words that it was begun with."""

    def spoken(self) -> Dialect:
        """Return the dialect of whoever opens it, a fresh one."""
        return made(self.flags, self.dialect, shared=True)


def understood(request: OpenRequest, defaults: Sequence[str] = ()) -> Recipe:
    """Return what a request means; `defaults` are words of the server's own, which those of the request win over.

    Raises LinnetError with a sentence that says what is wrong.
    """
    program = _program(request.program)
    flags = _parsed(request.flags, defaults, program)
    for wrong, sentence in (
        (
            flags.words,
            f"an agent of a server takes prompts as commands, not on a command line: {' '.join(flags.words[:1])!r}",
        ),
        (
            flags.mode not in (None, "rpc"),
            f"an agent of a server speaks a protocol: --mode {flags.mode} is for one prompt",
        ),
        (
            flags.print or flags.help or flags.version or flags.list_models,
            "that opens no agent: give --mode rpc, and neither -p nor --help, --version or --list-models",
        ),
        (flags.output_schema is not None, "--output-schema is for one prompt; a prompt brings its own: outputSchema"),
    ):
        if wrong:
            raise UsageError(sentence)
    if request.dialect is not None:
        if request.dialect not in DIALECTS:
            raise BadInput(f"there is no dialect {request.dialect!r}: it is one of {', '.join(DIALECTS)}")
        flags.dialect, flags.pi_version = request.dialect, None
    dialect = chosen(flags, program, "pi")
    made(flags, dialect)
    if request.cwd is not None and not os.path.isabs(request.cwd):
        raise BadInput(f"`cwd` must be an absolute path, not {request.cwd!r}")
    cwd = flags.config.get("cwd")
    flags.config["cwd"] = os.path.join(request.cwd or os.getcwd(), os.path.expanduser(cwd)) if cwd else request.cwd
    if flags.config["cwd"] is None:
        del flags.config["cwd"]
    return Recipe(flags, dialect, program, _without_key(request.flags, program), flags.config.get("cwd", ""))


def again(record: Record, file: str | None, defaults: Sequence[str], key: str | None) -> Recipe:
    """Return how the agent of a record is opened again; `file` is its session's, if that was written, `key` the one
    that it was opened with, if anybody remembers it.
    """
    program = _program(record.program)
    flags = _parsed(record.words, defaults, program)
    if key is not None:
        flags.config["api_key"] = key
    flags.config = {name: value for name, value in flags.config.items() if name not in _BEGUN_WITH}
    chosen = record.chosen
    for name in ("steering_mode", "follow_up_mode", "auto_compaction", "retry_runs"):
        if getattr(chosen, name) is not None:
            flags.config[name] = getattr(chosen, name)
    if file is not None:
        flags.config["session"] = file
    else:
        flags.config["session_id"] = record.summary.session_id
        if chosen.model is not None:
            flags.config["model"] = chosen.model
            flags.config.pop("provider", None)
        if chosen.reasoning is not None:
            flags.config["reasoning"] = chosen.reasoning
        if record.summary.name:
            flags.config["session_name"] = record.summary.name
    flags.config["cwd"] = record.cwd
    return Recipe(flags, record.dialect, program, record.words, record.cwd, file is not None)


def factory_of(
    recipe: Recipe, environ: Mapping[str, str], logs: "LogFactory | None" = None, *, own_process: bool
) -> "SessionFactory":
    """Return what opens the session, which is kept in `logs`, or else in files. `own_process`: nothing but linnet runs
    in this process.
    """
    flags, remembered = recipe.flags, Config()
    if recipe.resumes:
        remembered = Config(**{name: flags.config[name] for name in _REMEMBERED if name in flags.config})
        config = {name: value for name, value in flags.config.items() if name not in _REMEMBERED}
        flags = Flags(stands_in_for=flags.stands_in_for, config=config)
    besides = (KEPT, remembered)
    return factory(
        *(flags, recipe.dialect, environ, *besides), keyless=True, client_tools=True, logs=logs, own_process=own_process
    )


def _program(name: str) -> Program:
    if name == "linnet":
        return LINNET
    from linnet.flags.drop_in import PI, ZOT

    known = {"linnet-pi": PI, "linnet-zot": ZOT}
    if name not in known:
        raise BadInput(f"there is no program {name!r}: it is linnet, linnet-pi or linnet-zot")
    return known[name]


def _parsed(said: Sequence[str], defaults: Sequence[str], program: Program) -> Flags:
    mode = 1 if list(said[:1]) in (["rpc"], ["--rpc"]) else 0
    words = [*said[:mode], *defaults, *said[mode:]]
    try:
        return parse(words, program)
    except UnknownFlag:
        from linnet.flags.extension_flags import parse_with_extensions

        return parse_with_extensions(words, program)


def _without_key(words: Sequence[str], program: Program) -> tuple[str, ...]:
    """Return the words without a key. They are read as flags: `--api-key` may be the value of another one."""
    known, kept, rest = program.by_name(), list[str](), list(words)
    while rest:
        said = [rest.pop(0)]
        name, equals, _ = said[0].partition("=")
        flag = known.get(name)
        if flag is not None and flag.parse is not None and not equals:
            said += rest[:1]
            del rest[:1]
        if flag is None or flag.field != "api_key":
            kept += said
    return tuple(kept)
