"""Runs a shell command that the client asked for, not the model."""

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from linnet.core.cancel import Cancel
from linnet.core.messages import BashRun
from linnet.errors import BadInput, Cancelled
from linnet.processes.process import Processes
from linnet.processes.shell import Shell
from linnet.tools.bash import TIMED_OUT, as_shells_say
from linnet.tools.text.output import CommandOutput

if TYPE_CHECKING:
    from linnet.core.extensions.hooks import BashAsked
    from linnet.extensions.chain import Chain

BLOCKED = "The command was blocked by an extension"


def hooked_command(
    asked: "BashAsked",
    chain: "Chain",
    shell: Shell,
    processes: Processes,
    cancel: Cancel,
    now: Callable[[], int],
    timeout: float | None = None,
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
    return run_command(asked.command, asked.cwd, shell, processes, cancel, now, timeout)


def run_command(
    command: str,
    cwd: str,
    shell: Shell,
    processes: Processes,
    cancel: Cancel,
    now: Callable[[], int],
    timeout: float | None = None,
) -> BashRun:
    """Run the command, and return its output and exit code. If it was killed, there is no exit code; if its `timeout`,
    in seconds, was the reason, the last line of its output says so. Of long output the end is kept, and a file has it
    all.
    """
    with closing(CommandOutput(lambda news: None, folder=processes.temporary)) as output:
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
