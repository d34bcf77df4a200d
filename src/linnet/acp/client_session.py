"""One session of an editor's: its prompts, one after another, its questions, and what it is told."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, get_args

from msgspec import UNSET, Raw
from msgspec.structs import replace

from linnet.acp.peer import Peer
from linnet.acp.turns import Quiet, Turn, rpc_error
from linnet.core import commands
from linnet.core.events import Event, QuestionAsked, QuestionClosed
from linnet.core.loop.opening import Opening
from linnet.core.messages import Image
from linnet.core.questions import Given, Permit, Question
from linnet.core.setting_names import Mode
from linnet.errors import LinnetError
from linnet.runtime.listener import Listener
from linnet.server.terminal import say
from linnet.wire.acp import asking, calls, frames, jsonrpc, options
from linnet.wire.acp.encode import Encoder
from linnet.wire.acp.jsonrpc import RpcError
from linnet.wire.acp.params import ClientCapabilities

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.runtime.session import Session
    from linnet.server.outlet import Outlet

COMPACT = frames.Command("compact", "Summarize the conversation so far", frames.Hint("what to keep in mind"))


class ClientSession(Listener):
    """Invariants: one prompt at a time is at work, and the others wait for it; each is answered once, after everything
    that is told of it. A question that is closed, for whatever reason, is answered by nobody.

    `_lock` guards the prompts and the questions. It may be taken with the session's lock held, and never the other way
    round.
    """

    def __init__(
        self,
        cwd: str,
        offers: ClientCapabilities,
        peer: Peer,
        outlet: "Outlet",
        changed: Callable[[], None],
    ) -> None:
        """`changed` is called when nothing is left to do, or the session can do nothing any more."""
        self.cwd = cwd
        self.id = ""
        self.offers = offers
        self.peer = peer
        self.mode: Mode = "ask"
        self._outlet = outlet
        self._changed = changed
        self._encoder = Encoder(
            cwd, notices=offers.notices, compactions=offers.compactions, terminals=offers.shows_output
        )
        self._opening = Opening()
        self._lock = RLock()
        self._turns: deque[Turn] = deque()  # The first one is at work.
        self._asked: dict[str, int] = {}  # Questions that are open, with the numbers of our requests.
        self._shown_as: dict[str, frames.CallFields] = {}  # Open questions that are shown as calls.
        self._told_commands = False  # The client has been told what can be typed, in a turn.
        self._closed = False
        self.fault: LinnetError | None = None

    def begin(self, session: "Session", mode: Mode) -> None:
        """Take over a session that was opened with this as a listener."""
        self.session = session
        self.id = session.id
        self.mode = mode
        self._encoder.window = session.model.context_window
        self._encoder.titled = bool(session.name)

    # What it is told.

    def hear(self, events: Sequence[Event]) -> None:
        self._opening.apply(events)
        for event in events:
            if isinstance(event, QuestionClosed):
                self._withdraw(event.id, answered=event.how == "answered")
        self.tell(self._encoder.encode(events))
        for event in events:
            if isinstance(event, QuestionAsked):
                self._ask(event)

    def tell(self, updates: Sequence[frames.Update]) -> None:
        """Send updates, in this order."""
        if updates:
            line = b"".join(jsonrpc.note("session/update", frames.Told(self.id, each)) for each in updates)
            self._outlet.write([[line]], size=len(line))

    def pace(self, cancel: "Cancel") -> None:
        self._outlet.pace(cancel)

    def is_behind(self) -> bool:
        return self._outlet.is_behind

    def warned(self, sentence: str) -> None:
        say(sentence)

    def broke(self, error: LinnetError) -> None:
        self.fault = error
        self._changed()

    def idle(self) -> None:
        self._changed()

    def began(self, call: str) -> None:
        """Tell that the gate let a call pass."""
        with self.session.still:
            self.tell(self._encoder.began(call))

    def embed(self, call: str, terminal: str) -> None:
        """Tell that a terminal of the client's shows a call."""
        with self.session.still:
            self.tell(self._encoder.embed(call, terminal))

    def replay(self) -> None:
        """Tell all that was said and done before, and what of it goes on."""
        with self.session.still:
            history = self.session.history()
            batch: list[frames.Update] = []
            for update in self._encoder.again(history, self._opening.kept):
                self._encoder.titled = True
                batch.append(update)
                if len(batch) == 100:
                    self.tell(batch)
                    batch = []
            self.tell([*batch, *map(frames.called, self._shown_as.values())])

    def tell_commands(self) -> None:
        """Tell what can be typed, when extensions are loaded."""

        def told(answer: commands.Answer) -> None:
            assert isinstance(answer, commands.CommandList)
            listed = [
                frames.Command(each.name, each.description or each.name, frames.Hint(each.hint or "arguments"))
                for each in answer.commands
            ]
            taken = any(each.name == COMPACT.name for each in listed)
            self.tell([frames.Commands([*listed, *(() if taken else (COMPACT,))])])
            self._has_compact = not taken

        self.session.submit(commands.GetCommands(), Quiet(told))

    _has_compact = True

    # What it is asked for.

    def prompt(self, id: Raw, text: str, images: tuple[Image, ...]) -> None:
        """Have a prompt answered in its turn."""
        name, _, rest = text.strip().partition(" ")
        command: commands.Prompt | commands.Compact = commands.Prompt(text, images)
        if name == f"/{COMPACT.name}" and self._has_compact and not images:
            command = commands.Compact(rest.strip())
        with self._lock:
            turn = Turn(self, id, command)
            self._turns.append(turn)
            first = len(self._turns) == 1
        if first:
            self._start(turn)

    def cancel(self, id: Raw | None = None) -> None:
        """End the prompt with this id, or all, and then what an extension began by itself, too. What waits is answered
        at once, what is at work when it has ended.
        """
        with self._lock:
            chosen = [each for each in self._turns if id is None or bytes(each.id) == bytes(id)]
            for turn in chosen:
                turn.cancelled = True
            working = [each for each in chosen if self._turns and each is self._turns[0]]
            waiting = [each for each in chosen if each not in working]
        for turn in waiting:
            self.ended(turn, "cancelled")
        if working:
            self._interrupt(working[0])
        if id is None:
            self.session.submit(commands.Abort(), Quiet())

    @property
    def busy(self) -> bool:
        """Return whether a prompt is still to be answered, or something else goes on."""
        return bool(self._turns) or self.session.busy

    def ended(self, turn: Turn, stop: str, error: LinnetError | None = None) -> None:
        """Answer a prompt, and have the next one begin. Called under the session's lock, mostly."""
        with self._lock:
            if turn.answered:
                return
            turn.answered = True
            first = self._turns[0] is turn
            self._turns.remove(turn)
            following = self._turns[0] if first and self._turns else None
        if first and turn.cancelled:
            self._give_up()
        if turn.cancelled or error is None:
            line = jsonrpc.result(turn.id, {"stopReason": "cancelled" if turn.cancelled else stop})
        else:
            failed = rpc_error(error)
            line = jsonrpc.refusal(turn.id, failed.code, str(failed), failed.data)
        self._outlet.write([[line]], size=len(line))
        if following is not None:
            from linnet.runtime.error_report import hand_over  # Not here: the session's lock is held.

            hand_over("linnet-acp", partial(self._start, following))
        self._changed()

    def _start(self, turn: Turn) -> None:
        if not self._told_commands:
            self._told_commands = True
            self.tell_commands()
        if self._closed:
            turn.cancelled = True
        if turn.is_cancelled():
            self.ended(turn, "cancelled")
            return
        turn.number = self.session.submit(turn.command, turn)
        if turn.is_cancelled():  # Meanwhile, when there was nothing to interrupt.
            self._interrupt(turn)

    def _interrupt(self, turn: Turn) -> None:
        number = turn.number
        if number is not None and not turn.answered:
            self.session.abort(number)

    def set_mode(self, mode: str) -> None:
        """Choose a mode. Raises RpcError."""
        if mode not in get_args(Mode):
            raise RpcError(jsonrpc.INVALID_PARAMS, f"there is no mode {mode!r}; choose {', '.join(get_args(Mode))}")
        chosen: Any = mode
        self.do(commands.SetPermission(chosen))
        self.mode = chosen
        self.tell([frames.OptionUpdate(self.options())])

    def set_option(self, name: str, value: Any) -> list[frames.Option]:
        """Set an option, and return all. Raises RpcError."""
        found = next((each for each in self.options() if each.id == name), None)
        if found is None:
            raise RpcError(jsonrpc.INVALID_PARAMS, f"there is no option {name!r}")
        if not isinstance(value, str) or all(each.value != value for each in found.options):
            raise RpcError(jsonrpc.INVALID_PARAMS, f"{name} cannot be {value!r}")
        if name == "mode":
            self.set_mode(value)
        elif name == "model":
            provider, _, model = value.partition("/")
            self.do(commands.SetModel(model, provider))
        else:
            level: Any = value
            self.do(commands.SetThinking(level))
        return self.options()

    def options(self) -> list[frames.Option]:
        """Return all options. Raises RpcError."""
        state, models = self.do(commands.GetState()), self.do(commands.GetModels(everywhere=True))
        levels = self.do(commands.GetThinkingLevels())
        assert isinstance(state, commands.AgentState)
        assert isinstance(models, commands.ModelList)
        assert isinstance(levels, commands.ThinkingLevels)
        return options.options(self.mode, state.model, models.models, state.thinking, levels.levels)

    def do(self, command: commands.Setting | commands.Query) -> commands.Answer:
        """Carry out a command that is answered at once. Raises RpcError."""
        try:
            if isinstance(command, commands.Setting):
                return self.session.set_now(command)
            return self.session.answer_now(command)
        except LinnetError as error:
            raise rpc_error(error) from None

    def end_input(self) -> None:
        """Take note that the client is gone: its prompts are cancelled."""
        self.session.end_input()
        self.cancel()
        self.session.stop()

    def close(self) -> None:
        """Cancel what goes on, and free everything. Blocks until that is done. Idempotent."""
        self._closed = True
        self.cancel()
        self.session.close()
        for turn in list(self._turns):
            turn.cancelled = True
            self.ended(turn, "cancelled")

    # What it asks.

    def _ask(self, event: QuestionAsked) -> None:
        """Put a question to the user. Called under the session's lock."""
        question = event.question
        if isinstance(question, Permit):
            asked = asking.permission(self.id, self._shown(question), reasons=self.offers.forms)
            self._request(event.id, "session/request_permission", asked, partial(self._permitted, event.id, question))
            return
        form = asking.form(self.id, question) if self.offers.forms else None
        if form is not None:
            self._request(event.id, "elicitation/create", form, partial(self._filled, event.id, question))
            return
        call = calls.question(event.id, question)
        choice = asking.options(self.id, call, question)
        if choice is None:
            self._later(event.id, asking.NO)
        else:
            self.tell([frames.called(call)])
            with self._lock:
                self._shown_as[event.id] = call
            self._request(event.id, "session/request_permission", choice, partial(self._picked, event.id, question))

    def _shown(self, question: Permit) -> frames.CallFields:
        """Return the call that is asked about; with what it will change in words, where that is not known better."""
        shown = self._encoder.shown(question.call)
        made = question.call.args.get("content") if question.call.name == "write" else None
        if (
            isinstance(made, str)
            and shown.locations
            and question.preview.startswith(f"{question.call.args['path']} (new)")
        ):
            return replace(shown, content=[frames.Diff(shown.locations[0].path, made, None)])
        if shown.content is UNSET and question.preview and question.call.name != "bash":
            return replace(shown, content=[frames.Content(frames.TextBlock(question.preview))])
        return shown

    def _request(self, id: str, method: str, params: Any, then: Callable[[jsonrpc.Response], None]) -> None:
        with self._lock:  # Whoever hears the answer at once finds it here.
            self._asked[id] = self.peer.ask(method, params, then)

    def _withdraw(self, id: str, *, answered: bool = False) -> None:
        """Take a question back from the client, if it has not answered it."""
        with self._lock:
            number, call = self._asked.pop(id, None), self._shown_as.pop(id, None)
        if number is not None:
            self.peer.withdraw(number)
        if call is not None:
            status: Any = "completed" if answered else "failed"
            self.tell([frames.CallUpdate(tool_call_id=call.tool_call_id, status=status)])

    def _give_up(self) -> None:
        """Take all questions back: an extension may notice only later that it asked in vain."""
        for id in list(self._asked):
            self._withdraw(id)
            self._later(id, asking.NO)

    def _permitted(self, id: str, question: Permit, answer: jsonrpc.Response) -> None:
        option = "" if answer.error else asking.permitted(answer.result)
        if option != asking.WHY:
            self._give(id, asking.given(option))
            return
        with self._lock:
            if id not in self._asked:
                return
        form = asking.reason_form(self.id, self._encoder.id_of(question.call.id))
        self._request(id, "elicitation/create", form, lambda said: self._give(id, asking.given(option, _reason(said))))

    def _filled(self, id: str, question: Question, answer: jsonrpc.Response) -> None:
        self._give(id, asking.NO if answer.error else asking.filled(question, answer.result))

    def _picked(self, id: str, question: Question, answer: jsonrpc.Response) -> None:
        self._give(id, asking.NO if answer.error else asking.picked(question, answer.result))

    def _give(self, id: str, given: Given) -> None:
        """Answer a question, if it is still open."""
        with self._lock:
            self._asked.pop(id, None)
        self.session.submit(commands.AnswerQuestion(id, given), Quiet())

    def _later(self, id: str, given: Given) -> None:
        """Answer a question that was asked just now, with the session's lock held: whoever asked waits for it."""
        from linnet.runtime.error_report import hand_over

        hand_over("linnet-acp", partial(self._give, id, given))


def _reason(answer: jsonrpc.Response) -> str:
    said = asking.text_of(answer.result)
    return said if isinstance(said, str) else ""
