"""What extensions for pi are told of a session: its events as payloads of pi's. Pure."""

from collections.abc import Iterator
from typing import Any, TypeAlias

from linnet.core import events
from linnet.core.messages import AssistantMessage, Message, ReplyPart, ToolCall, ToolResult
from linnet.core.models import Model, Reasoning
from linnet.extensions.node.pi_words import content, model, spelled, spelled_all

Told: TypeAlias = tuple[str, dict[str, Any]]
"""The name of an event of pi's, and its payload without that."""
UPDATES = frozenset(("message_update", "tool_execution_update"))
"""Events that come for each piece of a reply or of a tool's output."""


class Telling:
    """A fold of a session's events. Invariant: what is started is ended, as the session does.

    Called with the session's lock held: it is the events that keep it in step.
    """

    def __init__(self, model: Model, thinking: Reasoning) -> None:
        self._model = model
        self._thinking = thinking
        self.running = False
        """Whether a run goes on."""
        self._turn = 0
        self._reply: AssistantMessage | None = None
        self._parts: dict[int, list[str]] = {}
        self._kinds: dict[int, events.PartStarted] = {}
        self._running: dict[str, tuple[ToolCall, list[str]]] = {}

    @property
    def replying(self) -> bool:
        """Whether a reply has begun that has not ended."""
        return self._reply is not None

    def tell(self, event: events.Event, updates: bool) -> Iterator[Told]:
        """Yield what extensions are told of this event; of pieces, only if they want `updates`."""
        match event:
            case events.TextGrew() | events.ThinkingGrew() | events.CallGrew() | events.PartStarted():
                if updates:
                    yield from self._grown(event)
            case events.PartEnded(index, part):
                if updates:
                    yield self._part_ended(index, part)
            case events.RunStarted():
                self.running = True
                yield "agent_start", {}
            case events.RunEnded(_, _, messages):
                self.running = False
                yield "agent_end", {"messages": spelled_all(messages)}
            case events.StepStarted(step):
                self._turn = step - 1
                yield "turn_start", {"turnIndex": self._turn}
            case events.StepEnded(reply, results):
                told = {"message": spelled(reply), "toolResults": spelled_all(results)}
                yield "turn_end", {"turnIndex": self._turn, **told}
            case (
                events.UserSaid(message)
                | events.NoteAdded(message)
                | events.BashRan(message)
                | events.SystemTold(message)
            ):
                yield from self._whole(message)
            case events.ReplyStarted(api, provider, name, time):
                self._reply = AssistantMessage((), time, provider, name, api=api)
                self._parts.clear()
                self._kinds.clear()
                yield "message_start", {"message": spelled(self._reply)}
            case events.ReplyEnded(reply) | events.Interrupted(reply):
                if self._reply is None:
                    yield "message_start", {"message": spelled(reply)}
                self._reply = None
                yield "message_end", {"message": spelled(reply)}
            case events.ToolStarted(call):
                self._running[call.id] = call, []
                yield "tool_execution_start", {"toolCallId": call.id, "toolName": call.name, "args": call.args}
            case events.ToolProgressed(call_id, name, text):
                if updates:
                    yield self._progressed(call_id, name, text)
            case events.ToolFinished(result):
                self._running.pop(result.call_id, None)
                yield "tool_execution_end", tool_ended(result)
                yield from self._whole(result)
            case _:
                yield from self._outside(event)

    def _outside(self, event: events.Event) -> Iterator[Told]:
        """Yield what extensions are told of events that are not part of a run."""
        match event:
            case events.ModelSet(chosen):
                before, self._model = self._model, chosen
                if (before.provider, before.id) == (chosen.provider, chosen.id):
                    return
                yield "model_select", {"model": model(chosen), "previousModel": model(before), "source": "set"}
            case events.ThinkingSet(level):
                before_level, self._thinking = self._thinking, level
                if level != before_level:
                    yield "thinking_level_select", {"level": level, "previousLevel": before_level}
            case events.SessionNamed(name):
                yield "session_info_changed", {"name": name}
            case events.Navigated(leaf):
                yield "session_tree", {"newLeafId": leaf, "oldLeafId": None}
            case events.CompactionEnded(reason, result) if result is not None:
                entry = {
                    "type": "compaction",
                    "id": event.id,
                    "summary": result.summary.text,
                    "firstKeptEntryId": result.first_kept,
                    "tokensBefore": result.summary.tokens_before,
                    "fromHook": False,
                }
                told = {"compactionEntry": entry, "fromExtension": False, "reason": reason}
                yield "session_compact", {**told, "willRetry": event.will_retry}
            case events.CompactionEnded(reason):
                failed = {"reason": reason, "aborted": event.aborted, "errorMessage": event.error}
                yield "session_compact_failed", {**failed, "fromExtension": False}
            case events.Settled("prompt", stop):
                yield "agent_settled", {"aborted": stop == "aborted"}
            case _:
                pass

    def _whole(self, message: Message) -> Iterator[Told]:
        told = spelled(message)
        yield "message_start", {"message": told}
        yield "message_end", {"message": told}

    def _grown(
        self, event: events.TextGrew | events.ThinkingGrew | events.CallGrew | events.PartStarted
    ) -> Iterator[Told]:
        at = event.index
        if isinstance(event, events.PartStarted):
            self._parts[at] = []
            self._kinds[at] = event
            kind = _SPELLED[event.kind]
            more = {"id": event.call_id, "toolName": event.name} if event.kind == "tool_call" else {}
            yield self._update({"type": f"{kind}_start", "contentIndex": at, **more})
            return
        self._parts.setdefault(at, []).append(event.text)
        kind = _GREW[type(event)]
        yield self._update({"type": f"{kind}_delta", "contentIndex": at, "delta": event.text})

    def _part_ended(self, index: int, part: ReplyPart) -> Told:
        reply = AssistantMessage((part,), 0, "", "")
        [block] = spelled(reply)["content"]
        kind = {"toolCall": "toolcall"}.get(block["type"], block["type"])
        told = {"toolCall": block} if kind == "toolcall" else {"content": block.get(kind, "")}
        return self._update({"type": f"{kind}_end", "contentIndex": index, **told})

    def _update(self, update: dict[str, Any]) -> Told:
        message: dict[str, Any] = spelled(self._reply) if self._reply is not None else {"role": "assistant"}
        message["content"] = [self._block(index) for index in sorted(self._parts)]
        return "message_update", {"message": message, "assistantMessageEvent": update}

    def _block(self, index: int) -> dict[str, Any]:
        text, started = "".join(self._parts[index]), self._kinds.get(index)
        match started.kind if started is not None else "text":
            case "thinking":
                return {"type": "thinking", "thinking": text}
            case "tool_call":
                assert started is not None
                return {"type": "toolCall", "id": started.call_id, "name": started.name, "arguments": {}}
            case _:
                return {"type": "text", "text": text}

    def _progressed(self, call_id: str, name: str, text: str) -> Told:
        call, output = self._running.get(call_id) or (ToolCall(call_id, name, {}), [])
        output.append(text)
        partial = {"content": [{"type": "text", "text": "".join(output)}], "details": {}}
        told = {"toolCallId": call_id, "toolName": name, "args": call.args, "partialResult": partial}
        return "tool_execution_update", told


def tool_ended(result: ToolResult) -> dict[str, Any]:
    """Return what extensions are told of a call that has its result."""
    outcome = {"content": content(result.content), "details": result.details}
    ended = {"toolCallId": result.call_id, "toolName": result.name, "isError": result.is_error}
    return {**ended, "result": outcome}


_SPELLED = {"text": "text", "thinking": "thinking", "tool_call": "toolcall"}
_GREW: dict[type, str] = {events.TextGrew: "text", events.ThinkingGrew: "thinking", events.CallGrew: "toolcall"}
