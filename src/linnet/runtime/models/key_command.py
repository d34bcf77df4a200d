"""Runs a command that prints a provider's key, such as that of a password manager."""

import os
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
    """Run the command, and return what it printed, trimmed. It has ten seconds, no input, and is killed with all that
    it started.

    Raises ConfigError with a sentence, in which there is nothing of what it printed on stdout. Raises Cancelled.
    """
    from linnet.processes.shell import Shell

    cancel.check()
    try:
        child = processes.start(Shell().argv(command), cwd=os.path.expanduser("~"))
    except (OSError, ValueError) as error:
        raise _failed(provider, f"could not be started: {getattr(error, 'strerror', None) or error}") from None
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
        raise _failed(provider, f"took longer than {DEADLINE:g} s, and was killed")
    if code:
        raise _failed(provider, f"failed with exit code {code}" + (f": {said}" if said else ""))
    key = text.decode("utf-8", "replace").strip()
    if not key:
        raise _failed(provider, "printed nothing" + (f"; it said: {said}" if said else ""))
    if not key.isascii() or not key.isprintable() or " " in key:
        raise _failed(provider, "printed something that is no key: one word of plain characters was expected")
    return key


def _failed(provider: str, what: str) -> ConfigError:
    return ConfigError(f"the command for the key of {provider} {what}")
