"""The commands `linnet sessions` and `linnet export`: list sessions, and write one as a page."""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from linnet.errors import ConfigError
from linnet.flags.flags import TABLE, Flag, Flags, Program, UsageError, help_text, parse
from linnet.server.terminal import hand_over, say, tell

if TYPE_CHECKING:
    from linnet.core.session_info import SessionInfo

_OWN = tuple(flag for flag in TABLE if flag.names[0] in ("--cwd", "--session-dir", "-h"))
_PIS = Flag(("--pi",), "stands_in_for", "those of pi and of linnet-pi, too", value="pi")

LIST = Program(
    "linnet sessions",
    """\
linnet sessions: the sessions of this folder, the newest first

  linnet sessions [flags]

Flags
""",
    (
        Flag(("--all",), "everywhere", "the sessions of every folder"),
        _PIS,
        Flag(("--json",), "json", "one JSON object a line, with all that is known"),
    ),
    table=_OWN,
)

EXPORT = Program(
    "linnet export",
    """\
linnet export: a session as one page of HTML, to read and to share

  linnet export SESSION [flags]       SESSION is a file, or the beginning of an id (see linnet sessions)

Flags
""",
    (
        Flag(
            ("--out", "-o"), "out", "the page to write, or - for stdout (default: named after the session)", str, "FILE"
        ),
        _PIS,
    ),
    table=_OWN,
)


def sessions(argv: Sequence[str]) -> int:
    """List sessions, and return the exit code. Raises UsageError."""
    flags = parse(argv, LIST)
    if flags.help:
        tell(help_text(LIST))
        return 0
    if flags.words:
        raise UsageError(f"linnet sessions takes no words, only flags: {flags.words[0]!r}; see linnet sessions --help")
    from linnet.store.session_folder import folders, summaries

    chosen = "session_dir" in flags.config
    places = _folders(flags) if chosen or not flags.everywhere else []
    places += [each for home in _homes(flags) for each in folders(home)] if flags.everywhere else []
    only = None if flags.everywhere or chosen else _cwd(flags)
    unread: list[str] = []
    listed = summaries(list(dict.fromkeys(places)), only, unread)
    found = [info for info in listed if info.messages or flags.json]
    if flags.json:
        _print_json(found)
    elif found:
        from linnet.cli.session_table import rows

        tell("\n".join(rows(found, folders=flags.everywhere or chosen)))
    else:
        from linnet.core.text.terminal_text import one_line

        where = (
            os.path.join(_home(), "sessions")
            if flags.everywhere
            else f"{one_line(places[0])}; --all looks in every folder"
        )
        unread.append(f"no sessions in {where}")
    for reason in unread:
        say(reason)
    return 0


def export(argv: Sequence[str]) -> int:
    """Write a session as a page, and return the exit code. Raises as `export_to`."""
    flags = parse(argv, EXPORT)
    if flags.help:
        tell(help_text(EXPORT))
        return 0
    if len(flags.words) != 1:
        raise UsageError("linnet export takes one session, a file or the beginning of an id; see linnet export --help")
    return export_to(flags.words[0], flags.out, flags)


def export_to(word: str, out: str | None, flags: Flags) -> int:
    """Write the session that a path or the beginning of an id names, and print where; `-` is stdout.

    Raises UsageError, SessionError and ConfigError.
    """
    from linnet.runtime.run.background import Exporting, default_name
    from linnet.store.session_folder import NoSuchSession, find, folders, open_store

    if not word.strip() or (out is not None and not out.strip()):
        raise UsageError("a session or a page must have a name; see linnet export --help")
    here = [] if os.path.isabs(word) else _folders(flags)
    path = find(word, [*here, *(each for home in _homes(flags) for each in folders(home))])
    if path is None:
        raise NoSuchSession(word, "; see linnet sessions --all")
    store = open_store(path, to_write=False).store
    if out == "-":
        if isinstance(sys.stdout, TextIOWrapper):  # A spawner may have closed it.
            sys.stdout.reconfigure(encoding="utf-8", errors="replace")
            sys.stdout.writelines(Exporting(store).pieces())
        return 0
    target = Path(out) if out else Path(default_name(path))
    try:
        Exporting(store, path).write(target)
    except OSError as error:
        raise ConfigError(f"{target} could not be written: {error.strerror}") from None
    hand_over(str(target))
    return 0


def _folders(flags: Flags) -> list[str]:
    """Return the folders that the sessions of this one are in."""
    given: str | None = flags.config.get("session_dir")
    if not given and flags.stands_in_for == "pi":
        given = os.environ.get("PI_CODING_AGENT_SESSION_DIR")
    if given:
        return [os.path.abspath(os.path.expanduser(given))]
    from linnet.store.session_folder import folder

    return [folder(home, _cwd(flags)) for home in _homes(flags)]


def _cwd(flags: Flags) -> str:
    from linnet.runtime.settings.folders import work_folder

    return work_folder(flags.config.get("cwd"))


def _home() -> str:
    from linnet.runtime.settings.folders import home_folder

    return home_folder(os.environ)


def _homes(flags: Flags) -> list[str]:
    """Return the homes in which sessions are looked for; the first is the one in which they are begun."""
    if flags.stands_in_for != "pi":
        return [_home()]
    from linnet.runtime.project.resource_folders import peer_home

    return [peer_home("pi", os.environ), _home()]


def _print_json(found: "Sequence[SessionInfo]") -> None:
    from linnet.wire.jsonl import encode_lines
    from linnet.wire.pi.answers import session_item

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.buffer.write(encode_lines([session_item(session) for session in found]))
