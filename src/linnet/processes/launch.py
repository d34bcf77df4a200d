"""Replaces a small program of ours, such as one that sets up a sandbox, by the command that it was started for.

It imports as little as it can: it delays the start of every such command.
"""

import _signal as signal  # type: ignore[import-not-found]
import os

from linnet.processes.descendants import contents


def become(argv: list[str]) -> None:
    """Execute the command in place of this process; never returns.

    Undoes what Python's start changed: two signals that it ignores, and a variable that it sets.
    """
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    if b"\0LC_CTYPE=" not in b"\0" + contents("/proc/self/environ"):
        os.environ.pop("LC_CTYPE", None)  # Set by the interpreter, where there is no other language.
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode(errors="replace"))
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)
