"""Runs one program: feeds what it prints to the state machine of the protocol, and carries out what that decides.

Threads: one reads the program's output (`_serve`); others ask it something and wait for the answer in a queue of their
own; whoever holds the session's lock tells it of events. All of them go through `feed`.
"""

from collections.abc import Callable
from itertools import count
from queue import Empty, SimpleQueue
from signal import Signals
from threading import Condition, Thread
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct

from linnet.errors import Cancelled, Closed
from linnet.extensions.programs import effects, facts, frames, protocol
from linnet.extensions.programs.pipe import DYING, ProgramPipe
from linnet.processes.spawner import PATIENCE

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.extensions.programs.log import ExtensionLog
    from linnet.extensions.programs.manifest import Manifest
    from linnet.processes.process import Processes

LAST_WORDS = 200  # Characters of the last line on stderr.


class Patience(Struct, frozen=True):
    """Seconds, all of them zot's."""

    ready: float = 3.0  # Until a run goes on without it, or ends if it may not.
    idle: float = 0.25  # One that said hello and then nothing for so long is ready.
    call: float = 60.0  # For the answer to a call.
    command: float = 60.0  # For the answer to a command.
    judge: float = 5.0  # For the answer to something that is about to happen.
    end: float = 2.0  # To exit by itself.


