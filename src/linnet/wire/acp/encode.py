"""Events of a session as updates, in order, and the same told again of a history. Pure."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

from msgspec import UNSET

from linnet.core import events, messages, ui_events
from linnet.core.messages import Text, Thinking, ToolCall, ToolResult
from linnet.wire.acp import calls, frames
from linnet.wire.acp.frames import CallFields, Update

TAIL = 12 * 1024  # Letters of what a tool has printed that are shown while it runs.
LONGEST_TITLE = 80


class Encoder:
    """Tells what happens in one session.

    Invariants: a call is told before anything else about it, and is not left pending or in progress when the prompt has
    ended; what is told of a message has the id that it has when it is told again.
    """

    def __init__(self, cwd: str, *, notices: bool = False, compactions: bool = False, terminals: bool = False) -> None:
        """`notices` and `compactions` are what the client can be told besides. `terminals`: it shows what commands
        print in terminals.
        """
        self._terminals = terminals
        self._cwd = cwd
        self._notices = notices
        self._compactions = compactions
        self._reply = ""  # The id of the message that is being written, or was last.
        self._open: dict[str, tuple[str, ToolCall | None]] = {}  # Calls by their vendor's ids, with ours.
        self._output: dict[str, str] = {}
        self._running: set[str] = set()  # Calls that the gate let pass.
        self._embedded: dict[str, str] = {}  # Calls whose output a terminal of the client's shows, with its id.
        self._compaction = 0
        self.window = 0  # Of the model that is used.
        self.titled = False  # The session has a title.

    def encode(self, batch: Iterable[events.Event]) -> list[Update]:
        """Return what the client is told of these events."""
        return [update for event in batch for update in self._told(event)]

    def shown(self, call: ToolCall) -> CallFields:
        """Return a call as somebody is shown it who is asked about it."""
        return calls.known(self.id_of(call.id), call, self._cwd, "pending")

    def id_of(self, call: str) -> str:
        """Return our id of a call that is open."""
        return self._open.get(call, (call, None))[0]

    def began(self, call: str) -> list[Update]:
        """Return what is told when the gate let a call pass."""
        self._running.add(call)
        return [frames.CallUpdate(tool_call_id=self.id_of(call), status="in_progress")]

    def embed(self, call: str, terminal: str) -> list[Update]:
        """Return what is told when a terminal of the client's shows the output of a call."""
        self._embedded[call] = terminal
        return [frames.CallUpdate(tool_call_id=self.id_of(call), content=[frames.Terminal(terminal)])]

    def _told(self, event: events.Event) -> Sequence[Update]:
        match event:
            case events.TextGrew(text=text):
                return [frames.AgentChunk(frames.TextBlock(text), self._reply)] if text else ()
            case events.ThinkingGrew(text=text):
                return [frames.ThoughtChunk(frames.TextBlock(text), self._reply)] if text else ()
            case events.ReplyStarted(id=id):
                self._reply = id
            case events.PartStarted(kind="tool_call", call_id=id, name=name):
                return self._begun(id, name)
            case events.PartEnded(part=ToolCall() as call):
                return self._known(call)
            case events.ReplyEnded(message, total):
                return [*self._ended_reply(message, event.id), self._usage(message, total)]
            case events.ToolProgressed(id, text=text):
                return self._printed(id, text)
            case events.ToolReturned(result) | events.ToolFinished(result):
                return self._finished(result)
            case events.UserSaid(message) if not self.titled:
                return self._titled(message)
            case events.SessionNamed(name):
                self.titled = True
                return [frames.SessionUpdate(name)]
            case events.ModelSet(model):
                self.window = model.context_window
            case events.PermissionSet(mode):
                return [frames.ModeUpdate(mode)]
            case ui_events.Displayed(text=text, id=id):
                return [frames.AgentChunk(frames.TextBlock(text), id)] if text else ()
            case events.Settled():
                left, self._open = list(self._open.values()), {}
                self._running.clear()
                self._output.clear()
                self._embedded.clear()
                return [frames.CallUpdate(tool_call_id=id, status="failed") for id, _ in left]
            case events.CompactionStarted() | events.CompactionEnded() if self._compactions:
                return self._compacted(event)
            case _:
                return self._noticed(event) if self._notices else ()
        return ()

    def _begun(self, id: str, name: str) -> list[Update]:
        """Return what is told when a model begins to write a call. One that an earlier attempt left open failed. The
        second of one id in a reply is shown as the first: they could not be told apart.
        """
        ours, before = calls.call_id(self._reply, id), self._open.get(id)
        if before is not None and before[0] == ours:
            return []
        self._open[id] = ours, None
        left = [frames.CallUpdate(tool_call_id=before[0], status="failed")] if before is not None else []
        return [*left, self._called(calls.begun(ours, name), name)]

    def _known(self, call: ToolCall) -> list[Update]:
        ours = self._open[call.id][0] if call.id in self._open else calls.call_id(self._reply, call.id)
        fresh = call.id not in self._open
        self._open[call.id] = ours, call
        fields = calls.known(ours, call, self._cwd, "pending" if fresh else UNSET)
        return [self._called(fields, call.name) if fresh else frames.changed(fields)]

    def _called(self, fields: CallFields, name: str) -> Update:
        return frames.called(calls.in_terminal(fields, self._cwd) if self._terminals and name == "bash" else fields)

    def _shows_terminal(self, call: ToolCall | None) -> bool:
        return self._terminals and call is not None and call.name == "bash"

    def _ended_reply(self, message: messages.AssistantMessage, id: str) -> list[Update]:
        """Return what of a reply was not told: its calls, if it did not come in pieces."""
        self._reply = self._reply or id
        return [update for call in message.calls if call.id not in self._open for update in self._known(call)]

    def _usage(self, message: messages.AssistantMessage, total: messages.Usage) -> Update:
        cost = frames.Cost(total.cost.total, "USD") if total.cost_known else UNSET
        return frames.UsageUpdate(message.usage.total, self.window, cost)

    def _printed(self, id: str, text: str) -> list[Update]:
        if id in self._embedded or id not in self._open:
            return []
        (ours, call), first = self._open[id], id not in self._output
        self._output[id] = (self._output.get(id, "") + text)[-TAIL:]
        if self._shows_terminal(call):
            return [frames.changed(calls.printed_more(ours, text, first=first))]
        return [frames.changed(calls.printed(ours, self._output[id]))]

    def _finished(self, result: ToolResult) -> list[Update]:
        if result.call_id not in self._open:  # It was told when it returned.
            return []
        ours, call = self._open.pop(result.call_id)
        shown = self._output.pop(result.call_id, None) is not None and self._shows_terminal(call)
        embedded = result.call_id in self._embedded
        if shown:
            return [frames.changed(calls.exited(calls.ended(ours, call, result, self._cwd, embedded=True)))]
        return [frames.changed(calls.ended(ours, call, result, self._cwd, embedded=embedded))]

    def _titled(self, message: messages.UserMessage) -> list[Update]:
        self.titled = True
        title = title_of(messages.texts(message.content))
        return [frames.SessionUpdate(title)] if title else []

    def _compacted(self, event: events.CompactionStarted | events.CompactionEnded) -> list[Update]:
        if isinstance(event, events.CompactionStarted):
            self._compaction += 1
            return [frames.CompactionUpdate(f"compaction-{self._compaction}", "in_progress")]
        id = f"compaction-{self._compaction}"
        if event.aborted:
            return [frames.CompactionUpdate(id, "cancelled")]
        if event.result is None:
            return [frames.CompactionUpdate(id, "failed", event.error or UNSET)]
        return [frames.CompactionUpdate(id, "completed")]

    def _noticed(self, event: events.Event) -> list[Update]:
        match event:
            case events.RetryScheduled(attempt, most, delay, error):
                return [frames.Notice("warning", f"{error}; trying again ({attempt} of {most}) in {delay / 1000:g} s")]
            case events.SessionFailed(path, error):
                return [frames.Notice("error", f"{path} cannot be written: {error}")]
            case events.HookFailed(path, name, error):
                return [frames.Notice("warning", f"{path}: {name}: {error}")]
            case events.ProjectUntrusted(path):
                return [frames.Notice("info", f"what {path} brings is not used until it is trusted: linnet trust")]
            case ui_events.Notified(message=message, level=level) if message:
                severity: Any = level if level in ("info", "warning", "error") else "info"
                return [frames.Notice(severity, message)]
            case _:
                return []

    def again(
        self, history: Iterable[tuple[str, messages.Message]], opened: Iterable[events.Event] = ()
    ) -> Iterator[Update]:
        """Yield all that was said, thought and done, with the ids that it had; and what of it goes on, from the events
        of its `Opening`, as it was told by now.
        """
        results = yield from self._said_before(history)
        for event in opened:
            match event:
                case events.PartStarted(kind="tool_call", call_id=id, name=name):
                    yield self._called(calls.begun(self.id_of(id), name), name)
                case events.PartEnded(part=ToolCall() as call):
                    yield frames.changed(calls.known(self.id_of(call.id), call, self._cwd))
                case events.TextGrew(text=text) if text:
                    yield frames.AgentChunk(frames.TextBlock(text), self._reply)
                case events.ThinkingGrew(text=text) if text:
                    yield frames.ThoughtChunk(frames.TextBlock(text), self._reply)
                case events.ToolReturned(result) if result.call_id in results:  # Others before it are not over.
                    ours, call = results.pop(result.call_id)
                    yield frames.changed(calls.ended(ours, call, result, self._cwd))
                case _:
                    pass
        for id, (ours, call) in results.items():
            if id not in self._open:  # It was cut off.
                yield frames.CallUpdate(tool_call_id=ours, status="failed")
            elif id in self._embedded:
                yield from self.embed(id, self._embedded[id])
            elif id in self._output and self._shows_terminal(call):
                yield frames.changed(calls.printed_more(ours, self._output[id], first=True))
            elif id in self._output:
                yield frames.changed(calls.printed(ours, self._output[id]))
            if id in self._open and id in self._running:
                yield from self.began(id)

    def _said_before(
        self, history: Iterable[tuple[str, messages.Message]]
    ) -> Generator[Update, None, dict[str, tuple[str, ToolCall]]]:
        """Yield all of a history as updates. Returns the calls that have no result, by their vendors' ids."""
        results: dict[str, tuple[str, ToolCall]] = {}
        for id, message in history:
            match message:
                case messages.UserMessage(content):
                    yield from (frames.UserChunk(_block(part), id) for part in content)
                case messages.AssistantMessage():
                    for part in message.content:
                        if isinstance(part, Text) and part.text:
                            yield frames.AgentChunk(frames.TextBlock(part.text), id)
                        elif isinstance(part, Thinking) and part.text:
                            yield frames.ThoughtChunk(frames.TextBlock(part.text), id)
                        elif isinstance(part, ToolCall):
                            ours = calls.call_id(id, part.id)
                            results[part.id] = ours, part
                            fields = calls.known(ours, part, self._cwd, "pending")
                            is_open = part.id in self._open
                            yield self._called(fields, part.name) if is_open else frames.called(fields)
                case messages.ToolResult(call_id):
                    if call_id in results:
                        ours, call = results.pop(call_id)
                        yield frames.changed(calls.ended(ours, call, message, self._cwd))
                case messages.Note(content=content, display=True):
                    yield from (frames.AgentChunk(_block(part), id) for part in content)
                case _:
                    pass
        return results


def title_of(text: str) -> str:
    """Return the first words of a text, as the title of a session."""
    line = " ".join(text.split("\n", 1)[0].split())
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1] + "…"


def _block(part: messages.UserPart) -> frames.Block:
    if isinstance(part, Text):
        return frames.TextBlock(part.text)
    return frames.ImageBlock(part.data, part.mime_type) if part.data else frames.Link(part.url, part.url)
