"""One program while it runs: its pipes, the machine that says what passes through them, and whoever waits for it."""

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
from linnet.extensions.programs.pipe import ProgramPipe
from linnet.processes.spawner import PATIENCE

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.extensions.programs.log import ExtensionLog
    from linnet.extensions.programs.manifest import Manifest
    from linnet.processes.process import Processes

LAST_WORDS = 200
DYING = 0.3  # How long it may take until a program that has closed its output is seen to have ended.


class Patience(Struct, frozen=True):
    """Seconds, all of them zot's. `ready`: until a run goes on without it, or ends if it may not. `idle`: one that said
    hello and then nothing for so long is ready. `call`, `command` and `judge`: for an answer. `end`: to exit by itself.
    """

    ready: float = 3.0
    idle: float = 0.25
    call: float = 60.0
    command: float = 60.0
    judge: float = 5.0
    end: float = 2.0


class Exchange:
    """Invariants: whoever asks is answered once, at the latest when its patience or the program is at its end, or at an
    abort; nobody waits for the program to read. `told` takes what is meant for others, and is called without a lock.
    """

    def __init__(
        self,
        manifest: "Manifest",
        ack: frames.HelloAck,
        log: "ExtensionLog",
        told: Callable[[effects.Effect], None],
        patience: Patience,
    ) -> None:
        self.patience = patience
        self.machine = protocol.Protocol(manifest.name, ack)
        self._manifest = manifest
        self._log = log
        self._told = told
        self._changed = Condition()  # Its lock is the machine's.
        self._waiting: dict[str, SimpleQueue[effects.Outcome | str]] = {}
        self._ids = count(1)
        self._pipe: ProgramPipe | None = None
        self._thread: Thread | None = None
        self._began = self._heard = monotonic()
        self.asking = 0  # Questions to the user that are open: the program cannot answer before they are.

    def start(self, processes: "Processes") -> None:
        """Returns when the program runs, or when it is known that it cannot."""
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
        """As long as patience lasts, counted from its start. Raises Cancelled."""
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
        """Ask it, and return what came of it. An abort is an answer too; Cancelled is raised only if it came before."""
        cancel.check()
        id = f"{next(self._ids):012d}"
        queue: SimpleQueue[effects.Outcome | str] = SimpleQueue()
        self._waiting[id] = queue
        self.feed(question(id))
        outcome: effects.Outcome | None = None
        try:
            with cancel.interrupting(lambda: self.feed(facts.Aborted(id))):
                outcome = self._answer(id, queue, patience, progress)
        except Cancelled:
            self.feed(facts.Aborted(id))  # If it came before anybody could be told of it.
            outcome = outcome or self._answer(id, queue, None, lambda text: None)
        except BaseException:
            self.feed(facts.Aborted(id))
            raise
        finally:
            del self._waiting[id]
        return outcome

    def feed(self, fact: facts.Fact) -> None:
        """Tell the machine, and carry out what follows. Never blocks, but for writing to the log."""
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
        """Say goodbye, wait so many seconds for it to go, and leave nothing of it behind. Idempotent."""
        self.feed(facts.Closing())
        if self._pipe is not None and self._thread is not None:
            self._pipe.child.wait(min(patience, self.patience.end))
            self._pipe.child.kill()
            self._thread.join(PATIENCE)
        self._log.close()

    def _done_inside(self, effect: effects.Effect) -> bool:
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
        """Progress shows that it is alive, and a question to the user is no fault of its own: both give it more time.

        Without patience, the answer is there already.
        """
        while True:
            try:
                item = queue.get(timeout=patience)
            except Empty:
                if not self.asking:
                    patience = None
                    self.feed(facts.Expired(id))
                continue
            if not isinstance(item, str):
                return item
            progress(item)

    def _serve(self, pipe: ProgramPipe) -> None:
        """To its end, whatever happens: one that nobody listens to would be neither there nor gone."""
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
        pipe.close()
        self.feed(facts.Exited(fault or self._how(pipe, code)))

    def _quiet(self) -> float | None:
        """Seconds until one that has said hello counts as ready, if it says nothing more. This does not depend on
        whether anybody still waits for it: it may have said hello when nobody did any more.
        """
        return self._heard + self.patience.idle - monotonic() if self.machine.phase == "greeted" else None

    def _how(self, pipe: ProgramPipe, code: int | None) -> str:
        """It ended, as the rest of a sentence about it."""
        if pipe.stuck:
            return "was stopped, for it does not read its input"
        if code is None:
            return "closed its output"
        how = f"exited with code {code}" if code >= 0 else f"was ended by {_signal(-code)}"
        said = pipe.child.stderr.strip().rpartition("\n")[2][-LAST_WORDS:]
        return f"{how} ({said})" if said and code else how

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()


def _signal(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"