class Exchange:
    """One program from its start to its end.

    Invariants: whoever asks is answered once, at the latest when its patience or the program is at its end, or at an
    abort; nobody waits for the program to read.
    """

    def __init__(
        self,
        manifest: "Manifest",
        ack: frames.HelloAck,
        log: "ExtensionLog",
        told: Callable[[effects.Effect], None],
        patience: Patience,
    ) -> None:
        """`told` is called with the effects that are meant for others than the program, without a lock."""
        self.patience = patience
        self.machine = protocol.Protocol(manifest.name, ack)
        """Fed only by `feed`; its fields may be read by any thread."""
        self._manifest = manifest
        self._log = log
        self._told = told
        self._changed = Condition()  # Its lock is the machine's; it is notified after each fact.
        self._waiting: dict[str, SimpleQueue[effects.Outcome | str]] = {}  # By the id of the question.
        self._ids = count(1)
        self._pipe: ProgramPipe | None = None
        self._thread: Thread | None = None
        self._began = self._heard = monotonic()
        self.asking = 0  # The program's questions to the user that are open: it cannot answer before they are answered.

    def start(self, processes: "Processes") -> None:
        """Start the program, and return when it runs, or when the machine was told that it cannot."""
        manifest = self._manifest
        self._log.say(f"starting {manifest.name} {manifest.version}".rstrip())
        try:
            pipe = ProgramPipe(processes, manifest.argv, manifest.folder, self._log)
        except Closed:
            self.feed(facts.Closing())
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            self.feed(facts.NotStarted(f"spawn: {manifest.argv[0]}: {reason}"))
        else:
            self._began = self._heard = monotonic()
            self._pipe = pipe
            self._thread = Thread(target=self._serve, args=(pipe,), name=f"linnet-ext-{manifest.name}", daemon=True)
            self._thread.start()

    def wait_until_ready(self, patience: float, cancel: "Cancel") -> None:
        """Wait until it is ready or gone, `patience` seconds at most, counted from its start. Raises Cancelled."""
        until = self._began + patience
        with cancel.interrupting(self._notify), self._changed:
            while self.machine.phase in ("starting", "greeted") and not cancel.is_set:
                left = until - monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)

    def ask(
        self,
        question: Callable[[str], facts.Fact],
        patience: float,
        cancel: "Cancel",
        progress: Callable[[str], None] = lambda text: None,
    ) -> effects.Outcome:
        """Ask the program, and return what came of it. `question` makes the fact from the id of the question.

        An abort is settled like any other outcome; Cancelled is raised only if it came before the question.
        """
        cancel.check()
        id = f"{next(self._ids):012d}"
        queue: SimpleQueue[effects.Outcome | str] = SimpleQueue()
        self._waiting[id] = queue  # Before it is asked: the answer may be there before `feed` returns.
        self.feed(question(id))
        outcome: effects.Outcome | None = None
        try:
            with cancel.interrupting(lambda: self.feed(facts.Aborted(id))):
                outcome = self._answer(id, queue, patience, progress)
        except Cancelled:
            self.feed(facts.Aborted(id))  # The abort may have come before `interrupting`. Twice does no harm.
            outcome = outcome or self._answer(id, queue, None, lambda text: None)
        except BaseException:
            self.feed(facts.Aborted(id))
            raise
        finally:
            del self._waiting[id]
        return outcome

    def feed(self, fact: facts.Fact) -> None:
        """Feed the machine, and carry out what it decides. Never blocks, but for writing to the log."""
        # Frames and answers go out under the lock, so that their order is the machine's. What is for others does not:
        # they may take locks of their own, and feed more.
        with self._changed:
            outward = [effect for effect in self.machine.feed(fact) if not self._done_inside(effect)]
            self._changed.notify_all()
        for effect in outward:
            match effect:
                case effects.Log(text):
                    self._log.say(text)
                case effects.Kill():
                    if self._pipe is not None:
                        self._pipe.child.kill()
                case _:
                    self._told(effect)

    def close(self, patience: float) -> None:
        """Tell it that it ends, wait `patience` seconds for it to go, and kill what is left. Idempotent."""
        self.feed(facts.Closing())
        if self._pipe is not None and self._thread is not None:
            self._pipe.child.wait(min(patience, self.patience.end))
            self._pipe.child.kill()
            self._thread.join(PATIENCE)
        self._log.close()

    def _done_inside(self, effect: effects.Effect) -> bool:
        """Carry out an effect on the program or on whoever waits, with the lock held. Return False for all others."""
        match effect:
            case effects.Write(frame):
                if self._pipe is not None:
                    self._pipe.send(frames.encode(frame))
            case effects.EndInput():
                if self._pipe is not None:
                    self._pipe.end()
            case effects.Settle(id, outcome):
                self._waiting[id].put(outcome)
            case effects.Progress(id, text):
                self._waiting[id].put(text)
            case _:
                return False
        return True

    def _answer(
        self,
        id: str,
        queue: "SimpleQueue[effects.Outcome | str]",
        patience: float | None,
        progress: Callable[[str], None],
    ) -> effects.Outcome:
        """Wait for the answer, and return it; report progress meanwhile.

        Progress shows that the program is alive, and a question to the user is no fault of its own: both give it more
        time. None is for an answer that is there already, or is about to be.
        """
        while True:
            try:
                item = queue.get(timeout=patience)
            except Empty:
                if not self.asking:
                    patience = None  # The machine settles it now, if the answer has not just come.
                    self.feed(facts.Expired(id))
                continue
            if not isinstance(item, str):
                return item
            progress(item)

    def _serve(self, pipe: ProgramPipe) -> None:
        """Feed what the program prints until it has ended, and then that. Runs in the exchange's thread.

        Whatever happens, its end is fed: one that nobody listens to would be neither there nor gone.
        """
        fault = ""
        try:
            for batch in pipe.batches(self._quiet):
                if not batch:
                    self.feed(facts.Idled())
                    continue
                self._heard = monotonic()
                for line in batch:
                    self.feed(facts.Heard(line))
        except Exception as error:
            fault = f"could not be listened to ({type(error).__name__}: {error})"
            pipe.child.kill()
        code = pipe.child.wait(DYING)
        pipe.close()  # Before its end is told: whoever hears of that finds nothing of it running.
        self.feed(facts.Exited(fault or ended_how(pipe, code)))

    def _quiet(self) -> float | None:
        """Return in how many seconds a program that has said hello counts as ready, if it says nothing more.

        This does not depend on whether anybody still waits for it: it may have said hello when nobody did any more.
        """
        return self._heard + self.patience.idle - monotonic() if self.machine.phase == "greeted" else None

    def _notify(self) -> None:
        """Wake whoever waits for it to be ready."""
        with self._changed:
            self._changed.notify_all()


def ended_how(pipe: ProgramPipe, code: int | None) -> str:
    """Say how a program ended, as the rest of a sentence about it."""
    if pipe.stuck:
        return "was stopped, for it does not read its input"
    if code is None:
        return "closed its output"
    how = f"exited with code {code}" if code >= 0 else f"was ended by {_signal(-code)}"
    said = pipe.child.stderr.strip().rpartition("\n")[2][-LAST_WORDS:]
    return f"{how} ({said})" if said and code else how


def _signal(number: int) -> str:
    """Return the name of a signal."""
    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"
