"""The Extension that is a program: translates hooks and events into frames for it, and what it says into actions."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from linnet import __version__
from linnet.concurrency.cancel import CancelToken
from linnet.core.extensions import extension_events, hooks
from linnet.core.questions import Chosen, Confirm, Confirmed, EditText, EnterText, Question, Select
from linnet.core.ui_events import Displayed, EditorTextSet, Notified
from linnet.errors import Cancelled, LinnetError
from linnet.extensions.extension import ExtensionCommand
from linnet.extensions.loader import tell_failure
from linnet.extensions.programs import effects, facts, frames
from linnet.extensions.programs.exchange import Exchange, Patience
from linnet.extensions.programs.log import ExtensionLog
from linnet.extensions.programs.occasions import MORE_EVENTS, MORE_INTERCEPTS, asked, decision, occasions, sources
from linnet.extensions.programs.tools import ProgramTools

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.core.slash import Location
    from linnet.core.ui_events import Level
    from linnet.extensions.host import Host
    from linnet.extensions.programs.manifest import Manifest
    from linnet.processes.process import Processes
    from linnet.tools.toolset import Toolset

ZOT_VERSION = "0.1.62"  # The zot whose frames these are.
MOST_QUESTIONS = 8
_LEVELS: "dict[str, Level]" = {"success": "success", "warn": "warning", "warning": "warning", "error": "error"}


class Program:
    """An Extension. Nothing is started before `start`.

    It is never restarted: what a program that died guarded is denied, and what it offered is gone, until extensions are
    loaded again.
    """

    providers = ()
    replaces_tools = False

    def __init__(
        self,
        manifest: "Manifest",
        location: "Location",
        host: "Host",
        log: ExtensionLog,
        patience: Patience = Patience(),  # noqa: B008 (frozen)
        *,
        required: bool = False,
    ) -> None:
        """`required` says that nothing goes on without it; then `wait_ready` raises what is wrong with it."""
        self.name = manifest.name
        self.path = manifest.folder
        self.location = location
        self._host = host
        self._required = required
        self._late = False  # Whether it was reported that it is not ready in time.
        self._problem = ""  # Why it was not loaded, if it is required.
        self._open: set[CancelToken] = set()  # Questions of its to the user, and what withdraws each.
        model = host.model
        offers = frames.Offers(__version__, events=MORE_EVENTS, intercept=MORE_INTERCEPTS)
        ack = frames.HelloAck(
            ZOT_VERSION, model.provider, model.id, host.cwd, manifest.folder, manifest.folder, linnet=offers
        )
        self._exchange = Exchange(manifest, ack, log, self._told, patience)
        self.tools: Toolset = ProgramTools(self._exchange)

    def start(self, processes: "Processes") -> None:
        """Start the program. That it cannot be started is reported, or raised by `wait_ready` if it is required."""
        self._exchange.start(processes)

    def wait_ready(self, patience: float, hurry: "Cancel") -> None:
        """Wait until it is ready, but no longer than either patience. If it has not said hello then, that is reported,
        and it joins when it is ready. If it is required and has not said hello, or is gone, this raises TimeoutError or
        LinnetError.
        """
        patience = min(patience, self._exchange.patience.ready)
        try:
            self._exchange.wait_until_ready(patience, hurry)
        except Cancelled:
            return  # Whoever is in a hurry does not go on by this one's word; it is waited for again.
        machine = self._exchange.machine
        if self._required and machine.phase == "starting":
            raise TimeoutError(f"it has said nothing for {patience:g} s")
        if self._required and machine.phase == "gone":
            raise LinnetError(self._problem or machine.how)
        if machine.phase == "starting" and not self._late:
            self._late = True
            why = f"has said nothing for {patience:g} s; the run goes on without it until it does"
            self._told(effects.Report("load", why))

    @property
    def commands(self) -> Sequence[ExtensionCommand]:
        """The commands that it has registered by now; none when it is gone."""
        machine = self._exchange.machine
        gone = machine.phase in ("closing", "gone")
        return () if gone else [ExtensionCommand(name, text) for name, text in list(machine.commands.items())]

    @property
    def asked(self) -> Collection[hooks.Name]:
        """The hooks that it intercepts, also when it is gone: a guard that cannot be asked says no."""
        intercepts = self._exchange.machine.intercepts
        return [kind.name for kind in hooks.HOOKS if kind.name in intercepts] if intercepts else ()

    @property
    def told(self) -> Collection[extension_events.Name]:
        """The events that it subscribes to, and the end of the session, at which it is to go."""
        return {*sources(self._exchange.machine.events), "session_shutdown"}

    def ask(self, event: hooks.Hook, cancel: "Cancel", patience: float) -> hooks.Decision | None:
        """Ask it, and return what it decides. Raises LinnetError if it fails to answer, and Cancelled."""
        about = asked(event)
        if about is None:
            return None
        exchange = self._exchange
        verdict = exchange.ask(
            lambda number: facts.GuardAsked(number, about), min(patience, exchange.patience.judge), cancel
        )
        cancel.check()
        assert isinstance(verdict, effects.Allow | effects.Deny)
        if isinstance(verdict, effects.Deny) and verdict.failed:
            raise LinnetError(verdict.reason)
        return decision(event, verdict)

    def tell(self, event: extension_events.Observed) -> None:
        """Send it the frames of an event, if it subscribes to them. Returns at once."""
        if isinstance(event, extension_events.SessionEnded):
            self._exchange.feed(facts.Closing())
        for occasion in occasions(event):
            self._exchange.feed(facts.Happened(occasion))

    def run_command(self, name: str, arguments: str, cancel: "Cancel") -> None:
        """Have it run a command, and do what it answers: prompt, fill the editor, or show something."""
        exchange = self._exchange
        done = exchange.ask(
            lambda number: facts.CommandAsked(number, name, arguments), exchange.patience.command, cancel
        )
        cancel.check()
        match done:
            case effects.CommandFailed(why):
                raise LinnetError(why)
            case effects.CommandDone("prompt", text):
                self._host.say(text, "prompt")
            case effects.CommandDone("insert", text):
                self._host.show(EditorTextSet(self.name, text))
            case effects.CommandDone("display", text):
                self._host.show(Displayed(self.name, text))
            case _:
                pass

    def close(self, patience: float) -> None:
        """End the program, and all it started."""
        self._exchange.close(patience)

    def _told(self, effect: effects.Effect) -> None:
        """Carry out an effect that is meant for the session, in whichever thread fed the fact."""
        match effect:
            case effects.Notify(level, message):
                self._host.show(Notified(self.name, message, _LEVELS.get(level, "info")))
            case effects.Report("load", error) if self._required:
                self._problem = error
            case effects.Report("load", error):
                tell_failure(self.path, error)
                self._host.failed(self.path, "load", error)
            case effects.Report(event, error):
                self._host.failed(self.path, event, error)
            case effects.Offer(spec):
                if owner := self._host.owner(spec.name, self.path):
                    self._exchange.feed(facts.Taken(spec.name, owner))
            case effects.Ask(question):
                self._put(question)
            case effects.Withdraw():
                for withdrawal in list(self._open):
                    withdrawal.set()
            case _:
                pass

    def _put(self, frame: frames.Ask) -> None:
        """Put a question of its to the user, in a thread of its own: the answer may take its time."""
        question = _question(frame)
        if question is None or len(self._open) >= MOST_QUESTIONS:
            why = f'unknown method "{frame.method}"' if question is None else "too many questions at once"
            self._host.failed(self.path, "ask", why)
            self._exchange.feed(facts.Answered(frames.Answer(frame.id, cancelled=True)))
            return
        withdrawal = CancelToken()
        self._open.add(withdrawal)
        self._exchange.asking = len(self._open)
        Thread(target=self._ask, args=(frame.id, question, withdrawal), name="linnet-ext-ask", daemon=True).start()

    def _ask(self, id: str, question: Question, withdrawal: CancelToken) -> None:
        """Wait for the user's answer, and send it to the program; without one, that it is cancelled."""
        answer = frames.Answer(id, cancelled=True)
        with suppress(Cancelled, LinnetError):
            match self._host.ask(question, withdrawal):
                case Chosen(text):
                    answer = frames.Answer(id, value=text)
                case Confirmed(yes):
                    answer = frames.Answer(id, confirmed=yes)
                case _:
                    pass
        self._open.discard(withdrawal)
        self._exchange.asking = len(self._open)
        self._exchange.feed(facts.Answered(answer))


def _question(frame: frames.Ask) -> Question | None:
    """Return the question that a frame asks; None if there is no such method, or nothing to choose from."""
    match frame.method:
        case "confirm":
            return Confirm(frame.title, frame.message or "")
        case "select" if frame.options:
            return Select(frame.title, tuple(frame.options))
        case "input":
            return EnterText(frame.title, frame.placeholder or "")
        case "editor":
            return EditText(frame.title, frame.prefill or "")
        case _:
            return None
