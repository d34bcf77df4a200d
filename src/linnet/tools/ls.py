"""The ls tool: lists a folder."""

import os
import stat
from collections.abc import Iterator
from heapq import nsmallest
from typing import Annotated

from msgspec import Meta, Struct

from linnet.errors import ToolFailed
from linnet.tools.context import ToolContext
from linnet.tools.search.listing import Listing, shown
from linnet.tools.search.targets import look
from linnet.tools.spec import ToolOutput, tool
from linnet.tools.text.os_errors import explain

# The order in which dictionaries, and pi, have the characters of a name.
_ORDER = {
    char: place for place, char in enumerate(" _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz")
}


class LsArgs(Struct):
    path: Annotated[str, Meta(description="Folder to list; the working directory if left out.")] = "."
    limit: Annotated[int, Meta(ge=1, le=1_000_000_000, description="Most entries to return.")] = 500


@tool(LsArgs)
def ls(args: LsArgs, context: ToolContext) -> ToolOutput:
    """List what is in a folder, hidden files included, in alphabetical order. Names of folders end in a slash.

    At most 500 entries unless limit says otherwise, at most 50 KB.
    """
    path, mode = look(args.path, context)
    if not stat.S_ISDIR(mode):
        raise ToolFailed(f"{path} is not a directory." if context.wording == "zot" else f"Not a directory: {path}")
    try:
        entries = nsmallest(args.limit + 1, _entries(os.fsencode(path), context))
    except OSError as error:
        if context.wording != "zot":
            raise ToolFailed(f"Cannot read directory: {error.strerror}") from None
        raise explain(args.path, error) from None
    listing = Listing()
    for _, name, is_folder in entries[: args.limit]:
        listing.add(shown(name) + "/" * is_folder)
    if len(entries) > args.limit:
        more = f"Use limit={args.limit * 2} for more"
        listing.note(f"{args.limit} entries limit reached. {more}", "entryLimitReached", args.limit)
    listing.note_size()
    return listing.output("(empty directory)")


def _entries(folder: bytes, context: ToolContext) -> Iterator[tuple[tuple[object, ...], bytes, bool]]:
    """Yield the key to sort by, the name, and whether it is a folder, of each entry that may be shown."""
    with os.scandir(folder) as found:
        for entry in found:
            context.cancel.check()
            if context.may_find is not None and not context.may_find(os.fsdecode(entry.path)):
                continue
            yield _key(entry.name.decode("utf-8", "replace")), entry.name, _is_folder(entry)


def _is_folder(entry: "os.DirEntry[bytes]") -> bool:
    """Return whether an entry is a folder, or a link that leads to one."""
    try:
        return entry.is_dir()
    except OSError:  # A link that leads in a circle.
        return False


def _key(name: str) -> tuple[object, ...]:
    """Return what to sort a name by: case does not count, and letters go before their accents: e, é, f."""
    name = name.lower()
    if name.isascii():
        return ([_ORDER.get(char, -1) for char in name], "")
    from unicodedata import combining, normalize

    plain = [char for char in normalize("NFD", name) if not combining(char)]
    return ([_ORDER.get(char, ord(char)) for char in plain], name)
