"""The commands `linnet monitor` and `linnet capture`: watch and record any agent."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.errors import ConfigError
from linnet.flags.flags import TABLE, Flag, Flags, Program, UsageError, help_text, parse
from linnet.server.terminal import hand_over, say, tell

if TYPE_CHECKING:
    from linnet.capture.record import Capture
    from linnet.monitor.watch import Watch
    from linnet.monitor.words import DialectName


def _dialect(word: str) -> str:
    if word not in ("zot", "pi"):
        raise ValueError("one of zot, pi")
    return word


def _seconds(word: str) -> float:
    try:
        seconds = float(word)
    except ValueError:
        seconds = 0
    if not 0 < seconds < 1e9:
        raise ValueError("a number of seconds")
    return seconds


HELP = tuple(flag for flag in TABLE if flag.names[0] == "-h")
DIALECT = Flag(("--dialect",), "dialect", "zot or pi (default: as the stream shows)", _dialect, "NAME")

MONITOR = Program(
    "linnet monitor",
    """\
linnet monitor: what an agent does, in one line on stderr

  linnet monitor [flags] -- COMMAND…    run an agent; its stdin and stdout pass through byte for byte
  linnet monitor [flags] FILE           replay a capture, or what an agent printed

Flags
""",
    (Flag(("--json",), "json", "one JSON object for each change of state"), DIALECT),
    table=HELP,
)

CAPTURE = Program(
    "linnet capture",
    """\
linnet capture: run an agent with a script of requests, and write a report without secrets

  linnet capture --script FILE [--out REPORT] [--raw FILE] -- COMMAND…
  linnet capture --report FILE [--out REPORT]       render a raw capture again
  linnet capture --compare FILE FILE [--out TABLE]  two raw captures side by side

