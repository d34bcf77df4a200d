"""Runs a command that prints a provider's key or credentials, such as that of a password manager."""

import os
from collections.abc import Sequence
from threading import Event, Timer
from typing import TYPE_CHECKING

from linnet.core.cancel import Cancel
from linnet.errors import ConfigError

if TYPE_CHECKING:
    from linnet.processes.process import Processes

DEADLINE = 10.0  # Seconds.
LONGEST = 1 << 16  # Bytes that are read.
SHOWN = 200  # Characters of stderr in an error.


def printed_key(command: str, provider: str, processes: "Processes", cancel: Cancel) -> str:
    """Run the command in a shell, and return what it printed, trimmed. Raises as `printed` does."""
    from linnet.processes.shell import Shell

    what = f"key of {provider}"
    key = printed(Shell().argv(command), what, processes, cancel).decode("utf-8", "replace").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise _failed(what, "printed something that is no key: one word of plain characters was expected")
    return key


def printed(argv: Sequence[str], what: str, processes: "Processes", cancel: Cancel) -> bytes:
    """Run a command, and return what it printed. It has ten seconds, no input, and is killed with all that it started.

    Raises ConfigError with a sentence, in which there is nothing of what it printed on stdout. Raises Cancelled.
    """
    cancel.check()
    try:
        child = processes.start(list(argv), cwd=os.path.expanduser("~"))
    except (OSError, ValueError) as error:
        raise _failed(what, f"could not be started: {getattr(error, 'strerror', None) or error}") from None
    late = Event()

    def give_up() -> None:
        late.set()  # First: whoever reads may notice the end before this returns.
        child.kill()

    timer = Timer(DEADLINE, give_up)
    timer.daemon = True
    timer.start()
    try:
        with cancel.interrupting(child.kill):
            child.end_input()
            text = child.stdout.read(LONGEST)
            code = child.wait() if len(text) < LONGEST else 0  # It may never end.
    finally:
        timer.cancel()
        child.close()
    said = " ".join(child.stderr.split())[:SHOWN]
    if late.is_set():
        raise _failed(what, f"took longer than {DEADLINE:g} s, and was killed")
    if code:
        raise _failed(what, f"failed with exit code {code}" + (f": {said}" if said else ""))
    if not text.strip():
        raise _failed(what, "printed nothing" + (f"; it said: {said}" if said else ""))
    return bytes(text)


def _failed(what: str, problem: str) -> ConfigError:
    return ConfigError(f"the command for the {what} {problem}")
