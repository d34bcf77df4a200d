"""The protocol between linnet and one program as a state machine: facts in, effects out. Pure.

It never waits, so that any order of lines, questions, deadlines, aborts and deaths can be tested.

A program says hello, registers tools and commands, subscribes, and says that it is ready; from then on it is told what
happens and is asked: to carry out a call, to judge something that is about to happen, to run a command. Whoever asks
waits elsewhere; here every question gets exactly one answer, whatever becomes of the program.
"""

import re
from typing import Any, Literal, assert_never

from msgspec import UNSET, Struct

from linnet.core.toolspec import MOST_TOOLS, ToolSpec, excess
from linnet.extensions.lines import Oversized
from linnet.extensions.programs import frames, tool_results
from linnet.extensions.programs.effects import (
    Allow,
    Ask,
    Become,
    CommandDone,
    CommandFailed,
    Deny,
    Effect,
    EndInput,
    Kill,
    Log,
    Notify,
    Offer,
    OfferCommand,
    Outcome,
    Progress,
    Report,
    Settle,
    Withdraw,
    Write,
)
from linnet.extensions.programs.facts import (
    Aborted,
    Answered,
    CallAsked,
    Closing,
    CommandAsked,
    Exited,
    Expired,
    Fact,
    GuardAsked,
    Happened,
    Heard,
    Idled,
    NotStarted,
    Taken,
)

EVENTS = ("session_start", "turn_start", "turn_end", "tool_call", "assistant_message")  # Those of zot.
INTERCEPTS = ("tool_call", "turn_start", "assistant_message")  # Those of zot.
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # What every vendor accepts.
COMMAND_NAME = re.compile(r"[^\s/]{1,64}")
MOST_REPORTS = 10  # Reports of frames that make no sense; what comes after that is in the log.
_ANSWERED = re.compile(rb'(?<!\\)"id"\s*:\s*"(\d{1,20})"')


class _Asked(Struct, frozen=True):
    """A question that waits for its answer."""

    kind: Literal["tool", "guard", "command"]
    name: str  # The tool's, the command's or the event's.


