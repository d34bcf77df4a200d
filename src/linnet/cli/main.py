"""Runs the command line: puts the parts of linnet together, and turns a failure into one sentence and an exit code."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, NoReturn

from linnet import __version__
from linnet.errors import BadInput, ConfigError, Contradiction, LinnetError, nearest
from linnet.flags.flags import LINNET, Flags, Program, UnknownFlag, UsageError, help_text, parse
from linnet.server.terminal import say, tell

if TYPE_CHECKING:
    from linnet.core.commands import Prompt
    from linnet.core.form import Form
    from linnet.runtime.listener import Listener
    from linnet.runtime.session import Session
    from linnet.runtime.session_factory import SessionFactory
    from linnet.runtime.settings.settings import Settings
    from linnet.server.trace import Trace


PING = '{"id":"1","type":"get_state"}'
COMMANDS = (
    "rpc",
    "models",
    "login",
    "logout",
    "auth",
    "sessions",
    "export",
    "config",
    "trust",
    "untrust",
    "monitor",
    "capture",
    "serve",
    "attach",
    "acp",
    "watch",
    "conform",
    "schema",
    "help",
    "version",
)


def main(program: Program = LINNET) -> NoReturn:
    """Run the command line of this process, and exit: 0, 1 for a failure, 2 for a command line that makes no sense."""
    try:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # A file name need not be text.
        code = run(sys.argv[1:], program)
        if sys.stdout is not None:  # A spawner may have closed it.
            sys.stdout.flush()
    except LinnetError as error:
        say(program.spell(error), program.errors[0] or program.name)
        code = program.misuse if isinstance(error, UsageError | Contradiction) else 1
    except BrokenPipeError:
        code = 1  # Whoever read has seen enough.
    except OSError as error:
        where = f": {error.filename}" if isinstance(error.filename, str) else ""
        say(f"{error.strerror}{where}", program.errors[0] or program.name)
        code = 1
    with suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.flush()
    os._exit(code)  # Everything is closed by now; taking the interpreter apart would only make the spawner wait.


def run(argv: Sequence[str], program: Program = LINNET) -> int:
    """Run a command line, and return the exit code. Raises LinnetError and OSError."""
    token = _token(watching=argv[:1] in (["monitor"], ["capture"], ["watch"]) and program is LINNET)
    if argv[:1] in (["help"], ["version"]) and program is LINNET:
        argv = [*argv[1:2], "--help"] if argv[0] == "help" else ["--version"]
    if argv[:1] in (["sessions"], ["export"]) and program is LINNET:
        from linnet.cli import sessions_command

        return sessions_command.sessions(argv[1:]) if argv[0] == "sessions" else sessions_command.export(argv[1:])
    if argv[:1] in (["monitor"], ["capture"]) and program is LINNET:
        from linnet.cli import monitor_command

        return monitor_command.monitor(argv[1:]) if argv[0] == "monitor" else monitor_command.capture(argv[1:])
    if argv[:1] == ["conform"] and program is LINNET:
        from linnet.cli import conform_command

        return conform_command.conform(argv[1:])
    if argv[:1] == ["watch"] and program is LINNET:
        from linnet.cli import watch_command

        return watch_command.watch(argv[1:])
    if argv[:1] == ["schema"] and program is LINNET:
        from linnet.cli import schema_command

        return schema_command.schema(argv[1:])
    if argv[:1] == ["attach"] and program is LINNET:
        from linnet.attach.main import main as attach

        attach()
    if argv[:1] == ["serve"] and program is LINNET:
        from linnet.cli import serve_command

        return serve_command.serve(argv[1:])
    if argv[:1] == ["acp"] and program is LINNET:
        from linnet.cli import acp_command

        return acp_command.acp(argv[1:])
    if argv[:1] == ["config"] and program is LINNET:
        from linnet.cli import config_command

        return config_command.config(argv[1:])
    if argv[:1] in (["trust"], ["untrust"]) and program is LINNET:
        from linnet.cli import trust_command

        return trust_command.trust(argv[1:]) if argv[0] == "trust" else trust_command.untrust(argv[1:])
    if argv[:1] == ["models"] and program is LINNET:
        from linnet.cli import models_command

        return models_command.models(argv[1:])
    if argv[:1] in (["login"], ["logout"], ["auth"]) and program is LINNET:
        from linnet.cli import auth_command

        return auth_command.run(argv[0], argv[1:])
    if argv and argv[0] in program.elsewhere:
        raise UsageError(
            f"{program.name} has no command {argv[0]}: the {program.stands_in_for} it stands in for has it"
        )
    try:
        flags = parse(argv, program)
    except UnknownFlag:
        from linnet.flags.extension_flags import parse_with_extensions

        flags = parse_with_extensions(argv, program)
    if flags.help:
        tell(help_text(program))
        return 0
    if flags.version:
        from linnet.flags.dialect_choice import stood_in_for

        tell(program.version.format(name=program.name, version=__version__, pi=stood_in_for(flags, program)))
        return 0
    for note in dict.fromkeys(flags.notes):
        say(note, program.errors[1] or program.name)
    if flags.list_models:
        from linnet.cli.models_command import list_models

        return list_models(flags, program.name)
    if flags.export is not None:
        from linnet.cli.sessions_command import export_to

        if len(flags.words) > 1:
            raise UsageError(f"--export takes a session and at most one page to write: {flags.words[1]!r}")
        return export_to(flags.export, flags.words[0] if flags.words else None, flags)
    if flags.mode == "rpc":
        return _rpc(flags, program, token)
    if flags.print or flags.mode in ("json", "result", "text"):
        return _once(flags, program)
    if flags.words:
        raise UsageError(_no_command(flags.words[0], program))
    rpc = "--mode rpc" if program.stands_in_for == "pi" else "rpc"
    raise UsageError(
        f'say what to do, such as {program.name} {rpc} or {program.name} -p "…"; see {program.name} --help'
    )


def _no_command(word: str, program: Program) -> str:
    """Return the sentence that says that there is no such command."""
    known = COMMANDS if program is LINNET else () if program.stands_in_for == "pi" else ("rpc",)
    guess = nearest(word, known)
    hint = f' (did you mean "{guess}"?)' if guess else ""
    return f'there is no command "{word}"{hint}; to ask the model, say {program.name} -p "…"; see {program.name} --help'


def _token(*, watching: bool) -> str:
    """Take the token out of what others see of this process, and return it.

    When we watch an agent, it stays in our environment, which the agent inherits, and nothing is returned.
    """
    if "ZOTCORE_RPC_TOKEN" not in os.environ:
        return ""
    from linnet.server.concealed import conceal_variables
    from linnet.server.gate import VARIABLE, take_token

    if not watching:
        return take_token()
    conceal_variables([VARIABLE])
    return ""


def _rpc(flags: Flags, program: Program, token: str) -> int:
    """Serve a client on stdin and stdout, and return the exit code."""
    from linnet.flags import session_habits
    from linnet.flags.dialect_choice import chosen, made
    from linnet.server.serve import Server
    from linnet.server.stdio import claim

    if flags.words:
        raise UsageError(f"rpc mode takes prompts on stdin, not on the command line: {flags.words[0]!r}")
    if flags.output_schema is not None:
        raise UsageError("--output-schema is for one prompt; in rpc mode a prompt brings its own: outputSchema")
    name = chosen(flags, program, "pi")
    spoken = made(flags, name)
    factory = session_habits.factory(flags, name, os.environ, keyless=name != "zot", client_tools=True)
    settings = concealed(factory.first())
    if not spoken.asks:  # Nor can its clients be told.
        settings = _asked(settings)
    if os.isatty(0):
        say(f"waiting for commands of the {name} protocol, one JSON object a line, such as {PING}; Ctrl-D ends")
    stdio = claim()  # Before anything else is opened: it could get the number of a descriptor that was closed.
    server = Server(owns_process=True)
    gate = None
    if token and name == "zot":
        from linnet.server.gate import TokenGate

        gate = TokenGate(token)

    def open_session(listener: "Listener") -> "Session":
        return _opened(factory, settings, listener, program, debug=flags.debug, answerable=spoken.asks)

    server.connect(spoken, stdio, open_session, gate, _leads(program))
    return server.run()


def _once(flags: Flags, program: Program) -> int:
    """Do one prompt, or several, print what came of it, and return the exit code."""
    from msgspec.structs import replace

    from linnet.flags import session_habits
    from linnet.flags.dialect_choice import chosen, made
    from linnet.server.one_shot.one_shot import once

    dialect = chosen(flags, program, "zot")
    # What cannot be used is said before anything is waited for.
    form = _form(flags.output_schema) if flags.output_schema is not None else None
    factory = session_habits.factory(flags, dialect, os.environ)
    settings = _asked(concealed(factory.first())) if flags.words else None

    def prompts(piped: str) -> "list[Prompt]":
        found = _prompts(flags.words, piped, as_pi=as_pi)
        if not any(prompt.text.strip() for prompt in found):
            if as_pi and flags.mode == "json" and form is None:
                return []
            raise UsageError("the prompt is missing: give it as an argument or on stdin")
        return found if form is None else [*found[:-1], replace(found[-1], form=form)]

    as_pi = program.stands_in_for == "pi" or (dialect.startswith("pi") and dialect != "pi-legacy")
    spoken = made(flags, dialect) if flags.mode == "json" else None

    def open_session(listener: "Listener") -> "Session":
        return _opened(factory, settings or _asked(concealed(factory.first())), listener, program, debug=flags.debug)

    return once(
        prompts,
        open_session,
        spoken,
        prints="result" if flags.mode == "result" else "text" if form is None else "value",
        names_session=program is LINNET,  # The others are as quiet as their namesakes.
        draws=not flags.debug,
        leads=_leads(program),
    )


def _form(path: str) -> "Form":
    """Return the form of output that the JSON Schema in this file asks for. Raises ConfigError."""
    from msgspec import DecodeError
    from msgspec.json import decode

    from linnet.core.context.formed_output import Output
    from linnet.files.reading import contents

    text = contents(path)
    if text is None:
        raise ConfigError(f"--output-schema: there is no file {path}")
    try:
        schema = decode(text)
        if not isinstance(schema, dict):
            raise BadInput("it is no JSON object")
        return Output(schema)
    except (DecodeError, UnicodeError, RecursionError, BadInput) as error:
        raise ConfigError(f"--output-schema: {path} cannot be used: {error}") from None


def _asked(settings: "Settings") -> "Settings":
    """Return the settings; with what a person answers, if the project must be asked about."""
    if settings.project.decided or not settings.project.folders:
        return settings
    from linnet.cli.trust_command import asked

    return asked(settings)


def _prompts(words: Sequence[str], piped: str, *, as_pi: bool) -> "list[Prompt]":
    """Return the prompts: what was piped in comes first, as in pi, and a blank line is between it and the words. With
    `as_pi` each word is a prompt.
    """
    if words and piped.strip():
        piped = piped.rstrip("\n") + "\n\n"
    elif words:
        piped = ""
    if as_pi:
        from linnet.flags.drop_in import prompts

        return prompts(words, piped)
    from linnet.core.commands import Prompt

    return [Prompt(piped + " ".join(words))]


def concealed(settings: "Settings") -> "Settings":
    """Take keys out of what /proc shows: commands that tools run could read there what this process was started with.
    Return the settings as they are.
    """
    said = settings.asked.api_key
    there = [name for name in settings.accounts.key_variables if os.environ.get(name)]
    if said or there:
        from linnet.server.concealed import conceal_variables, conceal_word

        conceal_variables(there)
        if said:
            conceal_word(said)
    return settings


def _trace(settings: "Settings") -> "Trace":
    """Return the trace of `--debug`, which writes to stderr without secrets."""
    from linnet.capture.secrets import of_flags
    from linnet.core.text.known_secrets import of_environment, values
    from linnet.core.text.redact import Redactor
    from linnet.server.trace import Trace

    known = values([*of_environment(os.environ), *of_flags(sys.argv), *settings.accounts.secrets()])
    return Trace(lambda line: Redactor(known).whole(line))


def _leads(program: Program) -> tuple[str, str]:
    """Return what an error and a note on stderr begin with."""
    return program.errors[0] or LINNET.name, program.errors[1] or LINNET.name


def _opened(
    factory: "SessionFactory",
    settings: "Settings",
    listener: "Listener",
    program: Program,
    *,
    debug: bool,
    answerable: bool = False,
) -> "Session":
    """Open a session, and say on stderr what whoever started it should know."""
    listeners = [listener]
    trace = _trace(settings) if debug else None
    if trace is not None:
        from linnet.server.trace import Tracing

        listeners.append(Tracing(trace))
    session = factory.open(settings, listeners, answerable=answerable, trace=trace)
    for remark in session.remarks:
        say(remark, _leads(program)[1])
    return session
