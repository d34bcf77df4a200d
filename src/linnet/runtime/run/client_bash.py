"""Runs a shell command that the client asked for, not the model."""

from codecs import getincrementaldecoder
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, TypeAlias

from linnet.core.cancel import Cancel
from linnet.core.messages import BashRun
from linnet.errors import BadInput, Cancelled
from linnet.processes.process import Processes
from linnet.processes.shell import Shell
from linnet.tools.bash import TIMED_OUT, as_shells_say
from linnet.tools.text.output import CommandOutput
from linnet.tools.text.truncate import Kept

if TYPE_CHECKING:
    from linnet.core.extensions.hooks import BashAsked
    from linnet.extensions.chain import Chain

BLOCKED = "The command was blocked by an extension"

Printed: TypeAlias = Callable[[str, Cancel], None]
"""Takes the next piece of what a command prints. May wait until there is room for it, or until the cancel token is
set; never raises.
"""


def _ignored(news: str) -> None:
    pass


class _Told(CommandOutput):
    """Passes on all that the command prints, in whole characters."""

    def __init__(self, printed: Printed, cancel: Cancel, folder: str | None) -> None:
        super().__init__(_ignored, folder=folder)
        self._printed = printed
        self._cancel = cancel
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> None:
        super().feed(data)
        self._tell(self._decoder.decode(data))

    def finish(self) -> Kept:
        self._tell(self._decoder.decode(b"", final=True))
        return super().finish()

    def _tell(self, text: str) -> None:
        if text:
            self._printed(text, self._cancel)


def hooked_command(
    asked: "BashAsked",
    chain: "Chain",
    shell: Shell,
    processes: Processes,
    cancel: Cancel,
    now: Callable[[], int],
    timeout: float | None = None,
    printed: Printed | None = None,
) -> BashRun:
    """Ask extensions about the command, then run what they made of it, as `run_command` does. One may give the output
    itself. Raises BadInput if one blocks it.
    """
    from linnet.core.extensions.hooks import Block

    try:
        outcome = chain.ask(asked, cancel)
    except Cancelled:
        return BashRun(asked.command, "", None, now(), cancelled=True)
    if isinstance(outcome.stop, Block):
        raise BadInput(outcome.stop.reason or BLOCKED)
    asked = outcome.event
    if asked.output is not None:
        return BashRun(asked.command, asked.output, asked.exit_code, now())
    return run_command(asked.command, asked.cwd, shell, processes, cancel, now, timeout, printed)


def run_command(
    command: str,
    cwd: str,
    shell: Shell,
    processes: Processes,
    cancel: Cancel,
    now: Callable[[], int],
    timeout: float | None = None,
    printed: Printed | None = None,
) -> BashRun:
    """Run the command, and return its output and exit code. If it was killed, there is no exit code; if its `timeout`,
    in seconds, was the reason, the last line of its output says so. Of long output the end is kept, and a file has it
    all. `printed` is called with all of it, as it comes.
    """
    folder = processes.temporary
    with closing(
        CommandOutput(_ignored, folder=folder) if printed is None else _Told(printed, cancel, folder)
    ) as output:
        exit_code: int | None = None
        cancelled = False
        try:
            argv = shell.argv(command)
            finished = processes.run(argv, cwd=cwd, sink=output, cancel=cancel, timeout=timeout)
            cancelled = finished.timed_out
            if cancelled:
                output.feed(f"\n{TIMED_OUT} {timeout:g} seconds\n".encode())
            else:
                exit_code = as_shells_say(finished.exit_code)
        except Cancelled:
            cancelled = True
        kept = output.finish()
        return BashRun(command, kept.text, exit_code, now(), cancelled, kept.cut_bytes > 0, output.path)
