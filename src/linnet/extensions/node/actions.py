"""What extensions for pi do to their session, and what they ask about it: each method of a `call` frame."""

from collections import Counter
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

import msgspec

from linnet.concurrency.cancel import CancelToken
from linnet.core import commands
from linnet.core.messages import Note, ToolCall
from linnet.core.models import LEVELS
from linnet.core.questions import Chosen, Confirm, Confirmed, EditText, EnterText, Question, Select
from linnet.core.ui_events import EditorTextSet, Notified, Shown, StatusSet, TitleSet, WidgetSet
from linnet.errors import BadInput, Cancelled, LinnetError
from linnet.extensions.node import frames, pi_words
from linnet.extensions.node.link import in_thread
from linnet.logs import warn

if TYPE_CHECKING:
    from linnet.extensions.host import Delivery, PiHost, Saying
    from linnet.extensions.node.carrier import Carrier

_LEVELS = {"info": "info", "success": "success", "warning": "warning", "error": "error"}
_DELIVERIES: "dict[str, Delivery]" = {"steer": "steer", "followUp": "follow_up", "nextTurn": "next"}
_PLACEMENTS = {"belowEditor": "below_editor"}
_SLOW = frozenset(
    (
        *("ask", "complete", "compact", "waitForIdle", "runTool", "executeTool"),
        *("newSession", "fork", "switchSession", "navigateTree", "reload"),
    )
)
"""What takes its time, and has a thread of its own. All else is answered in the thread that reads."""


