"""Runs one of the two programs that can search: ripgrep, or our own. Given the same order they print the same."""

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from linnet.errors import ToolFailed
from linnet.processes.lookup import installed as program
from linnet.processes.lookup import own_program
from linnet.tools.context import ToolContext
from linnet.tools.search.globs import PathGlob
from linnet.tools.search.pattern import Pattern

if TYPE_CHECKING:
    from linnet.processes.process import Sink

# Only a regular expression that goes wrong, or a very slow disk, takes that long.
TIMEOUT = 120.0


class Enough(Exception):
    """Raised by a sink that needs no more, so that the program is stopped."""


class GrepOrder(Struct, frozen=True):
    """What to search for in files, for either program."""

    pattern: str
    target: str = "./"  # Or a file in the folder where the program is started.
    literal: bool = False
    ignore_case: bool = False
    glob: str = ""
    context: int = 0
    limit: int = 100
    do: str = "grep"


class FindOrder(Struct, frozen=True):
    """Which paths to find, for our own program."""

    pattern: str
    limit: int = 1000
    do: str = "find"


def own(order: GrepOrder | FindOrder) -> list[str]:
    """Return the command line of our own program."""
    return own_program("tools.search.searcher", json.dumps(structs.asdict(order)))


def ripgrep(program: str, order: GrepOrder, pattern: Pattern, glob: PathGlob | None, folder: str) -> list[str]:
    """Return the command line of ripgrep. It may print more files than `glob` chooses, never fewer."""
    return [program, *_flags(order, glob, folder), "--", pattern.ripgrep, order.target]


def run(argv: list[str], folder: str, sink: "Sink", context: ToolContext) -> bool:
    """Feed all that the program prints to `sink`, which may raise Enough. Return whether it ended in time.

    Raises ToolFailed if it cannot be started, and Cancelled.
    """
    try:
        finished = context.processes.run(argv, cwd=folder, sink=sink, cancel=context.cancel, timeout=TIMEOUT)
    except Enough:
        return True
    except (OSError, ValueError) as error:
        raise ToolFailed(f"The search could not be started: {getattr(error, 'strerror', None) or error}.") from None
    return not finished.timed_out


def installed(cwd: str) -> str | None:
    """Return the path of ripgrep; None if it is not installed."""
    return program("rg", os.environ.get("PATH", os.defpath), cwd)


def _flags(order: GrepOrder, glob: PathGlob | None, folder: str) -> Iterator[str]:
    """Yield ripgrep's flags for this order."""
    yield from ("--no-config", "--json", "--no-mmap", "--no-messages", "--no-ignore-messages")
    # In the order of the paths, so that a limit cuts off the same ones each time. It costs ripgrep its threads.
    yield from ("--sort", "path", "--hidden", "--glob", "!.git", "--max-count", str(order.limit))
    if not _is_in_repository(folder):
        # A .gitignore file counts also where there is no repository. In one this flag would, for newer versions,
        # extend the rules of a repository to those inside it.
        yield "--no-require-git"
    if order.context:
        yield from ("--context", str(order.context))
    if order.ignore_case:
        yield "--ignore-case"
    else:
        yield "--case-sensitive"
    if order.literal:
        yield "--fixed-strings"
    if glob and glob.name:
        # As a type and not with --glob, which would search ignored files too.
        yield from ("--type-add", f"linnet:{glob.name}", "--type", "linnet")


def _is_in_repository(folder: str) -> bool:
    """Return whether a folder, or one above it, has a repository."""
    folder = os.path.realpath(folder)
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return False
        folder = parent
    return True
