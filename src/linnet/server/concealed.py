"""What a process was started with, taken out of what the kernel shows of it to others.

The kernel keeps the words and the variables that a process was started with in the process's own memory, and shows
them in /proc: the words to everybody, the variables to whoever has the same user. A tool's command is such a one.
"""

import os
from collections.abc import Iterable
from contextlib import suppress

# Where /proc/PID/stat has the addresses, counting from the field after the name.
_WORDS, _VARIABLES = 45, 47


def conceal_variables(names: Iterable[str]) -> None:
    """Nobody finds these in /proc/PID/environ any more; this process has them still."""
    for name in names:
        value = os.environ.pop(name, None)
        if value:
            _wipe("environ", _VARIABLES, f"{name}={value}")
            os.environ[name] = value  # A copy elsewhere in memory.


def conceal_word(word: str) -> None:
    """`ps` does not show it any more."""
    _wipe("cmdline", _WORDS, word)


def take_variable(name: str) -> str:
    """Its value, which the environment does not have any more, neither for children nor for who looks."""
    value = os.environ.pop(name, "")
    if value:
        _wipe("environ", _VARIABLES, f"{name}={value}")
    return value


def _wipe(file: str, field: int, entry: str) -> None:
    """Overwrite every such entry of a block, or a word that ends like one. Nothing is done where it cannot be."""
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
