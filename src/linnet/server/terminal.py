"""The only ways in which linnet speaks to people: on stderr, and on stdout where no protocol is spoken.

What comes from elsewhere, as names of files and answers of servers do, could otherwise rewrite what was asked, or have
the terminal do something. What is meant for programs does not pass here: lines of JSON, and an exported page.
"""

import sys
from contextlib import suppress
from typing import TextIO


def say(sentence: str, program: str = "linnet") -> None:
    """A line on stderr, to whoever looks after the program. Never fails."""
    with suppress(OSError):  # It may go to a file on the very disk that is full.
        _write(sys.stderr, f"{program}: {sentence}\n")


def ask(text: str) -> None:
    """Lines, or a question without a line end, on stderr."""
    _write(sys.stderr, text)


def tell(text: str) -> None:
    """Lines for people, on stdout."""
    _write(sys.stdout, text + "\n")


def hand_over(text: str) -> None:
    """A value on stdout, with a line end: as it is for a program or a file, spelled out only if people look at it."""
    if sys.stdout is not None and not sys.stdout.isatty():
        sys.stdout.write(text + "\n")
    else:
        tell(text)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is not None:  # A spawner may have closed it.
        from linnet.core.text.terminal_text import spelled_out  # Most starts say nothing.

        stream.write(spelled_out(text))
        stream.flush()
