"""A shell command that the client asked for, beside the agent's own."""

from collections.abc import Callable
from contextlib import closing

from linnet.core.cancel import Cancel
from linnet.core.messages import BashRun
from linnet.errors import Cancelled
from linnet.tools.bash import as_shells_say, shell
from linnet.tools.output import Output
from linnet.tools.process import Processes


def run_command(command: str, cwd: str, processes: Processes, cancel: Cancel, now: Callable[[], int]) -> BashRun:
    """What came of it. A command that was killed has no exit code; long output keeps its end, and a file has it all."""
    with closing(Output(lambda news: None, folder=processes.temporary)) as output:
        exit_code: int | None = None
        cancelled = False
        try:
            argv = [shell(), "-c", "--", command]
            exit_code = as_shells_say(processes.run(argv, cwd=cwd, sink=output, cancel=cancel).exit_code)
        except Cancelled:
            cancelled = True
        kept = output.finish()
        return BashRun(command, kept.text, exit_code, now(), cancelled, kept.cut_bytes > 0, output.path)