class Protocol:
    """The state of one program. Whoever feeds it holds a lock; its public fields may be read without one.

    Invariants: every question is settled exactly once, at once if the program is gone; what it judges is allowed
    only if it said so itself, in a frame that makes sense; nothing is written before its hello, after `EndInput`, or
    after its end; a frame that zot does not have is written only to a program that said it knows linnet's.
    """

    def __init__(self, name: str, ack: frames.HelloAck) -> None:
        """`ack` is how its hello is answered; `ack.linnet` has the events and interceptions that are linnet's own."""
        self.name = name
        self.phase: Literal["starting", "greeted", "ready", "closing", "gone"] = "starting"
        self.events: frozenset[str] = frozenset()  # Those that it subscribes to.
        self.intercepts: frozenset[str] = frozenset()  # Those that it wants to be asked about.
        self.tools: dict[str, ToolSpec] = {}
        self.commands: dict[str, str] = {}  # Descriptions, by name.
        self.knows_linnet = False  # Whether it said that it knows linnet's own frames.
        self.how = ""  # Why it can be asked nothing any more.
        self._ack = ack
        self._waiting: dict[str, _Asked] = {}
        self._asks: set[str] = set()  # Its questions to the user that are open.
        self._reports = 0

    def feed(self, fact: Fact) -> list[Effect]:
        """Take a fact, and return what is to be done, in this order."""
        match fact:
            case Heard(line):
                return self._heard(line) if self.phase != "gone" else []
            case Exited(how):
                return self._exited(how) if self.phase != "gone" else []
            case NotStarted(why):
                return [*self._end("was not started"), Report("load", why)] if self.phase == "starting" else []
            case Idled():
                note = Log("no ready frame; auto-readying after idle (legacy SDK?)")
                return [note, *self._ready()] if self.phase == "greeted" else []
            case Taken(tool, owner):
                if self.tools.pop(tool, None) is None:
                    return []
                return self._tell("register_tool", f'the tool "{tool}" is refused: {owner} has one of that name')
            case CallAsked(id, tool, args):
                if tool not in self.tools or self.phase == "gone":
                    why = f'no extension registered for tool "{tool}"'
                    return [Settle(id, tool_results.failure(self.name, tool, why))]
                return self._asked(id, _Asked("tool", tool), frames.ToolCall(id, tool, args))
            case GuardAsked(id, about):
                fields = {name: getattr(about, name) for name in frames.Occasion.__struct_fields__}
                return self._asked(id, _Asked("guard", about.event), frames.EventIntercept(id=id, **fields))
            case CommandAsked(id, name, args):
                return self._asked(id, _Asked("command", name), frames.CommandInvoked(id, name, args))
            case Expired(id):
                return [*self._cancel(id), *self._fail(id, f"timeout waiting for {self._path(id)}")]
            case Aborted(id):
                if id not in self._waiting:
                    return []
                return [*self._cancel(id), *self._fail(id, "context canceled"), *self._withdraw()]
            case Happened(what):
                told = self.phase == "ready" and what.event in self.events
                return [Write(_event(what))] if told else []
            case Answered(answer):
                self._asks.discard(answer.id)
                return [Write(answer)] if self.phase in ("greeted", "ready") else []
            case Closing():
                return self._close() if self.phase not in ("closing", "gone") else []
            case _:
                assert_never(fact)

    def _asked(self, id: str, asked: _Asked, frame: frames.Outgoing) -> list[Effect]:
        """Send a question, or fail it at once if the program cannot be asked."""
        self._waiting[id] = asked
        if self.phase in ("greeted", "ready"):
            return [Write(frame)]
        return self._fail(id, self.how or "it is not running")

    def _heard(self, line: bytes | Oversized) -> list[Effect]:
        """Take a line that the program printed."""
        frame = _too_long(line) if isinstance(line, Oversized) else frames.decode(line)
        if self.phase == "starting":
            return self._greet(frame)
        if isinstance(frame, frames.Unusable):
            return self._unusable(frame, line)
        match frame:
            case frames.Hello():
                return self._tell("frame", 'unknown frame type "hello": it was said already')
            case frames.RegisterTool():
                return self._register(frame)
            case frames.RegisterCommand():
                return self._register_command(frame)
            case frames.Subscribe(events, intercept):
                return self._subscribe(events or [], intercept or [])
            case frames.Ready():
                return self._ready()
            case frames.ToolResult(id, content, is_error):
                asked = self._take(id, "tool")
                if asked is None:
                    return [Log(f"a tool_result that nobody waits for: {id}")]
                output = tool_results.output(self.name, asked.name, content or (), is_error=bool(is_error))
                return [Settle(id, output)]
            case frames.InterceptResponse():
                return self._judged(frame)
            case frames.CommandResponse():
                return self._responded(frame)
            case frames.Notify(level, message):
                return [Notify(level or "", message or "")]
            case frames.ToolProgress(id, text):
                asked = self._waiting.get(id)
                return [Progress(id, text)] if asked is not None and asked.kind == "tool" else []
            case frames.Ask(id):
                self._asks.add(id)
                return [Ask(frame)]
            case frames.PanelRender() | frames.PanelClose() | frames.ShutdownAck():
                return []
            case _:
                assert_never(frame)

    def _greet(self, frame: frames.Incoming | frames.Unusable) -> list[Effect]:
        """Take the first line: it must be a hello, or else the program does not speak this protocol, and is killed."""
        match frame:
            case frames.Hello(name) if name:
                self.phase = "greeted"
                self.knows_linnet = frames.LINNET in (frame.capabilities or ())
                return [Write(self._ack)]
            case frames.Hello():
                why = "parse hello: name is required"
            case frames.Unusable(type, _, error):
                why = f"parse hello: {error}" if type in ("", "hello") else f'first frame must be hello (got "{type}")'
            case _:
                why = f'first frame must be hello (got "{frame.__struct_config__.tag}")'
        return [*self._end(why), Report("load", why), Kill()]

    def _register(self, frame: frames.RegisterTool) -> list[Effect]:
        """Offer a tool, or report why not."""
        name, schema = frame.name or "", frame.schema
        if not TOOL_NAME.fullmatch(name):
            problem = "a tool's name is 1 to 64 letters, digits, _ and -"
        elif not isinstance(schema, dict) or schema.get("type", "object") != "object":
            problem = "its schema must be a JSON schema object of type object"
        elif name in self.tools:
            problem = "it is registered already"
        elif len(self.tools) >= MOST_TOOLS:
            problem = f"more than {MOST_TOOLS} are not accepted"
        elif too_much := excess(frame.description or "", schema):
            problem = too_much
        else:
            spec = ToolSpec(name, frame.description or "", {"type": "object", "properties": {}, **schema})
            self.tools[name] = spec
            return [Offer(spec)]
        return self._tell("register_tool", f'the tool "{name}" is refused: {problem}')

    def _register_command(self, frame: frames.RegisterCommand) -> list[Effect]:
        """Offer a command, or report why not."""
        name = (frame.name or "").removeprefix("/")
        if not COMMAND_NAME.fullmatch(name):
            problem = "a command's name is 1 to 64 characters, without spaces and /"
        elif name in self.commands:
            problem = "it is registered already"
        elif len(self.commands) >= MOST_TOOLS:
            problem = f"more than {MOST_TOOLS} are not accepted"
        elif too_much := excess(frame.description or "", {}):
            problem = too_much
        else:
            self.commands[name] = frame.description or ""
            return [OfferCommand(name, self.commands[name])]
        return self._tell("register_command", f'the command "{name}" is refused: {problem}')

    def _subscribe(self, events: list[str], intercept: list[str]) -> list[Effect]:
        """Subscribe it to what there is; the rest is dropped, as zot does. What is linnet's own is for who knows it."""
        more = self._ack.linnet if self.knows_linnet else None
        # Other threads read these sets meanwhile, so they are replaced and not changed.
        self.events |= {*EVENTS, *(more.events if more else ())} & {*events}
        self.intercepts |= {*INTERCEPTS, *(more.intercept if more else ())} & {*intercept}
        return []

    def _ready(self) -> list[Effect]:
        """Note that it is ready, and tell it of the session."""
        if self.phase != "greeted":
            return []
        self.phase = "ready"
        return [Become(), *self.feed(Happened(frames.Occasion(event="session_start")))]

    def _judged(self, frame: frames.InterceptResponse) -> list[Effect]:
        """Settle what it judged; what makes no sense is a denial."""
        asked = self._waiting.get(frame.id)
        if asked is None or asked.kind != "guard":
            return self._tell("event_intercept_response", f'an answer to something that was not asked: "{frame.id}"')
        if frame.block:
            del self._waiting[frame.id]
            return [Settle(frame.id, Deny(frame.reason or _BLOCKED.get(asked.name, "blocked by extension guard")))]
        args: dict[str, Any] | None = None
        if frame.modified_args is not UNSET and asked.name == "tool_call":
            if not isinstance(frame.modified_args, dict | None):
                return self._fail(frame.id, "its modified_args are no JSON object")
            args = frame.modified_args or {}  # Null erases them.
        del self._waiting[frame.id]
        output = None
        if frame.content is not None and asked.name == "tool_result":
            output = tool_results.output(self.name, asked.name, frame.content, is_error=bool(frame.is_error))
        return [Settle(frame.id, Allow(args, frame.replace_text or "", output))]

    def _responded(self, frame: frames.CommandResponse) -> list[Effect]:
        """Settle a command that it ran."""
        if self._take(frame.id, "command") is None:
            return [Log(f"a command_response that nobody waits for: {frame.id}")]
        outcome: Outcome
        match frame.action or "noop":
            case _ if frame.error:
                outcome = CommandFailed(frame.error)
            case "prompt":
                outcome = CommandDone("prompt", frame.prompt or "")
            case "insert":
                outcome = CommandDone("insert", frame.insert or "")
            case "display":
                outcome = CommandDone("display", frame.display or "")
            case "open_panel":
                panel = frame.open_panel or frames.Panel()
                lines = [panel.title or "", *(panel.lines or ()), panel.footer or ""]
                outcome = CommandDone("display", "\n".join(line for line in lines if line))
            case "noop":
                outcome = CommandDone("noop")
            case other:
                outcome = CommandFailed(f'unknown action "{other}"')
        return [Settle(frame.id, outcome)]

    def _unusable(self, frame: frames.Unusable, line: bytes | Oversized) -> list[Effect]:
        """Report a line that is no frame. If it was meant as an answer, fail the question, so that nobody waits on."""
        told = self._tell(frame.type or "frame", frame.why)
        if frame.id in self._waiting:
            return [*told, *self._fail(frame.id, frame.why)]
        if isinstance(line, Oversized):  # It may be the answer to any of them.
            return [*told, *self._fail_all(frame.why)]
        return told

    def _cancel(self, id: str) -> list[Effect]:
        """Tell a program that knows linnet's frames that nobody waits for this answer any more."""
        tell = id in self._waiting and self.knows_linnet and self.phase in ("greeted", "ready")
        return [Write(frames.Cancel(id))] if tell else []

    def _exited(self, how: str) -> list[Effect]:
        """End it, and report that if it was not told to go."""
        before = self.phase
        effects = self._end(how)
        if before == "starting":
            effects.append(Report("load", f"extension {how} before hello"))
        elif before != "closing":
            effects.append(Report("exit", f"extension {how}; what it offered is gone, and what it guards is denied"))
        return effects

    def _close(self) -> list[Effect]:
        """Fail what is open, say goodbye if it said hello, and end its input."""
        greeted = self.phase != "starting"
        self.phase, self.how = "closing", "it is being closed"
        goodbye: list[Effect] = [Write(frames.Shutdown())] if greeted else []
        return [*self._fail_all(self.how), *self._withdraw(), *goodbye, EndInput()]

    def _end(self, how: str) -> list[Effect]:
        """Note that it is gone, and fail what is open."""
        self.phase, self.how = "gone", f"the extension {how}"
        return [*self._fail_all(self.how), *self._withdraw()]

    def _fail_all(self, why: str) -> list[Effect]:
        return [effect for id in list(self._waiting) for effect in self._fail(id, why)]

    def _fail(self, id: str, why: str) -> list[Effect]:
        """Settle a question that waits, if it does, with the outcome that can do no harm: a guard's is a denial."""
        asked = self._waiting.pop(id, None)
        if asked is None:
            return []
        match asked.kind:
            case "tool":
                return [Settle(id, tool_results.failure(self.name, asked.name, why))]
            case "command":
                return [Settle(id, CommandFailed(f"extension {self.name}/{asked.name} failed: {why}"))]
            case "guard":
                return [Settle(id, Deny(why, failed=True))]

    def _withdraw(self) -> list[Effect]:
        return [Withdraw()] if self._asks else []

    def _take(self, id: str, kind: str) -> _Asked | None:
        """Return the question with this id, which waits no longer; None if there is none of this kind."""
        asked = self._waiting.get(id)
        return self._waiting.pop(id) if asked is not None and asked.kind == kind else None

    def _tell(self, event: str, error: str) -> list[Effect]:
        """Log an error, and report it to the client as long as there are not too many."""
        self._reports += 1
        if self._reports > MOST_REPORTS:
            return [Log(error)]
        last = self._reports == MOST_REPORTS
        return [Log(error), Report(event, f"{error} (from here on only in its log)" if last else error)]

    def _path(self, id: str) -> str:
        """Return what a question is about, such as `extension/tool`."""
        asked = self._waiting.get(id)
        return f"{self.name}/{asked.name}" if asked is not None else self.name


_BLOCKED = {"tool_call": "tool call refused by extension guard", "turn_start": "turn blocked by extension guard"}


def _too_long(line: Oversized) -> frames.Unusable:
    """Return what is known of a line that was too long: perhaps the id of the question that it answers."""
    found = _ANSWERED.search(line.head) or _ANSWERED.search(line.tail)
    return frames.Unusable(
        "", found[1].decode() if found else "", f"a line of {line.size >> 20} MiB, which is too long"
    )


def _event(what: frames.Occasion) -> frames.Event:
    return frames.Event(**{name: getattr(what, name) for name in frames.Occasion.__struct_fields__})
