"""Writes text for people, on stderr, and on stdout where no protocol is spoken, with control characters spelled out.

Nothing else in linnet writes for people: names of files or answers of servers could otherwise have the terminal do
something. What is meant for programs, lines of JSON and exported pages, does not pass here.
"""

import sys
from contextlib import suppress
from typing import TextIO

LEADS = ("linnet", "linnet")
"""What an error and a note begin with, unless a program has others."""


def say(sentence: str, program: str = "linnet") -> None:
    """Write a line to stderr, for whoever started the program. Never fails on a full disk or a closed pipe."""
    with suppress(OSError):  # It may go to a file on the very disk that is full.
        _write(sys.stderr, f"{program}: {sentence}\n")


def ask(text: str) -> None:
    """Write lines, or a question without a line end, to stderr."""
    _write(sys.stderr, text)


def tell(text: str) -> None:
    """Write lines for people to stdout."""
    _write(sys.stdout, text + "\n")


def hand_over(text: str) -> None:
    """Write a value to stdout, with a line end: spelled out on a terminal, and as it is to a program or a file."""
    if sys.stdout is not None and not sys.stdout.isatty():
        sys.stdout.write(text + "\n")
    else:
        tell(text)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is not None:  # A spawner may have closed it.
        from linnet.core.text.terminal_text import spelled_out  # Most starts say nothing.

        stream.write(spelled_out(text))
        stream.flush()