class Actions:
    """Invariant: each call with an id is answered once, also after an abort, and when something breaks."""

    def __init__(self, host: "PiHost", carrier: "Carrier") -> None:
        self._host = host
        self._carrier = carrier
        self._lock = Lock()
        self._open: dict[int, CancelToken] = {}
        self._closing = False
        self._said: Counter[str] = Counter()  # What extensions said as the user, and nobody has heard yet.

    def take(self, frame: frames.Call | frames.Withdraw) -> None:
        """Carry out a call, or give one up. Called in the thread that reads, and never waits."""
        if isinstance(frame, frames.Withdraw):
            with self._lock:
                token = self._open.get(frame.id)
            if token is not None:
                token.set()
            return
        if frame.method not in _SLOW:
            self._answer(frame, CancelToken())
            return
        token = CancelToken()
        with self._lock:
            self._open[frame.id] = token
            closing = self._closing
        if closing:
            token.set()
        try:
            in_thread(lambda: self._answer(frame, token))
        except LinnetError as error:
            self._carrier.link.send(frames.Return(frame.id, error=str(error)))

    def close(self) -> None:
        """Give up all that goes on."""
        with self._lock:
            self._closing = True
            tokens = list(self._open.values())
        for token in tokens:
            token.set()

    def source(self, text: str) -> str:
        """Return where an input comes from: an extension, if one said just this, or whoever drives the agent."""
        with self._lock:
            if self._said[text] > 0:
                self._said[text] -= 1
                return "extension"
        return "rpc" if self._host.mode == "rpc" else "interactive"

    def prompt_options(self) -> dict[str, Any]:
        """Return what pi's extensions know of how the system prompt is made."""
        tools = [tool for tool in self._host.tools() if tool.active]
        offered = {tool.name: tool for each in self._carrier.extensions for tool in each.offers.tools}
        names = [tool.spec.name for tool in tools]
        return {
            "cwd": self._host.cwd,
            "selectedTools": names,
            "hiddenTools": [],
            "toolSnippets": {n: offered[n].prompt_snippet for n in names if n in offered and offered[n].prompt_snippet},
            "toolGuidelines": {},
            "promptGuidelines": [],
            "sections": {},
            "contextFiles": [{"path": path, "content": text} for path, text in self._host.context_files()],
            "skills": [{"name": name, "description": text} for name, text in self._host.skills()],
        }

    def _answer(self, frame: frames.Call, cancel: CancelToken) -> None:
        """Carry out a call, and send what came of it."""
        try:
            method: Callable[..., Any] | None = getattr(self, f"_do_{_snake(frame.method)}", None)
            if method is None:
                raise BadInput(f"linnet has no {frame.method}")
            answer = frames.Return(frame.id, method(frame, frame.args, cancel))
        except Cancelled:
            answer = frames.Return(frame.id)
        except LinnetError as error:
            answer = frames.Return(frame.id, error=str(error))
        except Exception as fault:
            warn("linnet.extensions", f"{frame.method} of an extension broke: {type(fault).__name__}: {fault}")
            answer = frames.Return(frame.id, error=f"{type(fault).__name__}: {fault}")
        finally:
            with self._lock:
                self._open.pop(frame.id, None)
        if frame.id:
            self._carrier.link.send(answer)

    def _owner(self, frame: frames.Call) -> str:
        return self._carrier.extensions[frame.extension].name if frame.extension >= 0 else "extension"

    def _do_show(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> None:
        owner = self._owner(frame)
        shown: Shown
        match args.get("method"):
            case "notify":
                level: Any = _LEVELS.get(args.get("notifyType") or "info", "info")
                shown = Notified(owner, args["message"], level)
            case "setStatus":
                shown = StatusSet(owner, str(args.get("key")), args.get("text"))
            case "setWidget":
                lines = args.get("lines")
                placement: Any = _PLACEMENTS.get(args.get("placement") or "", "above_editor")
                shown = WidgetSet(owner, str(args.get("key")), None if lines is None else tuple(lines), placement)
            case "setTitle":
                shown = TitleSet(owner, args["title"])
            case _:
                shown = EditorTextSet(owner, args.get("text") or "")
        self._host.show(shown)

    def _do_ask(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> Any:
        link = self._carrier.link
        timeout = args.get("timeout")
        seconds = timeout / 1000 if isinstance(timeout, int | float) and timeout > 0 else None
        with self._lock:
            link.asking += 1
        try:
            reply = self._host.ask(_question(args), cancel, seconds)
        finally:
            with self._lock:
                link.asking -= 1
        match reply:
            case Chosen(text):
                return {"value": text}
            case Confirmed(yes):
                return {"confirmed": yes}
            case _:
                return None

    def _do_send_message(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> None:
        parts = pi_words.read_content(args.get("content") or [])
        kind = str(args.get("kind") or "extension")
        note = Note(kind, parts, 0, bool(args.get("display", True)), args.get("details"))
        deliver = _DELIVERIES.get(args.get("deliver") or "", "")
        self._host.add(note, deliver, begin=bool(args.get("trigger")))

    def _do_send_user_message(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> None:
        text, images = pi_words.joined(pi_words.read_content(args.get("content") or []))
        deliver = args.get("deliver")
        if deliver not in ("steer", "followUp") and self._streaming():
            self._host.failed("<runtime>", "send_user_message", _BUSY)
            return
        how: Saying = "steer" if deliver == "steer" else "follow_up"
        with self._lock:
            self._said[text] += 1
        self._host.say_as_user(text, images, how, expand=bool(args.get("expand")))

    def _streaming(self) -> bool:
        """Return whether the agent works on a prompt: a move that is about to end is no reason to refuse one."""
        state = self._host.query(commands.GetState())
        return isinstance(state, commands.AgentState) and state.streaming

    def _do_append_entry(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> None:
        self._host.keep(str(args["customType"]), args.get("data"))

    def _do_set_label(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> None:
        self._host.label(str(args["entryId"]), args.get("label") or "")

    def _do_set_session_name(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> None:
        self._host.set(commands.SetSessionName(args["name"]))

    def _do_state(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> dict[str, Any]:
        state = self._host.query(commands.GetState())
        assert isinstance(state, commands.AgentState)
        return {
            "model": pi_words.model(state.model),
            "thinkingLevel": state.thinking,
            "idle": not (state.busy or state.streaming),
            "pending": state.pending,
            "sessionFile": state.session_file,
            "sessionId": state.session_id,
            "sessionName": state.session_name,
            "cwd": state.cwd,
            "trusted": self._host.trusted,
        }

    def _do_entries(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> dict[str, Any]:
        session = self._host.session_id
        if not self._host.keeps_entries:
            return {"whole": True, "session": session, **self._unkept()}
        known = args.get("session") == session
        try:
            found = self._host.query(commands.GetEntries(args.get("since") if known else None))
        except BadInput:
            known, found = False, self._host.query(commands.GetEntries(None))
        assert isinstance(found, commands.EntryList)
        entries = [msgspec.Raw(line) for line in found.lines]
        return {"whole": not known, "session": session, "entries": entries, "leafId": found.leaf}

    def _unkept(self) -> dict[str, Any]:
        """Return the conversation of an agent that keeps no session, as if it were entries of one."""
        found = self._host.query(commands.GetMessages())
        assert isinstance(found, commands.Transcript)
        entries: list[dict[str, Any]] = []
        for at, message in enumerate(pi_words.spelled_all(found.messages)):
            before = entries[-1]["id"] if entries else None
            entries.append({"type": "message", "id": f"m{at}", "parentId": before, "message": message})
        return {"entries": entries, "leafId": entries[-1]["id"] if entries else None}

    def _do_tools(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> list[dict[str, Any]]:
        return [
            {
                "name": tool.spec.name,
                "description": tool.spec.description,
                "parameters": tool.spec.schema,
                "exposure": "direct",
                "active": tool.active,
                "sourceInfo": {
                    "path": tool.owner or f"<builtin:{tool.spec.name}>",
                    "source": "local" if tool.owner else "builtin",
                    "scope": "temporary",
                    "origin": "top-level",
                },
            }
            for tool in self._host.tools()
        ]

    def _do_set_active_tools(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> None:
        self._host.activate(args["names"])

    def _do_commands(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> list[dict[str, Any]]:
        found = self._host.query(commands.GetCommands())
        assert isinstance(found, commands.CommandList)
        return [pi_words.command(each) for each in found.commands]

    def _do_resources(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> None:
        self._host.discovered(args.get("skillPaths") or (), args.get("promptPaths") or ())

    def _do_settings(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> dict[str, Any]:
        return {}

    def _do_context_usage(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> dict[str, Any]:
        from linnet.core.context.token_estimate import context_tokens

        window = self._host.model.context_window
        found = self._host.query(commands.GetMessages())
        assert isinstance(found, commands.Transcript)
        tokens = context_tokens(found.messages)
        return {"tokens": tokens, "contextWindow": window, "percent": tokens / window * 100 if window else None}

    def _do_system_prompt(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> str:
        return self._host.system_prompt()

    def _do_system_prompt_options(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> Any:
        return self.prompt_options()

    def _do_scoped_models(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> list[Any]:
        return []

    def _do_models(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> list[dict[str, Any]]:
        return [pi_words.model(each) for each in self._host.models(usable=bool(args.get("available")))]

    def _do_model(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> dict[str, Any] | None:
        found = self._host.find_model(str(args.get("provider")), str(args.get("id")))
        return None if found is None else pi_words.model(found)

    def _do_usable(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> bool:
        return self._host.usable(str(args.get("provider")))

    def _do_set_thinking_level(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> None:
        level: Any = args.get("level")
        self._host.set(commands.SetThinking(level if level in LEVELS else "off"))

    def _do_set_model(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> bool:
        provider = str(args["provider"])
        if not self._host.usable(provider):
            return False
        self._host.set(commands.SetModel(str(args["id"]), provider))
        return True

    def _do_complete(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> dict[str, Any]:
        provider, id = str(args["provider"]), str(args["id"])
        messages = pi_words.read_all(args.get("messages") or [])
        reply = self._host.complete(provider, id, str(args.get("systemPrompt") or ""), messages, cancel)
        return pi_words.spelled(reply)

    def _do_abort(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> None:
        self._host.abort()

    def _do_shutdown(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> None:
        self._host.shut_down()

    def _do_wait_for_idle(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> None:
        self._host.wait_idle(cancel)

    def _do_compact(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> Any:
        done = self._host.run(commands.Compact(args.get("instructions") or "", at_once=True), cancel)
        assert isinstance(done, commands.Compacted)
        result = done.result
        return {
            "summary": result.summary.text,
            "firstKeptEntryId": result.first_kept,
            "tokensBefore": result.summary.tokens_before,
        }

    def _do_new_session(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> Any:
        return self._moved(commands.NewSession(args.get("parent")), cancel)

    def _do_switch_session(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> Any:
        return self._moved(commands.SwitchSession(str(args["path"])), cancel)

    def _do_fork(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> Any:
        entry = str(args["entryId"])
        if args.get("position") == "at":
            self._host.run(commands.Navigate(entry), cancel)
            return self._moved(commands.CloneSession(), cancel)
        return self._moved(commands.Branch(entry), cancel)

    def _do_navigate_tree(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> Any:
        if args.get("summarize") or args.get("label"):
            warn("linnet.extensions", "navigateTree makes no summary of the branch that it leaves, and no label")
        return self._moved(commands.Navigate(str(args["targetId"])), cancel)

    def _do_reload(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> None:
        self._host.run(commands.Reload(), cancel)

    def _moved(self, move: commands.Move, cancel: CancelToken) -> dict[str, Any]:
        done: Any = self._host.run(move, cancel)
        return {"cancelled": bool(done.cancelled), "session": self._host.session_id}

    def _do_own_tool(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> dict[str, Any]:
        spec = self._host.own_tool(str(args["name"]))
        return {"name": spec.name, "description": spec.description, "parameters": spec.schema}

    def _do_run_tool(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> dict[str, Any]:
        call = ToolCall("extension", str(args["name"]), args.get("args") or {})
        return _returned(self._host.run_own_tool(call, str(args.get("cwd") or self._host.cwd), cancel))

    def _do_execute_tool(self, frame: frames.Call, args: dict[str, Any], cancel: CancelToken) -> dict[str, Any]:
        call = ToolCall("extension", str(args["name"]), args.get("args") or {})
        return {"result": _returned(self._host.run_tool(call, cancel))}


_BUSY = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."


def _returned(output: Any) -> dict[str, Any]:
    """Return what a tool of linnet's returned, in pi's words."""
    told: dict[str, Any] = {"content": pi_words.content(output.content), "isError": output.is_error}
    if output.details is not None:
        told["details"] = output.details
    return told


def _question(args: dict[str, Any]) -> Question:
    """Return the question that an extension asks."""
    title = str(args.get("title") or "")
    match args.get("method"):
        case "select":
            return Select(title, tuple(map(str, args.get("options") or ())))
        case "confirm":
            return Confirm(title, str(args.get("message") or ""))
        case "editor":
            return EditText(title, str(args.get("prefill") or ""))
        case _:
            return EnterText(title, str(args.get("placeholder") or ""))


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
