"""One editor: its requests, each answered once, and its sessions, each with a folder of its own."""

import os
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from linnet import __version__
from linnet.acp.early_prompts import EarlyPrompt, EarlyPrompts
from linnet.acp.peer import Peer
from linnet.acp.session_request import check_folder, removed, said_of
from linnet.errors import LinnetError
from linnet.runtime.error_report import as_error, explained, hand_over
from linnet.server.line_client import LineClient
from linnet.server.stdio import Stdio
from linnet.server.terminal import say
from linnet.wire.acp import jsonrpc, params
from linnet.wire.acp.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, NO_METHOD, NOT_FOUND, RpcError
from linnet.wire.acp.versions import answered, auth_methods, capabilities
from linnet.wire.jsonl import Overlong

if TYPE_CHECKING:
    from linnet.acp.client_session import ClientSession
    from linnet.runtime.session import Session
    from linnet.runtime.session_factory import SessionFactory
    from linnet.runtime.settings.settings import Settings

UNKNOWN = "there is no session {!r}"


class Editor(LineClient):
    """Invariants: each request gets exactly one response, whatever happens. Sessions belong to the connection: when it
    ends, they are closed.

    What takes its time (opening and closing sessions, reading lists) is done one after another in a thread of its own;
    prompts wait there for a session that is being opened.
    """

    def __init__(
        self,
        stdio: Stdio,
        wake: Callable[[], None],
        factory: "Callable[[], SessionFactory]",
        *,
        saves: bool = True,
        look: "Callable[[Settings], Settings]" = lambda settings: settings,
    ) -> None:
        """`saves` is false where no session is kept on disk. `look` is called with the settings of each session."""
        super().__init__(stdio, wake)
        self._make_factory = factory
        self._factory: SessionFactory | None = None
        self._saves = saves
        self._look = look
        self._peer = Peer(self._send)
        self._offers: params.ClientCapabilities | None = None  # None until `initialize`.
        self._sessions: dict[str, ClientSession] = {}
        self._lock = Lock()  # Guards the next two, and adding to `_sessions`.
        self._tasks: deque[Callable[[], None]] = deque()  # The first one is being done.
        self._closed = False
        self._early = EarlyPrompts()
        self._now: Mapping[str, Callable[[Raw, Raw], None]] = {
            "initialize": self._initialize,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
        }
        self._later: Mapping[str, Callable[[Raw], Callable[[Raw], None]]] = {
            "authenticate": self._authenticate,
            "session/new": self._new,
            "session/load": partial(self._resume, kind=params.LoadSession, replays=True),
            "session/resume": partial(self._resume, kind=params.ResumeSession, replays=False),
            "session/fork": self._fork,
            "session/list": self._list,
            "session/close": self._close_session,
            "session/delete": self._delete,
        }

    # What every line goes through.

    def _take(self, line: bytes | Overlong) -> None:
        match jsonrpc.decode(line):
            case jsonrpc.Request(id, method, given):
                try:
                    self._asked(id, method, given)
                except Exception as fault:
                    self._fail(id, fault)
            case jsonrpc.Notification(method, given):
                self._noted(method, given)
            case jsonrpc.Response() as answer:
                self._peer.take(answer)
            case jsonrpc.Malformed(code, reason, id, quiet):
                if not quiet:
                    self._send(jsonrpc.refusal(id, code, reason))

    def _asked(self, id: Raw, method: str, given: Raw) -> None:
        """Carry out a request, or have it carried out. Raises what says why it cannot be."""
        known = method in self._now or method in self._later
        if not known or (not self._saves and method in ("session/list", "session/delete")):
            raise RpcError(NO_METHOD, f"there is no method {method}")
        if self._offers is None and method != "initialize":
            raise RpcError(INVALID_REQUEST, "the connection begins with initialize")
        if method in self._now and (method == "initialize" or not self._tasks):
            self._now[method](id, given)
        elif method == "session/prompt":  # It may be for a session that is being opened.
            early = self._early.add(id, params.params(params.Prompt, given).session_id)
            self._do(partial(self._attempt, id, partial(self._prompt_early, early, given)))
        elif method in self._now:
            self._do(partial(self._attempt, id, lambda: self._now[method](id, given)))
        else:
            self._do(partial(self._attempt, id, lambda: self._later[method](given)(id)))

    def _noted(self, method: str, given: Raw) -> None:
        try:
            if method == "session/cancel":
                chosen = params.params(params.OfSession, given).session_id
                self._cancel_early(lambda each: each.session == chosen)
                session = self._sessions.get(chosen)
                if session is not None:
                    session.cancel()
            elif method == "$/cancel_request":
                wanted = params.params(params.CancelRequest, given).request_id
                self._cancel_early(lambda each: bytes(each.id) == bytes(wanted))
                for session in list(self._sessions.values()):
                    session.cancel(wanted)
        except RpcError as error:
            say(f"{method}: {error}")

    def _attempt(self, id: Raw, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as fault:
            self._fail(id, fault)

    def _fail(self, id: Raw, fault: Exception) -> None:
        if isinstance(fault, RpcError):
            error = fault
        else:
            from linnet.acp.turns import rpc_error

            error = rpc_error(as_error(fault, "a request broke"))
        self._send(jsonrpc.refusal(id, error.code, str(error), error.data))

    def _do(self, task: Callable[[], None]) -> None:
        """Have a task done after those before it. Raises LinnetError if the system has no thread."""
        with self._lock:
            self._tasks.append(task)
            first = len(self._tasks) == 1
        if first:
            hand_over("linnet-acp", self._work)

    def _work(self) -> None:
        """Do the tasks that there are."""
        while True:
            self._tasks[0]()
            with self._lock:
                self._tasks.popleft()
                if not self._tasks:
                    break
        self._wake()

    # What it is asked for at once.

    def _initialize(self, id: Raw, given: Raw) -> None:
        asked = params.params(params.Initialize, given)
        if self._offers is not None:
            raise RpcError(INVALID_REQUEST, "the connection is initialized already")
        self._offers = asked.capabilities
        said = {
            "protocolVersion": answered(asked.protocol_version),
            "agentCapabilities": capabilities(saves=self._saves),
            "authMethods": auth_methods(terminal=self._offers.login),
            "agentInfo": {"name": "linnet", "title": "linnet", "version": __version__},
        }
        self._send(jsonrpc.result(id, said))

    def _prompt(self, id: Raw, given: Raw) -> None:
        from linnet.wire.acp import blocks

        asked = params.params(params.Prompt, given)
        session = self._found(asked.session_id)
        text, images = blocks.understood(asked.prompt)
        session.prompt(id, text, images)

    def _prompt_early(self, prompt: EarlyPrompt, given: Raw) -> None:
        """Have a prompt begin that waited for what was asked for before it."""

        def cancel() -> None:
            session = self._sessions.get(prompt.session)
            if session is not None:
                session.cancel(prompt.id)

        self._early.begin(prompt, partial(self._prompt, prompt.id, given), cancel)

    def _cancel_early(self, chosen: Callable[[EarlyPrompt], bool]) -> None:
        for id in self._early.cancel(chosen):
            self._send(jsonrpc.result(id, {"stopReason": "cancelled"}))

    def _set_mode(self, id: Raw, given: Raw) -> None:
        asked = params.params(params.SetMode, given)
        self._found(asked.session_id).set_mode(asked.mode_id)
        self._send(jsonrpc.result(id, {}))

    def _set_option(self, id: Raw, given: Raw) -> None:
        asked = params.params(params.SetOption, given)
        found = self._found(asked.session_id).set_option(asked.config_id, asked.value)
        self._send(jsonrpc.result(id, {"configOptions": found}))

    def _found(self, id: str) -> "ClientSession":
        session = self._sessions.get(id)
        if session is None:
            raise RpcError(NOT_FOUND, UNKNOWN.format(id))
        if session.fault is not None:
            from linnet.acp.turns import rpc_error

            raise rpc_error(session.fault)
        return session

    # What takes its time. Each returns a function that sends the answer and what follows it.

    def _authenticate(self, given: Raw) -> Callable[[Raw], None]:
        asked = params.params(params.Authenticate, given)
        if all(each["id"] != asked.method_id or "type" in each for each in auth_methods(terminal=True)):
            raise RpcError(INVALID_PARAMS, f"there is no method {asked.method_id!r} to authenticate with")
        settings = self.factory.new()
        settings.accounts.require(settings.model.provider)
        return partial(self._answer, {})

    def _new(self, given: Raw) -> Callable[[Raw], None]:
        asked = params.params(params.NewSession, given)
        said = said_of(asked.cwd, asked.mcp_servers, asked.additional_directories)
        return self._opened(self.factory.new(said))

    def _resume(
        self, given: Raw, *, kind: "type[params.LoadSession | params.ResumeSession]", replays: bool
    ) -> Callable[[Raw], None]:
        asked = params.params(kind, given)
        said = said_of(asked.cwd, asked.mcp_servers or [], asked.additional_directories)
        there = self._sessions.get(asked.session_id)
        if there is None:
            path = self._path(asked.session_id, asked.cwd)
            return self._opened(self.factory.resume(path, said), replays=replays, named=False)
        check_folder(asked.session_id, there.cwd, asked.cwd)
        if replays:
            there.replay()
        return partial(self._tell_opened, there)

    def _fork(self, given: Raw) -> Callable[[Raw], None]:
        asked = params.params(params.ResumeSession, given)
        said = said_of(asked.cwd, asked.mcp_servers or [], asked.additional_directories)
        there = self._sessions.get(asked.session_id)
        if there is not None and not there.session.history():
            check_folder(asked.session_id, there.cwd, asked.cwd)
            return self._opened(self.factory.new(said))  # Nothing was said, so there is no file.
        path = there.session.file if there is not None else self._path(asked.session_id, asked.cwd)
        if path is None or not os.path.exists(path):
            raise RpcError(NOT_FOUND, UNKNOWN.format(asked.session_id))
        return self._opened(self.factory.fork(path, said))

    def _list(self, given: Raw) -> Callable[[Raw], None]:
        from linnet.acp.library import page

        asked = params.params(params.ListSessions, given)
        found = page(self._folders(), asked.cwd, asked.cursor)
        return partial(self._answer, found)

    def _close_session(self, given: Raw) -> Callable[[Raw], None]:
        asked = params.params(params.OfSession, given)
        session = self._sessions.pop(asked.session_id, None)
        if session is None:
            raise RpcError(NOT_FOUND, UNKNOWN.format(asked.session_id))
        session.close()
        return partial(self._answer, {})

    def _delete(self, given: Raw) -> Callable[[Raw], None]:
        from linnet.acp.library import find

        asked = params.params(params.OfSession, given)
        session = self._sessions.pop(asked.session_id, None)
        if session is not None:
            session.close()
        path = find(self._folders(), asked.session_id)
        if path is not None:
            removed(path)
        return partial(self._answer, {})

    # Sessions.

    @property
    def factory(self) -> "SessionFactory":
        if self._factory is None:
            self._factory = self._make_factory()
        return self._factory

    def _folders(self) -> list[str]:
        from linnet.runtime.settings.folders import home_folder
        from linnet.store.session_folder import folders

        chosen = self.factory.session_dir
        return [*([chosen] if chosen else []), *folders(home_folder(os.environ))]

    def _path(self, id: str, cwd: str) -> str:
        """Return the path of the session with this id, which belongs to this folder. Raises RpcError."""
        from linnet.acp.library import find
        from linnet.store.file import first_header

        path = find(self._folders(), id)
        head = first_header(path) if path is not None else None
        if path is None or head is None:
            raise RpcError(NOT_FOUND, UNKNOWN.format(id))
        if os.path.isdir(head.cwd):  # A folder that was moved is where the client says.
            check_folder(id, head.cwd, cwd)
        return path

    def _opened(self, settings: "Settings", *, replays: bool = False, named: bool = True) -> Callable[[Raw], None]:
        """Open a session; with `replays`, tell all that was said before. Raises LinnetError."""
        from linnet.acp.client_session import ClientSession
        from linnet.acp.client_work import ClientWork

        settings = self._look(settings)
        model = settings.model
        if not settings.accounts.usable(model.provider) and not settings.known_models.available():
            settings.accounts.require(model.provider)
        assert self._offers is not None
        session = ClientSession(settings.cwd, self._offers, self._peer, self._outlet, self._wake)
        opened = self.factory.open(settings, [session], answerable=True, around=ClientWork(session))
        for remark in opened.remarks:
            say(remark)
        session.begin(opened, settings.permission)
        with self._lock:
            closed = self._closed
            if not closed:
                self._sessions[session.id] = session
        if closed:
            session.close()
            raise LinnetError("the connection has ended")
        if replays:
            session.replay()

        def tell(id: Raw) -> None:
            self._tell_opened(session, id, named=named)
            hand_over("linnet-warm", partial(_warm, opened))  # Not before: what it imports would delay the answer.

        return tell

    def _answer(self, said: Any, id: Raw) -> None:
        self._send(jsonrpc.result(id, said))

    def _tell_opened(self, session: "ClientSession", id: Raw, *, named: bool = False) -> None:
        """Say how a session is that was opened; `named`: with its id, if that is new to the client."""
        from linnet.wire.acp.options import modes

        said: dict[str, Any] = {"modes": modes(session.mode), "configOptions": session.options()}
        self._answer({"sessionId": session.id, **said} if named else said, id)
        session.tell_commands()

    # The connection.

    def warm(self) -> None:
        _ = self.factory
        import linnet.acp.client_session
        import linnet.acp.client_work
        import linnet.runtime.session  # noqa: F401

    def _input_ended(self) -> None:
        pass  # What was sent before is taken first: an answer may be among it.

    def _input_taken(self) -> None:
        with self._lock:
            self._closed = True  # Whoever opens another from here on finds out, and closes it.
        self._peer.close()
        self._cancel_early(lambda each: True)
        for session in list(self._sessions.values()):
            session.end_input()

    @property
    def _is_busy(self) -> bool:
        return bool(self._tasks) or any(each.busy for each in list(self._sessions.values()))

    def _close_sessions(self) -> None:
        with self._lock:
            self._closed = True
        self._peer.close()
        for session in list(self._sessions.values()):
            session.close()


def _warm(session: "Session") -> None:
    try:
        session.warm()
    except Exception as fault:  # Its first run will say what is wrong.
        explained(fault, "what a first run needs could not be made ready")
