"""Hides secrets that the process was started with from /proc.

The kernel keeps the arguments and the variables that a process was started with in the process's own memory, and shows
them in /proc: the arguments to everybody, the variables to processes of the same user, such as the commands of tools.
"""

import os
from collections.abc import Iterable
from contextlib import suppress

# Where /proc/PID/stat has the addresses, counting from the field after the name.
_WORDS, _VARIABLES = 45, 47


def conceal_variables(names: Iterable[str]) -> None:
    """Wipe these variables from /proc/PID/environ. In `os.environ` they stay."""
    for name in names:
        value = os.environ.pop(name, None)
        if value:
            _wipe("environ", _VARIABLES, f"{name}={value}")
            os.environ[name] = value  # A copy elsewhere in memory.


def conceal_word(word: str) -> None:
    """Wipe an argument, or what follows a `=` in one, from what `ps` shows."""
    _wipe("cmdline", _WORDS, word)


def take_variable(name: str) -> str:
    """Return the value of a variable, and remove it from the environment: for children, and in /proc."""
    value = os.environ.pop(name, "")
    if value:
        _wipe("environ", _VARIABLES, f"{name}={value}")
    return value


def _wipe(file: str, field: int, entry: str) -> None:
    """Overwrite every such entry of the process's arguments or variables in its memory. What the system does not let be
    overwritten stays.
    """
    wanted = os.fsencode(entry)
    with suppress(OSError, ValueError):
        with open(f"/proc/self/{file}", "rb") as shown:
            block = shown.read()
        with open("/proc/self/stat", "rb") as stat:
            start = int(stat.read().rpartition(b")")[2].split()[field])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            at = 0
            for each in block.split(b"\0"):
                if each == wanted or (file == "cmdline" and each.endswith(b"=" + wanted)):
                    memory.seek(start + at + len(each) - len(wanted))
                    memory.write(b"\0" * len(wanted) if file == "environ" else b"*" * len(wanted))
                at += len(each) + 1
