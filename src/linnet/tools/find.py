"""The find tool: finds files and folders by a glob."""

import os
import stat
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from linnet.errors import ToolFailed
from linnet.tools.context import ToolContext
from linnet.tools.search import engines
from linnet.tools.search.globs import PathGlob
from linnet.tools.search.listing import Listing, shown
from linnet.tools.search.targets import look
from linnet.tools.spec import ToolOutput, tool

UNLIMITED = 1_000_000_000


class FindArgs(Struct):
    pattern: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=10_000,
            description="Glob: '*.ts' is a name, 'src/**/*.spec.ts' the end of a path, 'docs/' a folder.",
        ),
    ]
    path: Annotated[str, Meta(description="Folder to search; the working directory if left out.")] = "."
    limit: Annotated[int, Meta(ge=1, le=UNLIMITED, description="Most paths to return.")] = 1000


@tool(FindArgs)
def find(args: FindArgs, context: ToolContext) -> ToolOutput:
    """Find files and folders by name, and return their paths, which start below the folder that was searched.

    Leaves out what .gitignore names and the .git folder; hidden files are found. Folders end in a slash, links are not
    followed. A pattern without capitals matches any case. Results are in the order of their paths: at most 1000 unless
    limit says otherwise, at most 50 KB.
    """
    path, mode = look(args.path, context)
    if not stat.S_ISDIR(mode):
        raise ToolFailed(f"{path} is not a directory." if context.wording == "zot" else f"Not a directory: {path}")
    PathGlob(args.pattern, os.fsencode(path))  # Says what is wrong with it.
    found = _Paths(path, args.limit, context.may_find)
    limit = args.limit if context.may_find is None else UNLIMITED  # What may not be shown does not count.
    in_time = engines.run(engines.own(engines.FindOrder(args.pattern, limit)), path, found, context)
    listing = found.listing
    if in_time and not found.is_complete:
        raise ToolFailed("The search failed: the program ended early")
    if listing.count >= args.limit:
        more = f"Use limit={args.limit * 2} for more, or refine pattern"
        listing.note(f"{args.limit} results limit reached. {more}", "resultLimitReached", args.limit)
    listing.note_size()
    if not in_time:
        listing.note(f"Stopped after {engines.TIMEOUT:g} seconds. Name a smaller folder")
    return listing.output("No files found matching pattern")


class _Paths:
    """A Sink for paths that end in a zero byte. The last one is empty, and says that there are no more."""

    def __init__(self, folder: str, limit: int, may_find: Callable[[str], bool] | None) -> None:
        self._folder = os.fsencode(folder)
        self._limit = limit
        self._may_find = may_find
        self.listing = Listing()
        self.is_complete = False
        """Whether all paths came, or as many as are wanted."""
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Take a piece of output. Raises Enough when there are as many paths as are wanted."""
        *paths, self._rest = (self._rest + data).split(b"\0")
        for path in paths:
            if path:
                if self._may_find is None or self._may_find(os.fsdecode(os.path.join(self._folder, path.rstrip(b"/")))):
                    self.listing.add(shown(path))
                if self.listing.count >= self._limit:
                    self.is_complete = True
                    raise engines.Enough
            else:
                self.is_complete = True

    def tick(self) -> float | None:
        """Return None: nothing is done between reads."""
        return None
