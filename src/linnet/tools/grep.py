"""The grep tool: searches in files, with ripgrep or with our own program."""

import os
import stat
from typing import Annotated

from msgspec import Meta, Struct

from linnet.errors import ToolFailed
from linnet.tools.context import ToolContext
from linnet.tools.search import engines
from linnet.tools.search.globs import PathGlob
from linnet.tools.search.matches import MAX_CHARS, Matches, looks_binary
from linnet.tools.search.pattern import Pattern
from linnet.tools.search.targets import look
from linnet.tools.spec import ToolOutput, tool

MAX_PATTERN = 10_000


class GrepArgs(Struct, rename="camel"):
    pattern: Annotated[
        str, Meta(min_length=1, max_length=MAX_PATTERN, description="Regular expression, or text if literal is true.")
    ]
    path: Annotated[str, Meta(description="Folder or file to search; the working directory if left out.")] = "."
    glob: Annotated[
        str,
        Meta(max_length=MAX_PATTERN, description="Search only files like this: '*.ts', 'src/**/*.py', '!*.min.js'."),
    ] = ""
    ignore_case: Annotated[bool, Meta(description="Upper and lower case are the same.")] = False
    literal: Annotated[bool, Meta(description="Search for the pattern as it stands, not as an expression.")] = False
    context: Annotated[int, Meta(ge=0, le=1000, description="Lines to show before and after each match.")] = 0
    limit: Annotated[int, Meta(ge=1, le=1_000_000_000, description="Most matches to return.")] = 100


@tool(GrepArgs)
def grep(args: GrepArgs, context: ToolContext) -> ToolOutput:
    """Search in files, and return the lines that match with path and line number.

    Leaves out what .gitignore names, the .git folder and binary files; hidden files are searched. Lines are searched
    one at a time. Results are in the order of their paths: at most 100 matches unless limit says otherwise, at most
    50 KB, and 500 characters of a line.
    """
    path, mode = look(args.path, context)
    if stat.S_ISDIR(mode):
        folder, target = path, "./"
    elif stat.S_ISREG(mode):
        folder, name = os.path.split(path)
        target = f"./{name}"
        if looks_binary(os.fsencode(path)):
            raise _binary(args.path)
    else:
        raise ToolFailed(f"{args.path} is not a regular file but a pipe, a socket or a device.")
    glob = PathGlob(args.glob, os.fsencode(os.path.realpath(folder))) if args.glob else None
    pattern = Pattern(args.pattern, literal=args.literal, ignore_case=args.ignore_case)
    order = engines.GrepOrder(args.pattern, target, args.literal, args.ignore_case, args.glob, args.context, args.limit)
    found, in_time = _search(order, pattern, glob, folder, context)
    if target != "./" and found.some_binary:
        raise _binary(args.path)
    return _report(args, found, in_time)


def _search(
    order: engines.GrepOrder, pattern: Pattern, glob: PathGlob | None, folder: str, context: ToolContext
) -> tuple[Matches, bool]:
    """Return the matches, and whether the search ended in time. Raises ToolFailed and Cancelled.

    Our own program searches if there is no ripgrep, or one that does not understand us.
    """
    if program := engines.installed(context.cwd):
        found = Matches(folder, glob, order.context, order.limit, context.may_find)
        in_time = engines.run(engines.ripgrep(program, order, pattern, glob, folder), folder, found, context)
        if found.is_complete or found.count or not in_time:
            return found, in_time
    found = Matches(folder, glob, order.context, order.limit, context.may_find)
    in_time = engines.run(engines.own(order), folder, found, context)
    if in_time and not found.is_complete and found.count < order.limit:
        raise ToolFailed(f"The search failed: {found.complaint.strip() or 'the program ended early'}")
    return found, in_time


def _report(args: GrepArgs, found: Matches, in_time: bool) -> ToolOutput:
    """Return the matches with notes on what was left out."""
    listing = found.listing
    if found.count >= args.limit:
        more = f"Use limit={args.limit * 2} for more, or refine pattern"
        listing.note(f"{args.limit} matches limit reached. {more}", "matchLimitReached", args.limit)
    listing.note_size()
    if found.some_cut:
        words = f"Some lines truncated to {MAX_CHARS} chars. Use read tool to see full lines"
        listing.note(words, "linesTruncated")
    if not in_time:
        listing.note(f"Stopped after {engines.TIMEOUT:g} seconds. Name a smaller folder or a simpler pattern")
    return listing.output("No matches found")


def _binary(name: str) -> ToolFailed:
    """Return the failure of a search in a file that looks binary."""
    return ToolFailed(f"{name} looks binary; look at it with bash (file, xxd, strings).")
