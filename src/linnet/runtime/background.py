"""What takes its time beside whatever else runs: a command, a list of sessions, a page."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, assert_never

from msgspec.structs import replace

from linnet.core.cancel import Cancel
from linnet.core.commands import (
    Answer,
    Background,
    Bash,
    BashDone,
    Exported,
    ExportHtml,
    ListSessions,
    Ok,
    Reload,
    RunCommand,
    SessionList,
)
from linnet.errors import BadInput, Busy, Cancelled, SessionError
from linnet.runtime.settings import Settings
from linnet.runtime.storage import Storage
from linnet.runtime.toolbox import Toolbox

if TYPE_CHECKING:
    from linnet.store.store import Store

Task: TypeAlias = Callable[[Cancel], Answer]
LONGEST_NAME = 200  # Bytes.
IN_MEMORY = "Cannot export in-memory session to HTML"


def task(command: Background, settings: Settings, storage: Storage, toolbox: Toolbox, clock: Callable[[], int]) -> Task:
    """To be called in a thread of its own; what it needs to know of the session is looked up now, under the lock.

    Raises LinnetError.
    """
    match command:
        case Bash(text, private):

            def bash(cancel: Cancel) -> Answer:
                from linnet.core.hooks import BashAsked
                from linnet.runtime.client_bash import hooked_command, run_command

                cwd, resources, timeout = settings.cwd, toolbox.resources, settings.bash_timeout
                shell, processes = resources.shell, resources.processes
                if toolbox.chain is not None and toolbox.chain.handles("user_bash"):
                    asked = BashAsked(text, cwd, private=private)
                    run = hooked_command(asked, toolbox.chain, shell, processes, cancel, clock, timeout)
                else:
                    run = run_command(text, cwd, shell, processes, cancel, clock, timeout)
                return BashDone(replace(run, private=private))

            return bash
        case RunCommand(name, arguments):
            chain = toolbox.chain

            def run(cancel: Cancel) -> Answer:
                if chain is None:
                    raise BadInput(f"no extension has a command /{name}")
                try:
                    chain.run_command(name, arguments, cancel)
                except Cancelled:
                    raise BadInput(f"the command /{name} was aborted") from None
                return Ok()

            return run
        case Reload():
            raise Busy  # It is carried out where no work passes meanwhile.
        case ListSessions(everywhere):
            sessions, current = storage.elsewhere, storage.kept.store.path
            return lambda cancel: SessionList(*sessions.listed(current, everywhere=everywhere))
        case ExportHtml(path):
            if storage.sessions is None or storage.journal is None or storage.journal.store.path is None:
                raise SessionError(IN_MEMORY)
            target = storage.sessions.allowed(path or default_name(storage.journal.store.path))
            exporting = Exporting(storage.journal.store)

            def export(cancel: Cancel) -> Answer:
                try:
                    exporting.write(Path(target))
                except OSError as error:
                    raise SessionError(f"{target} could not be written: {error.strerror}") from None
                return Exported(target)

            return export
        case _:
            assert_never(command)


class Exporting:
    """A page of the session as it is when this is made."""

    def __init__(self, store: "Store") -> None:
        self._header, self._lines, self._leaf = store.header, store.lines(), store.leaf

    def pieces(self) -> Iterator[str]:
        from linnet.export.page import page
        from linnet.store.lines import entry, glance

        entries = [entry(line, seen) for line in self._lines if (seen := glance(line)) is not None]
        return page(self._header, entries, self._leaf)

    def write(self, path: Path) -> None:
        """Raises OSError or SessionError, and then nothing has changed. A session is never overwritten."""
        from linnet.export.file import write
        from linnet.store.file import first_header

        if first_header(str(path)) is not None:
            raise SessionError(f"{path} is a session, which a page must not overwrite; give another name")
        write(path, self.pieces())


def default_name(path: str) -> str:
    name = os.fsencode(os.path.basename(path).removesuffix(".jsonl"))[:LONGEST_NAME]
    return f"linnet-session-{os.fsdecode(name)}.html"