Flags
""",
    (
        Flag(("--script",), "script", "lines to send, and wait done or wait 2s between them", str, "FILE"),
        Flag(("--out", "-o"), "out", "the report to write, or - for stdout (default: stdout)", str, "FILE"),
        Flag(("--raw",), "raw", "keep every line with its time, as lines of JSON", str, "FILE"),
        Flag(("--report",), "report", "make the report of this raw capture", str, "FILE"),
        Flag(("--compare",), "compare", "align this raw capture and the one named next, event by event", str, "FILE"),
        Flag(("--deadline",), "deadline", "seconds until the agent is ended (default: 120)", _seconds, "SECONDS"),
        DIALECT,
    ),
    table=HELP,
)


def monitor(argv: Sequence[str]) -> int:
    """Watch a command, or show a capture again; return the exit code. Raises UsageError and ConfigError."""
    flags, command = parsed(argv, MONITOR)
    if flags.help:
        tell(help_text(MONITOR))
        return 0
    if command and flags.words:
        raise UsageError(f"linnet monitor takes a command or a file, not both: {flags.words[0]!r}")
    if command:
        return _watch(command, flags)
    if len(flags.words) != 1:
        raise UsageError("say what to watch: linnet monitor -- COMMAND…, or linnet monitor FILE")
    return _replay(flags.words[0], flags)


def capture(argv: Sequence[str]) -> int:
    """Record a command, or report on captures; return the exit code. Raises UsageError and ConfigError."""
    flags, command = parsed(argv, CAPTURE)
    given = flags.config
    if flags.help:
        tell(help_text(CAPTURE))
        return 0
    modes = [name for name in ("script", "report", "compare") if name in given]
    if len(modes) != 1:
        raise UsageError("say one of --script FILE, --report FILE or --compare FILE FILE; see linnet capture --help")
    if modes == ["compare"]:
        return _compare(flags, command)
    if flags.words:
        raise UsageError(f"linnet capture takes no words but a command after --: {flags.words[0]!r}")
    if modes == ["report"]:
        _refuse_command(command, "--report")
        _write(_report(_load(given["report"]), flags), flags.out)
        return 0
    if not command:
        raise UsageError("which agent? put it at the end: linnet capture --script FILE -- COMMAND…")
    return _run(command, flags)


def parsed(argv: Sequence[str], program: Program) -> tuple[Flags, list[str]]:
    """Return the flags, and the command, which is everything after the first `--`.

    Secrets that the agent gets are hidden from its children, who could read in /proc what we were started with.
    """
    at = list(argv).index("--") if "--" in argv else len(argv)
    flags = parse(argv[:at], program)
    command = list(argv[at + 1 :])
    if at < len(argv) and not command and not flags.help:
        raise UsageError("a command is missing after --")
    if command:
        _conceal(command)
    return flags, command


def _conceal(command: Sequence[str]) -> None:
    from linnet.capture.secrets import of_flags
    from linnet.core.text.known_secrets import is_secret_name
    from linnet.server.concealed import conceal_variables, conceal_word

    conceal_variables([name for name in os.environ if is_secret_name(name)])
    for word in of_flags(command):
        if word:
            conceal_word(word)


def _refuse_command(command: list[str], flag: str) -> None:
    if command:
        raise UsageError(f"{flag} reads a capture and runs nothing: {command[0]!r}")


def _watch(command: list[str], flags: Flags) -> int:
    """Run an agent, show what it does on stderr, and return its exit code."""
    import subprocess

    from linnet.monitor.board import Board
    from linnet.monitor.passthrough import pass_through
    from linnet.monitor.stream import Stream
    from linnet.monitor.watch import Watch
    from linnet.monitor.watched_child import start

    watch = Watch(_name(flags))
    process = start(command, stdout=subprocess.PIPE, bufsize=0)
    began = time.monotonic()
    board = Board(watch, lambda: time.monotonic() - began, json=flags.json)
    code = pass_through(process, Stream(watch, board.change))
    board.close()
    return code


def _replay(name: str, flags: Flags) -> int:
    """Print every state that the agent of a capture was in."""
    from linnet.monitor.watch import Watch

    capture = _load(name)
    watch = Watch(_name(flags))
    state: Any = None
    for record in capture.records:
        if record.kind == "out":
            watch.heard(record.at, record.line)
        elif record.kind == "in":
            watch.said(record.at, record.line)
        elif record.kind == "exit":
            watch.ended(record.at, record.code)
        if watch.state is not state:
            state = watch.state
            _show(watch, flags)
    return 0


def _show(watch: "Watch", flags: Flags) -> None:
    from linnet.monitor.describe import describe, snapshot
    from linnet.wire.jsonl import encode_lines

    if flags.json:
        hand_over(encode_lines([snapshot(watch)]).decode().rstrip("\n"))
    else:
        tell(f"{watch.at:9.3f}  {describe(watch, watch.at)}")


def _run(command: list[str], flags: Flags) -> int:
    """Run an agent with a script, and write the capture or the report."""
    from datetime import UTC, datetime

    from linnet.capture import script, secrets
    from linnet.capture.drive import Drive
    from linnet.capture.record import dump
    from linnet.core.text.known_secrets import of_environment, values
    from linnet.runtime.models.accounts import Accounts
    from linnet.runtime.models.known_providers import KnownProviders
    from linnet.runtime.settings.folders import home_folder

    given = flags.config
    steps = script.parse(_text(given["script"]), given["script"])
    told = [value for step in steps if isinstance(step, script.Send) for value in secrets.of_request(step.line)]
    kept = Accounts(KnownProviders(os.environ, home_folder(os.environ))).secrets()
    hidden = values([*of_environment(os.environ), *kept, *secrets.of_flags(command), *told])
    date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    drive = Drive(command, hidden, date, given.get("deadline", 120.0))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: drive.interrupt())  # What came until then is reported all the same.
    in_time = drive.run(steps)
    made = drive.capture
    if "raw" in given:
        _write("".join(dump(made)), given["raw"])
    if flags.out is not None or "raw" not in given:
        _write(_report(made, flags), flags.out)
    for note in made.notes:
        say(note)
    return 0 if in_time else 1


def _compare(flags: Flags, command: list[str]) -> int:
    from linnet.capture.compare import compare

    _refuse_command(command, "--compare")
    if len(flags.words) != 1:
        raise UsageError("--compare takes two raw captures: linnet capture --compare FILE FILE")
    names = (flags.config["compare"], flags.words[0])
    one, other = map(_load, names)
    titles = [Path(name).stem for name in names]
    _write(compare(one, other, (titles[0], titles[1])), flags.out)
    return 0


def _report(capture: "Capture", flags: Flags) -> str:
    from linnet.capture.report import report

    return report(capture, _name(flags))


def _name(flags: Flags) -> "DialectName | None":
    return flags.dialect  # type: ignore[return-value]  # `_dialect` let nothing else through.


def _load(name: str) -> "Capture":
    from linnet.capture.record import load

    return load(_text(name), name)


def _text(name: str) -> str:
    """Return what is in a file. Raises ConfigError."""
    try:
        return Path(name).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise ConfigError(f"{name} could not be read: {error.strerror}") from None


def _write(text: str, name: str | None) -> None:
    """Write to a file, or to stdout. Raises ConfigError."""
    if name in (None, "-"):
        hand_over(text.removesuffix("\n"))
        return
    try:
        Path(str(name)).write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise ConfigError(f"{name} could not be written: {error.strerror}") from None
