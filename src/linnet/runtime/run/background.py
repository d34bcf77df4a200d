"""Commands that run in a thread beside the jobs: shell commands and extension commands of the client, the list of
sessions, the export as a page.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from stat import S_IMODE
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
from linnet.core.events import BashPrinted
from linnet.errors import BadInput, Busy, Cancelled, SessionError
from linnet.runtime.broadcast import Broadcast
from linnet.runtime.sessions.storage import Storage
from linnet.runtime.settings.settings import Settings
from linnet.runtime.tools.session_tools import SessionTools

if TYPE_CHECKING:
    from linnet.store.store import Store

Task: TypeAlias = Callable[[Cancel], Answer]
LONGEST_NAME = 200  # Bytes.
MOST_AT_ONCE = 256 * 1024  # Characters of a page that are written together.
IN_MEMORY = "Cannot export in-memory session to HTML"


def task(
    command: Background,
    settings: Settings,
    broadcast: Broadcast,
    storage: Storage,
    session_tools: SessionTools,
    clock: Callable[[], int],
) -> Task:
    """Return a function that carries out the command, for a thread of its own. What it needs of the session is looked
    up now, under the lock, so that a move meanwhile changes nothing.

    Raises LinnetError if the command cannot be carried out here.
    """
    match command:
        case Bash(text, private, request):

            def printed(news: str, cancel: Cancel) -> None:
                assert request is not None
                broadcast.emit([BashPrinted(request, news)], cancel)

            def bash(cancel: Cancel) -> Answer:
                from linnet.core.extensions.hooks import BashAsked
                from linnet.runtime.run.client_bash import hooked_command, run_command

                cwd, resources, timeout = settings.cwd, session_tools.resources, settings.bash_timeout
                shell, processes = resources.shell, resources.processes
                tell = None if request is None else printed
                if session_tools.chain is not None and session_tools.chain.handles("user_bash"):
                    asked = BashAsked(text, cwd, private=private)
                    chain = session_tools.chain
                    run = hooked_command(asked, chain, shell, processes, cancel, clock, timeout, tell)
                else:
                    run = run_command(text, cwd, shell, processes, cancel, clock, timeout, tell)
                return BashDone(replace(run, private=private))

            return bash
        case RunCommand(name, arguments):
            chain = session_tools.chain

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
            raise Busy  # Only Admission carries it out, while no work passes.
        case ListSessions(everywhere):
            sessions, current = storage.elsewhere, storage.kept.store.log.key or None
            return lambda cancel: SessionList(*sessions.listed(current, everywhere=everywhere))
        case ExportHtml(path):
            if storage.sessions is None or storage.journal is None or not storage.journal.store.log.key:
                raise SessionError(IN_MEMORY)
            target = storage.sessions.allowed(path or default_name(storage.journal.store.log.key))
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
    """Exports a session, as it is when this is made, as an HTML page. Entries are read when the page is written."""

    def __init__(self, store: "Store", file: str | None = None) -> None:
        """`file` is where the session is, if the store does not know. Raises SessionError if the store is closed."""
        self._header, self._entries, self._leaf = store.header, store.snapshot(), store.leaf
        self._file = file or (store.path if store.is_kept else None)

    def pieces(self) -> Iterator[str]:
        """Yield the page in pieces. Raises SessionError if the session was changed by another program."""
        from linnet.export.page import page

        yield from page(self._header, self._entries, self._leaf)

    def write(self, path: Path) -> None:
        """Write the page. Whoever may read the session may read it, and nobody else. A session is never overwritten.

        Raises OSError or SessionError, and then nothing has changed.
        """
        from linnet.files.replacing import FOLDER, replace
        from linnet.store.file import first_header

        if first_header(str(path)) is not None:
            raise SessionError(f"{path} is a session, which a page must not overwrite; give another name")
        mode = 0o600 if self._file is None else S_IMODE(os.stat(self._file).st_mode) & 0o666
        pieces = (piece.encode("utf-8", "replace") for piece in _joined(self.pieces()))
        replace(path, pieces, mode=mode, durable=True, open_folder=lambda page: os.open(os.path.dirname(page), FOLDER))


def _joined(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the same text in larger pieces, since each piece is one write."""
    waiting, size = [], 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size > MOST_AT_ONCE:
            yield "".join(waiting)
            waiting, size = [], 0
    yield "".join(waiting)


def default_name(path: str) -> str:
    """Return the name of a page for the session at this path."""
    name = os.fsencode(os.path.basename(path).removesuffix(".jsonl"))[:LONGEST_NAME]
    return f"linnet-session-{os.fsdecode(name)}.html"
