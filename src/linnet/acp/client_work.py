"""What the client does for the model's tools: it reads and writes files as its editor has them, and runs commands in
its terminals. Toolsets around linnet's own, which do everything else.
"""

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from errno import ENOENT
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from linnet.acp.peer import ClientFailed, ClientLate, ClientRefused, Peer
from linnet.concurrency.cancel import CancelToken
from linnet.core.cancel import Cancel
from linnet.core.messages import ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.errors import Cancelled, ToolFailed
from linnet.processes.process import Finished, Sink
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput
from linnet.tools.toolset import Toolset
from linnet.wire.acp import jsonrpc
from linnet.wire.acp.calls import BEFORE

if TYPE_CHECKING:
    from linnet.acp.client_session import ClientSession

PATIENCE = 60.0  # Seconds that the client has for a file, or to begin or end a command.
PARTING = 1.0  # Seconds that it has, after an abort, to end a command, and to say what that has printed.
MOST_OUTPUT = 1 << 20
MOST_BEFORE = 256 * 1024  # Letters of what was in a file that are kept to be shown.


class ClientWork:
    """An Around."""

    def __init__(self, session: "ClientSession") -> None:
        self._session = session

    def behind_gate(self, tools: Toolset, *, own: bool) -> Toolset:
        return Begun(tools, self._session, own=own)

    def before_gate(self, tools: Toolset, *, own: bool) -> Toolset:
        offers = self._session.offers
        return InEditor(tools, self._session) if own and (offers.reads or offers.writes) else tools


class Begun:
    """Tools that the gate let pass: their calls are told to be in progress. Commands run in the client's terminals."""

    def __init__(self, inner: Toolset, session: "ClientSession", *, own: bool) -> None:
        self._inner = inner
        self._session = session
        self._own = own

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return self._inner.specs

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        self._session.began(call.id)
        if self._own and call.name == "bash" and self._session.offers.terminal and context.processes.sandbox is None:
            context = copy(context)
            processes: Any = InTerminal(self._session, call.id, context.processes)
            context.processes = processes
        if not self._own or call.name != "write":
            return self._inner.run(call, context)
        is_known, before = _before(call, context)
        output = self._inner.run(call, context)
        if output.is_error or not is_known or len(before or "") > MOST_BEFORE:
            return output
        return replace(output, details={**(output.details or {}), BEFORE: before})


class InEditor:
    """Linnet's own tools, on the files of the session's folder as the client's editor has them."""

    def __init__(self, inner: Toolset, session: "ClientSession") -> None:
        self._inner = inner
        self._session = session

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return self._inner.specs

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        if call.name not in ("read", "write", "edit"):
            return self._inner.run(call, context)
        context = copy(context)
        context.files = EditorFiles(self._session, context.cancel)
        return self._inner.run(call, context)


class EditorFiles:
    """Files as the client's editor has them, saved or not. Those outside of the session's folder are on disk only."""

    def __init__(self, session: "ClientSession", cancel: Cancel) -> None:
        self._session = session
        self._cancel = cancel

    def has(self, path: str, *, writing: bool) -> bool:
        """Return whether the client is to be asked for this file."""
        offers = self._session.offers
        root = os.path.realpath(self._session.cwd)
        inside = os.path.commonpath((root, os.path.realpath(path))) == root
        return inside and (offers.writes if writing else offers.reads)

    def read(self, path: str) -> str:
        """Return what is in a file. Raises FileNotFoundError if neither the client nor the disk has it, ToolFailed and
        Cancelled.
        """
        asked = {"sessionId": self._session.id, "path": os.path.normpath(path)}
        try:
            found = self._session.peer.call("fs/read_text_file", asked, self._cancel, PATIENCE)
        except ClientFailed as failure:
            # Every client says in its own words that there is no such file.
            if isinstance(failure, ClientRefused) and not os.path.exists(path):
                raise FileNotFoundError(ENOENT, os.strerror(ENOENT), path) from None
            raise ToolFailed(f"{path} could not be read: {failure}") from None
        if not isinstance(found, dict) or not isinstance(found.get("content"), str):
            raise ToolFailed(f"{path} could not be read: the client did not send its content")
        content: str = found["content"]
        return content

    def write(self, path: str, content: str) -> None:
        """Write a file. Raises ToolFailed and Cancelled."""
        asked = {"sessionId": self._session.id, "path": os.path.normpath(path), "content": content}
        try:
            self._session.peer.call("fs/write_text_file", asked, self._cancel, PATIENCE)
        except ClientFailed as failure:
            raise ToolFailed(f"{path} could not be written: {failure}") from None


