"""The last step of a program that prepares something and then becomes another: part of what runs before a command.

It imports as little as it can: it is between every command and its start.
"""

import _signal as signal  # type: ignore[import-not-found]
import os

from linnet.processes.descendants import contents


def become(argv: list[str]) -> None:
    """Never returns. Signals are as they would have been for the command; the interpreter ignores two."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    if b"\0LC_CTYPE=" not in b"\0" + contents("/proc/self/environ"):
        os.environ.pop("LC_CTYPE", None)  # Set by the interpreter, where there is no other language.
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode(errors="replace"))
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)
