"""Encodes events as lines of the pi protocol.

pi's clients rely on more than single events: each start has an end, a turn begins before what is said in it, updates of
a message repeat the message so far. So the encoder remembers what is open.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import UNSET, Raw, UnsetType, structs

from linnet.core import events, messages
from linnet.wire.dialect import Buffers
from linnet.wire.jsonl import encode_lines
from linnet.wire.pi import frames, to_pi
from linnet.wire.pi.asides import Asides, Outside
from linnet.wire.pi.decode import Manner as Manner
from linnet.wire.pi.generations import PI, Generation
from linnet.wire.pi.reply import Reply

NO_TRUNCATION = {"truncation": None, "fullOutputPath": None}
MOST_LINES = 2000
MOST_BYTES = 50 * 1024


class _Running:
    """A tool at work.

    Invariant: `output` has never more than MOST_LINES or MOST_BYTES, so that each update costs at most that much.
    """

    def __init__(self, call: messages.ToolCall) -> None:
        self.name = call.name
        self.args = Raw(encode_lines([call.args])[:-1])  # Every update repeats them: they are encoded once.
        self.output = ""  # The end of what the tool has printed.

    def add(self, text: str) -> None:
        self.output = tail(self.output + text[-MOST_BYTES:])


class PiEncoder:
    """The encoder of one client's session.

    Invariants: what is started is ended, in the order that pi's clients know, whatever events are missing in between;
    and once a job has settled, the encoder remembers nothing, so that what it prints is a function of the events since.
    """

    def __init__(
        self, manner: Manner | None = None, generation: Generation = PI, spelling: to_pi.Words | None = None
    ) -> None:
        self._manner = manner or Manner()
        self._generation = generation
        self._words = spelling or to_pi.Words(generation)
        self._forget()

    def _forget(self) -> None:
        self._in_run = False
        self._in_turn = False
        self._aborted = False  # The job is being cut short by an abort, whatever its last run came to.
        self._ran = False  # A run of this job has ended.
        self._owed = False  # A prompt has begun, and whoever sent it waits for the end of a run.
        self._reply: Reply | None = None  # The one that is open.
        self._usage = b""  # What it has used so far, as a field of an update; empty in generations without.
        self._held: list[frames.Frame] = []  # Messages that come after the end of the last tool.
        self._running: dict[str, _Running] = {}
        self._asides = Asides(self._words)

    def encode(self, batch: Iterable[events.Event]) -> Iterator[Buffers]:
        for event in batch:
            grown = self._grown(event)  # First: nearly all events are of these kinds.
            if grown is not None:
                yield self._update(grown)
                continue
            for frame in self._frames(event):
                yield (encode_lines([frame]),)

    def skip(self, batch: Iterable[events.Event]) -> None:
        for event in batch:
            if self._grown(event) is None:
                self._frames(event)

    def _grown(self, event: events.Event) -> bytes | None:
        """Take in what happened to the open reply, and return it as the end of an update; None for other events."""
        match event:
            case events.TextGrew() | events.CallGrew() | events.ThinkingGrew():
                return self._open_reply.grow(event.index, event.text)
            case events.PartStarted():
                return self._open_reply.start(event)
            case events.PartEnded(index, part):
                return self._open_reply.end(index, part)
            case events.UsageGrew(usage):
                self._set_usage(usage)
                return None
            case _:
                return None

    @property
    def _open_reply(self) -> Reply:
        assert self._reply is not None
        return self._reply

    def _update(self, event: bytes) -> Buffers:
        # The message so far stands in it twice, as in pi. It is joined by whoever writes, not copied here.
        if self._manner.stream == "deltas":
            return (b'{"type":"message_update"' + self._usage + event + b"}}\n",)
        now = self._open_reply.now()
        head = b'{"type":"message_update"' + self._usage + b',"message":'
        return [head, *now, event + b',"partial":', *now, b"}}\n"]

    def _set_usage(self, usage: messages.Usage) -> None:
        if self._generation.usage_in_updates:
            self._usage = b',"usage":' + encode_lines([self._words.usage(usage)])[:-1]

    def _frames(self, event: events.Event) -> Sequence[frames.Frame]:
        match event:
            case events.RunStarted():
                self._in_run, self._in_turn = True, False
                return [frames.AgentStart()]
            case events.JobStarted(kind):
                self._owed = kind == "prompt"
                return []
            case events.JobInterrupted(error):
                self._aborted = not error
                return []
            case events.UserSaid(said):  # Said before StepStarted, but inside of the turn for pi's clients.
                user = self._words.message(said)
                return [*self._turn(), frames.MessageStart(user), frames.MessageEnd(user)]
            case events.StepStarted():
                return self._turn()
            case events.ReplyStarted(api, provider, model, time):
                started = self._words.begun(messages.AssistantMessage((), time, provider, model, api=api))
                self._reply = Reply(encode_lines([started])[:-1], self._generation)
                self._set_usage(messages.Usage())
                return [frames.MessageStart(started)]
            case events.ReplyEnded(reply):
                return [*self._replied(reply), *self._asides.retried(reply)]
            case events.ToolStarted(call):
                one_by_one = self._release() if not self._running else []
                running = self._running[call.id] = _Running(call)
                return [*one_by_one, frames.ToolExecutionStart(call.id, call.name, running.args)]
            case events.ToolProgressed():
                return self._progressed(event)
            case events.ToolReturned(result):
                return [self._returned(result)] if self._generation.ends_as_they_come else []
            case events.ToolFinished(result):
                return self._finished(result)
            case events.StepEnded(reply, results):
                return [*self._release(), self._turn_ended(reply, results)]
            case events.SystemTold(message) if self._generation.system_messages:
                system = self._words.message(message)
                return [*self._turn(), frames.MessageStart(system), frames.MessageEnd(system)]
            case events.Interrupted(reply):  # The turn has ended by now, and pi tells an abort as a reply in a turn.
                return [*self._turn(), *self._replied(reply), self._turn_ended(reply)]
            case events.NoteAdded(note):
                shown = self._words.message(note)
                return [*(self._turn() if self._in_run else ()), frames.MessageStart(shown), frames.MessageEnd(shown)]
            case events.RunEnded():
                return [self._run_ended(event)]
            case events.TextGrew() | events.CallGrew() | events.ThinkingGrew():
                return []  # `_grown` has seen to them, and to the next.
            case events.PartStarted() | events.PartEnded():
                return []
            case events.Settled():
                told = self._settled(event) if event.kind == "prompt" else []
                self._forget()  # After the end was told: that depends on what was open.
                return told
            case _:
                return [] if isinstance(event, events.Internal) else self._outside(event)

    def _outside(self, event: Outside) -> Sequence[frames.Frame]:
        """Return the frames of an event that is not part of a run."""
        if isinstance(event, events.QuestionClosed) and self._manner.shared:
            from linnet.wire.pi.questions import closed  # Most agents ask none.

            return closed(event, shared=True)
        return self._asides.told(event)

    def _turn(self) -> list[frames.Frame]:
        """Return the start of a turn, unless one is open."""
        if self._in_turn:
            return []
        self._in_turn = True
        return [frames.TurnStart()]

    def _replied(self, reply: messages.AssistantMessage) -> list[frames.Frame]:
        """Return the end of a reply, after its start if that was not told: the reply failed before its first word."""
        out: list[frames.Frame] = []
        ended = self._words.assistant(reply)
        if self._reply is None:
            empty = structs.replace(reply, content=(), usage=messages.Usage(), stop="end", error="")
            out.append(frames.MessageStart(ended if self._generation.pending else self._words.assistant(empty)))
        self._reply = None
        return [*out, frames.MessageEnd(ended)]

    def _returned(self, result: messages.ToolResult) -> frames.Frame:
        """Return the end of a tool."""
        self._running.pop(result.call_id, None)
        duration = result.duration if self._generation.durations and result.duration is not None else UNSET
        return frames.ToolExecutionEnd(result.call_id, result.name, self._outcome(result), result.is_error, duration)

    def _finished(self, result: messages.ToolResult) -> list[frames.Frame]:
        """Return the message of a result, which comes after the end of its tool, or of all tools of the reply."""
        shown = self._words.result(result)
        told: list[frames.Frame] = [frames.MessageStart(shown), frames.MessageEnd(shown)]
        if not self._generation.ends_as_they_come:
            return [self._returned(result), *told]
        self._held += told
        return []

    def _release(self) -> list[frames.Frame]:
        """Return the messages that were held, and hold them no more."""
        held, self._held = self._held, []
        return held

    def _turn_ended(
        self, reply: messages.AssistantMessage, results: Iterable[messages.ToolResult] = ()
    ) -> frames.TurnEnd:
        self._in_turn = False
        return frames.TurnEnd(self._words.assistant(reply), [self._words.result(result) for result in results])

    def _settled(self, event: events.Settled) -> list[frames.Frame]:
        cut = event.stop == "aborted" or (self._aborted and self._generation.will_retry)
        aborted = UNSET if self._generation.settled == "bare" else cut
        if self._generation.disposition and event.stop == "end" and not (self._ran or self._in_run):
            return []  # It was handled without a run, and its answer says so.
        over = [frames.AgentSettled(aborted)] if self._manner.settled else []
        return [*self._last_run_ended(event.error if event.stop == "error" else ""), *over]

    def _last_run_ended(self, error: str) -> list[frames.Frame]:
        """Return what ends a run that broke, or that could not begin; nothing for one that ended by itself.

        A prompt that an extension has seen to takes no run. Whoever waits for the end of one is told of an empty run.
        What is open is ended from the inside to the outside: tools, the reply, the turn, the run.
        """
        whole, owed = self._ran and not self._in_run, self._owed and not self._ran and not self._in_run
        if whole or not (error or owed):
            return []
        out: list[frames.Frame] = [] if self._in_run else [frames.AgentStart()]
        for id, running in self._running.items():
            failed = messages.ToolResult(id, running.name, (messages.Text(error),), 0, is_error=True)
            out.append(frames.ToolExecutionEnd(id, running.name, self._outcome(failed), is_error=True))
        out += self._release()
        if self._in_turn:
            reply = messages.AssistantMessage((), 0, "", "", stop="error", error=error)
            out += [*self._replied(reply), self._turn_ended(reply)]
        return [*out, frames.AgentEnd([], self._again(False), to_pi.failure(error) if error else UNSET)]

    def _again(self, again: bool) -> bool | UnsetType:
        return again if self._generation.will_retry else UNSET

    def _run_ended(self, event: events.RunEnded) -> frames.AgentEnd:
        """Return the end of a run, with its error unless the last message says it."""
        self._in_run, self._ran = False, True
        last = event.messages[-1] if event.messages else None
        told = isinstance(last, messages.AssistantMessage) and last.error == event.error
        said = self._words.listed(event.messages)
        error = UNSET if told or not event.error or not self._generation.additions else to_pi.failure(event.error)
        return frames.AgentEnd(said, self._again(event.again), error)

    def _progressed(self, event: events.ToolProgressed) -> Sequence[frames.Frame]:
        running = self._running.get(event.call_id)
        if running is None:
            return []  # It has finished by now.
        running.add(event.text)
        so_far: list[frames.UserBlock] = [frames.Text(running.output)]
        outcome = frames.ToolOutcome(so_far, dict(NO_TRUNCATION) if self._generation.no_details else {})
        return [frames.ToolExecutionUpdate(event.call_id, event.name, running.args, outcome)]

    def _outcome(self, result: messages.ToolResult) -> frames.ToolOutcome | str:
        return self._words.outcome(result)


def tail(text: str) -> str:
    """Return the end of a text: at most MOST_LINES lines and MOST_BYTES bytes, and no half characters."""
    if text.count("\n") > MOST_LINES - 1:
        text = "\n".join(text.split("\n")[-MOST_LINES - text.endswith("\n") :])
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= MOST_BYTES:
        return text
    start = len(data) - MOST_BYTES
    while data[start] & 0xC0 == 0x80:  # In the middle of a character.
        start += 1
    return data[start:].decode("utf-8", "surrogatepass")