class InTerminal:
    """Runs a command in a terminal of the client's, as `Processes.run` does here."""

    def __init__(self, session: "ClientSession", call: str, own: Any) -> None:
        self._session = session
        self._peer: Peer = session.peer
        self._call = call
        self.temporary: str | None = own.temporary
        self.session_variables = own.session_variables

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str | os.PathLike[str],
        sink: Sink,
        cancel: Cancel,
        timeout: float | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> Finished:
        """Run a command, and return how it ended. Raises OSError if it cannot be started, and Cancelled."""
        asked = {
            "sessionId": self._session.id,
            "command": argv[0],
            "args": list(argv[1:]),
            "env": [{"name": name, "value": value} for name, value in (env or {}).items() if value is not None],
            "cwd": os.fspath(cwd),
            "outputByteLimit": MOST_OUTPUT,
        }
        terminal = self._made(asked, cancel)
        named = {"sessionId": self._session.id, "terminalId": terminal}
        try:
            self._session.embed(self._call, terminal)
            return self._waited_for(named, sink, cancel, timeout)
        except Cancelled:  # From here on nothing is waited for that a client might never answer.
            self._kill(named, CancelToken(), PARTING)
            self._printed(named, sink, CancelToken(), PARTING)
            raise
        finally:
            self._release(named)

    def _made(self, asked: dict[str, Any], cancel: Cancel) -> str:
        """Return the id of a new terminal. One that is made too late is released. Raises OSError and Cancelled."""

        def late(answer: jsonrpc.Response) -> None:
            match answer.result:
                case {"terminalId": str(terminal)}:
                    self._release({"sessionId": self._session.id, "terminalId": terminal})
                case _:
                    pass

        try:
            match self._peer.call("terminal/create", asked, cancel, PATIENCE, late=late):
                case {"terminalId": str(terminal)}:
                    return terminal
                case _:
                    raise OSError(0, "the client did not make a terminal")
        except ClientFailed as failure:
            raise OSError(0, str(failure)) from None

    def _waited_for(self, named: dict[str, str], sink: Sink, cancel: Cancel, timeout: float | None) -> Finished:
        """Return how a command ended that runs in a terminal. Raises Cancelled."""
        code, timed_out = None, False
        try:
            code = _code(self._peer.call("terminal/wait_for_exit", named, cancel, timeout))
        except ClientFailed as failure:
            timed_out = isinstance(failure, ClientLate)
            self._kill(named, cancel, PATIENCE)
        known = self._printed(named, sink, cancel, PATIENCE)
        if timed_out:
            return Finished(None, timed_out=True)
        code = code if known is None else known
        return Finished(-signal.SIGKILL if code is None else code)

    def _kill(self, named: dict[str, str], cancel: Cancel, patience: float) -> None:
        with suppress(ClientFailed):
            self._peer.call("terminal/kill", named, cancel, patience)

    def _printed(self, named: dict[str, str], sink: Sink, cancel: Cancel, patience: float) -> int | None:
        """Feed the sink with all that was printed, and return the exit code, if it is known."""
        try:
            found = self._peer.call("terminal/output", named, cancel, patience)
        except ClientFailed:
            return None
        output = found.get("output") if isinstance(found, dict) else None
        if isinstance(output, str):
            sink.feed(output.encode("utf-8", "replace"))
        return _code(found.get("exitStatus")) if isinstance(found, dict) else None

    def _release(self, named: dict[str, str]) -> None:
        self._peer.ask("terminal/release", named, lambda answer: None)


def _code(status: Any) -> int | None:
    if not isinstance(status, dict):
        return None
    code, name = status.get("exitCode"), status.get("signal")
    if isinstance(code, int):
        return code
    known = {each.name: each.value for each in signal.Signals}
    return -known.get(str(name).upper(), signal.SIGKILL) if name is not None else None


def _before(call: ToolCall, context: ToolContext) -> tuple[bool, str | None]:
    """Return whether anybody can say what is in the file that a call is about to write, and what; None if there is
    no file.
    """
    from linnet.tools.edit import contents

    path = call.args.get("path")
    if not isinstance(path, str):
        return False, None
    try:
        return True, contents(path, context.resolve(path), context).decode("utf-8", "replace")
    except FileNotFoundError:
        return True, None
    except (OSError, ToolFailed):
        return False, None
