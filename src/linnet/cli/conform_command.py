"""The command `linnet conform`: judges any program that speaks one of the protocols."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from linnet.cli.monitor_command import HELP, _seconds
from linnet.errors import ConfigError
from linnet.flags.flags import Flag, Program, UsageError, help_text, parse
from linnet.server.terminal import hand_over, tell

if TYPE_CHECKING:
    from linnet.conform.check import Check, Dialect


def _number(word: str) -> int:
    if not word.isdecimal() or not 1 <= int(word) <= 64:
        raise ValueError("a number from 1 to 64")
    return int(word)


def _listed(word: str) -> list[str]:
    return [word]


CONFORM = Program(
    "linnet conform",
    """\
linnet conform: judge any program that speaks one of the protocols

  linnet conform --dialect NAME [flags] -- COMMAND…

  COMMAND is run many times, each time in a folder and a home of its own, with a scripted model. `{url}` in it is
  replaced by the model's address, and then no flags are added. Exit codes: 0 all musts hold, 1 some do not, 2 not
  understood.

Flags
""",
    (
        Flag(("--dialect",), "dialect", "zot, pi, pi-legacy, pi-0.73, pi-0.87 or pi-1", str, "NAME"),
        Flag(("--list",), "listed", "print the checks, and run nothing"),
        Flag(
            ("--only",),
            "only",
            "judge these: an id, its beginning, or a pattern with *",
            _listed,
            "ID",
            repeatable=True,
        ),
        Flag(("--json",), "json", "print one JSON object"),
        Flag(("--junit",), "junit", "write what came of it as JUnit's XML", str, "FILE"),
        Flag(("--jobs",), "jobs", "how many runs at once (default: one per processor, at most 4)", _number, "N"),
        Flag(("--deadline",), "deadline", "seconds that one run may take (default: 30)", _seconds, "SECONDS"),
    ),
    table=HELP,
)


def conform(argv: Sequence[str]) -> int:
    """Judge a command, and return the exit code. Raises UsageError and ConfigError."""
    from linnet.conform.check import DIALECTS
    from linnet.conform.everything import UnknownCheck, chosen

    at = list(argv).index("--") if "--" in argv else len(argv)
    flags = parse(argv[:at], CONFORM)
    command = list(argv[at + 1 :])
    if flags.help:
        tell(help_text(CONFORM))
        return 0
    given = flags.config
    if flags.words:
        raise UsageError(f"linnet conform takes no words but a command after --: {flags.words[0]!r}")
    dialect: Any = given.get("dialect", flags.dialect)
    if dialect not in DIALECTS:
        raise UsageError(f"say which protocol to judge: --dialect {', '.join(DIALECTS)}")
    try:
        checks = chosen(dialect, given.get("only") or ())
    except UnknownCheck as error:
        raise UsageError(str(error)) from None
    if given.get("listed"):
        _list(checks, as_json=bool(flags.json))
        return 0
    if not command:
        raise UsageError("which program? put it at the end: linnet conform --dialect NAME -- COMMAND…")
    from linnet.conform.judging import NotStarted

    try:
        return _judge(command, dialect, checks, given, as_json=bool(flags.json))
    except NotStarted as error:
        raise UsageError(str(error)) from None


def _list(checks: "Sequence[Check]", *, as_json: bool) -> None:
    from linnet.conform.reports import described
    from linnet.wire.jsonl import encode_lines

    if as_json:
        hand_over(encode_lines([described(check) for check in checks]).decode().rstrip("\n"))
        return
    for check in checks:
        tell(f"{check.tier:6}  {check.id}\n        {check.says}")


def _judge(
    command: list[str], dialect: "Dialect", checks: "Sequence[Check]", given: dict[str, Any], *, as_json: bool
) -> int:
    """Run the checks, and print and write what came of them."""
    from linnet.conform.judging import Judging, Verdict
    from linnet.conform.reports import Report, junit, table
    from linnet.conform.reports import as_json as whole
    from linnet.wire.jsonl import encode_lines

    if "junit" in given:
        _try(given["junit"])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    jobs = given.get("jobs") or min(4, os.cpu_count() or 1)
    began = time.monotonic()
    verdicts: dict[str, Verdict] = {}
    transcripts = {}
    with Judging(command, dialect, jobs=jobs, seconds=given.get("deadline", 30.0)) as judging:
        for scene, played in judging.judge(checks):
            verdicts |= {verdict.check.id: verdict for verdict in played.verdicts}
            if played.transcript:
                transcripts[scene.name] = played.transcript
    seconds = time.monotonic() - began
    report = Report(dialect, command, [verdicts[check.id] for check in checks], transcripts, seconds)
    hand_over(encode_lines([whole(report)]).decode().rstrip("\n")) if as_json else tell(table(report))
    if "junit" in given:
        _write(junit(report), given["junit"])
    return 0 if report.passed else 1


def _leave(number: int, frame: FrameType | None) -> None:
    """End as the signal says, after what was started has been killed."""
    raise SystemExit(128 + number)


def _try(name: str) -> None:
    """Raise UsageError if a file cannot be written: better now than after minutes."""
    try:
        with open(name, "a"):
            pass
    except OSError as error:
        raise UsageError(f"{name} cannot be written: {error.strerror}") from None


def _write(text: str, name: str) -> None:
    try:
        Path(name).write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(f"{name} could not be written: {error.strerror}") from None
