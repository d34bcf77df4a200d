"""What takes its time beside whatever else runs: a command, a list of sessions, a page."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, assert_never

from linnet.core.cancel import Cancel
from linnet.core.commands import Answer, Aside, Bash, BashDone, Exported, ExportHtml, ListSessions, SessionList
from linnet.errors import BadInput, SessionError
from linnet.runtime.moves import NO_SESSIONS
from linnet.runtime.state import State

if TYPE_CHECKING:
    from linnet.runtime.machinery import Machinery
    from linnet.store.store import Store

Errand: TypeAlias = Callable[[Cancel], Answer]
IN_MEMORY = "Cannot export in-memory session to HTML"


def errand(
    command: Aside, cwd: str, state: State, machinery: "Callable[[], Machinery]", clock: Callable[[], int]
) -> Errand:
    """To be done in a thread of its own; what it needs of the state is taken from it now. Raises LinnetError."""
    match command:
        case Bash(text):

            def bash(cancel: Cancel) -> Answer:
                from linnet.runtime.command import run_command

                return BashDone(run_command(text, cwd, machinery().processes, cancel, clock))

            return bash
        case ListSessions(everywhere):
            if state.sessions is None or state.journal is None:
                raise BadInput(NO_SESSIONS)
            sessions, current = state.sessions, state.journal.store.path
            return lambda cancel: SessionList(sessions.listed(everywhere=everywhere), current)
        case ExportHtml(path):
            if state.sessions is None or state.journal is None or state.journal.store.path is None:
                raise SessionError(IN_MEMORY)
            store = state.journal.store
            target = state.sessions.allowed(path or default_name(state.journal.store.path))
            export = exporting(store, target)
            return lambda cancel: Exported(export())
        case _:
            assert_never(command)


def exporting(store: "Store", path: str) -> Callable[[], str]:
    """What makes a page of the session as it is now, writes it there and says where."""
    header, lines, leaf = store.header, store.lines(), store.leaf

    def export() -> str:
        from linnet.export.file import write
        from linnet.export.page import page
        from linnet.store.entries import entry, glance

        entries = [entry(line, seen) for line in lines if (seen := glance(line)) is not None]
        write(path, page(header, entries, leaf))
        return path

    return export


def default_name(path: str) -> str:
    return f"linnet-session-{os.path.basename(path).removesuffix('.jsonl')}.html"
