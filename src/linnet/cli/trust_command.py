"""The commands `linnet trust` and `linnet untrust`, and the question that is put to people in a terminal."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnet.core.text.terminal_text import one_line
from linnet.flags.flags import TABLE, Flag, Flags, Program, UsageError, help_text, parse
from linnet.server.terminal import ask, say, tell

if TYPE_CHECKING:
    from linnet.core.events import ProjectUntrusted
    from linnet.runtime.project.project import Answer, Project
    from linnet.runtime.settings.settings import Settings

_OWN = tuple(flag for flag in TABLE if flag.names[0] in ("--cwd", "-h"))
MOST_SHOWN = 40
TRUST = Program(
    "linnet trust",
    """\
linnet trust: use what this folder brings, from now on: its settings, extensions, servers, templates and skills

  linnet trust [flags]

Flags
""",
    (
        Flag(("--list",), "listing", "print what was said about folders, and change nothing"),
        Flag(("--never",), "never", "use nothing of it, and do not ask"),
    ),
    table=_OWN,
)
UNTRUST = Program(
    "linnet untrust",
    """\
linnet untrust: forget what was said about this folder

  linnet untrust [flags]

Flags
""",
    table=_OWN,
)
QUESTION = "Use it? [o]nce, [a]lways, ne[v]er, or Enter for not now: "
_ANSWERS: "dict[str, Answer]" = {"o": "once", "a": "always", "v": "never"}


def trust(argv: Sequence[str]) -> int:
    """Trust a project, or never, or list what was said; return the exit code. Raises UsageError."""
    flags = parse(argv, TRUST)
    if _done(flags, TRUST):
        return 0
    from linnet.runtime.project.trust import TrustFile

    project = _project(flags)
    if flags.listing:
        for path, entry in sorted(TrustFile(project.home).entries().items()):
            tell(f"{entry.answer:<6}  {one_line(path)}")
        return 0
    found = project.survey()
    if flags.never:
        project.answer("never")
        return 0
    if found is None:
        say(f"{one_line(project.root)} brings nothing that would have to be trusted")
        return 0
    project.answer("always")
    tell("\n".join(_lines(found)))
    return 0


def untrust(argv: Sequence[str]) -> int:
    """Forget what was said about a project; return the exit code. Raises UsageError."""
    flags = parse(argv, UNTRUST)
    if _done(flags, UNTRUST):
        return 0
    from linnet.runtime.project.trust import TrustFile

    project = _project(flags)
    if not TrustFile(project.home).forget(project.root):
        say(f"nothing was said about {one_line(project.root)}")
    return 0


def asked(settings: "Settings") -> "Settings":
    """Ask the person at the terminal whether the project may be used; return the settings that follow.

    Without a terminal nobody is asked, and stderr says what is left out.
    """
    project = settings.project
    found = project.survey()
    if found is None:
        return settings
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()):
        from linnet.cli.config_command import left_out

        say(left_out(one_line(found.path)))
        return settings
    heading = "has changed since you trusted it" if found.changed else "brings what can run code or speak to the model"
    ask("\n".join([f"{one_line(found.path)} {heading}:", *_lines(found), QUESTION]))
    answer = _ANSWERS.get(sys.stdin.readline().strip().lower()[:1])
    if answer is None:
        return settings
    project.answer(answer)
    return settings.again()


def _lines(found: "ProjectUntrusted") -> list[str]:
    """Return what a project brings, or what has changed of it, as lines; not too many."""
    changed = [f"  changed    {one_line(path)}" for path in found.changed]
    brought = [f"  {each.kind:<13}  {one_line(os.path.relpath(each.path, found.path))}" for each in found.found]
    lines = changed or brought
    return [*lines[:MOST_SHOWN], *([f"  and {len(lines) - MOST_SHOWN} more"] if len(lines) > MOST_SHOWN else [])]


def _project(flags: Flags) -> "Project":
    from linnet.runtime.project.project import Project
    from linnet.runtime.settings.folders import home_folder, work_folder

    project = Project(work_folder(flags.config.get("cwd")), home_folder(os.environ))
    project.look(for_all=True)
    return project


def _done(flags: Flags, program: Program) -> bool:
    """Print the help if that is asked for, and return whether it was. Raises UsageError for words."""
    if flags.help:
        tell(help_text(program))
    elif flags.words:
        raise UsageError(f"{program.name} takes no words, only flags: {flags.words[0]!r}; see {program.name} --help")
    return flags.help
