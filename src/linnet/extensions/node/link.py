"""The host in Node while it runs: frames to and from it, and whoever waits for an answer.

Threads: one reads what the host says (`_serve`), and answers at once what can be; what takes its time has a thread of
its own. Others ask the host something and wait in a queue of their own; whoever holds the session's lock tells it of
events.
"""

import os
from collections.abc import Callable, Generator
from itertools import count
from queue import Empty, SimpleQueue
from threading import Condition, Lock, Thread
from typing import TYPE_CHECKING, Any

from linnet.errors import Cancelled, LinnetError
from linnet.extensions.lines import Oversized
from linnet.extensions.node import frames
from linnet.extensions.programs.exchange import ended_how
from linnet.extensions.programs.pipe import DYING, ProgramPipe
from linnet.processes.spawner import PATIENCE

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.extensions.programs.log import ExtensionLog
    from linnet.processes.process import Processes

HOST = os.path.join(os.path.dirname(__file__), "host")
MOST_UNREAD = 256 * 1024 * 1024  # Bytes that may wait for the host to read: an extension may compute for a while.
# Frames have descriptors of their own, so that what extensions print, and programs that they start, cannot tear one.
_SHELL = ("/bin/sh", "-c", 'exec "$0" "$@" 3>&1 4<&0 1>&2 0</dev/null')


class HostFailed(LinnetError):
    """The host, or an extension in it, failed to answer."""

    def __init__(self, why: str, *, thrown: bool = False) -> None:
        """`thrown`: an extension threw something that is no Error."""
        super().__init__(why)
        self.thrown = thrown


class Link:
    """Invariants: whoever asks is answered once, at the latest when its patience or the host is at its end, or at an
    abort; nobody waits for the host to read; frames leave in the order of the calls to `send`.
    """

    def __init__(self, log: "ExtensionLog", heard: Callable[[frames.Incoming], None]) -> None:
        """`heard` is called, in the thread that reads, with each frame but answers and progress. It must not wait."""
        self.how = ""
        """Why the host can be asked nothing any more; empty while it runs."""
        self.asking = 0
        """Questions of extensions to the user that are open: nothing can be answered before they are."""
        self._log = log
        self._heard = heard
        self._lock = Lock()  # For `_waiting` together with `how`.
        self._waiting: dict[str, SimpleQueue[frames.Answer | frames.Progress]] = {}
        self._ids = count(1)
        self._pipe: ProgramPipe | None = None
        self._thread: Thread | None = None
        self._changed = Condition()

    def start(self, processes: "Processes", node: str, cwd: str) -> None:
        """Start the host. Raises OSError, ValueError or Closed if it cannot be started."""
        argv = (*_SHELL, node, "--no-warnings", os.path.join(HOST, "main.js"))
        self._pipe = ProgramPipe(processes, argv, cwd, self._log, MOST_UNREAD)
        self._thread = Thread(target=self._serve, args=(self._pipe,), name="linnet-node", daemon=True)
        self._thread.start()

    def send(self, frame: frames.Outgoing) -> None:
        """Send a frame. Returns at once; nothing happens if the host is gone."""
        if self._pipe is not None and not self.how:
            self._pipe.send(frames.encode(frame))

    def ask(
        self,
        question: Callable[[str], frames.Outgoing],
        cancel: "Cancel",
        patience: float | None,
        progress: Callable[[Any], None] = lambda value: None,
    ) -> Any:
        """Ask the host, and return the value of its answer; report progress meanwhile. The rest is as in `follow`."""
        steps = self.follow(question, cancel, patience)
        while True:
            try:
                progress(next(steps))
            except StopIteration as end:
                return end.value

    def follow(
        self, question: Callable[[str], frames.Outgoing], cancel: "Cancel", patience: float | None = None
    ) -> Generator[Any, None, Any]:
        """Ask the host, yield what it reports, and return the value of its answer. `question` makes the frame from the
        id of the question.

        Time in which an extension waits for the user does not count. Raises HostFailed, TimeoutError, and Cancelled as
        soon as there is an abort.
        """
        cancel.check()
        id = str(next(self._ids))
        queue: SimpleQueue[frames.Answer | frames.Progress] = SimpleQueue()
        with self._lock:
            if self.how:
                raise HostFailed(self.how)
            self._waiting[id] = queue
        aborted = frames.Answer(id, error="")

        def abort() -> None:
            queue.put(aborted)

        self.send(question(id))
        answered = False
        try:
            with cancel.interrupting(abort):
                while True:
                    try:
                        item = queue.get(timeout=patience)
                    except Empty:
                        if self.asking:
                            continue
                        raise TimeoutError(f"it took longer than {patience:g} s") from None
                    if item is aborted:
                        raise Cancelled
                    if isinstance(item, frames.Progress):
                        yield item.value
                        continue
                    answered = True
                    if item.error is not None:
                        raise HostFailed(item.error, thrown=item.thrown)
                    return item.value
        finally:
            with self._lock:
                self._waiting.pop(id, None)
            if not answered:
                self.send(frames.Cancel(id))

    def end(self, farewell: frames.Outgoing, patience: float) -> None:
        """Send a last frame, wait up to `patience` seconds for the host to go by itself, and kill what is left."""
        self.send(farewell)
        if self._pipe is not None and self._thread is not None:
            self._pipe.child.wait(patience)  # Its input stays open: handlers of the end may ask something.
            self._pipe.child.kill()
            self._thread.join(PATIENCE)
        self._log.close()

    def _serve(self, pipe: ProgramPipe) -> None:
        """Take what the host says until it has ended, and then fail whoever waits. Runs in the link's thread."""
        fault = ""
        try:
            for batch in pipe.batches(lambda: None):
                for line in batch:
                    self._take(line)
        except Exception as error:
            fault = f"could not be listened to ({type(error).__name__}: {error})"
            pipe.child.kill()
        code = pipe.child.wait(DYING)
        pipe.close()
        how = f"the host of the extension {fault or ended_how(pipe, code)}"
        with self._lock:
            self.how = how
            waiting = list(self._waiting.items())
        for id, queue in waiting:
            queue.put(frames.Answer(id, error=how))
        self._heard(frames.Ended())

    def _take(self, line: bytes | Oversized) -> None:
        """Take one line of the host's."""
        frame = frames.decode(line) if isinstance(line, bytes) else f"a line of {line.size} bytes is too long"
        match frame:
            case str():
                self._log.say(frame)
            case frames.Answer(id) | frames.Progress(id):
                with self._lock:
                    queue = self._waiting.get(id)
                if queue is not None:
                    queue.put(frame)
            case _:
                self._heard(frame)


def in_thread(work: Callable[[], None]) -> None:
    """Do this in a thread of its own. Raises LinnetError if the system has none left."""
    try:
        Thread(target=work, name="linnet-node-call", daemon=True).start()
    except RuntimeError:
        raise LinnetError("the system has no thread left for it") from None
