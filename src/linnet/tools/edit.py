"""The edit tool: replaces exact pieces of text in a file."""

import os
import stat
from errno import EISDIR
from sys import maxsize
from typing import Annotated, Any

from msgspec import Meta, Struct

from linnet.core.messages import Text
from linnet.errors import ToolFailed
from linnet.files.reading import read
from linnet.files.replacing import replace
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput, tool
from linnet.tools.text.os_errors import explain
from linnet.tools.text.truncate import keep_head


class Replacement(Struct, rename="camel"):
    old_text: Annotated[
        str, Meta(description="Text to replace, copied exactly; it must occur exactly once in the file.")
    ]
    new_text: Annotated[str, Meta(description="What to put in its place; empty to delete.")]


class EditArgs(Struct):
    path: Annotated[str, Meta(min_length=1, description="File to edit, absolute or relative to the working directory.")]
    edits: Annotated[
        list[Replacement],
        Meta(
            min_length=1, description="Replacements, all matched against the file as it is now; they must not overlap."
        ),
    ]


def with_edits(args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with a single `oldText` and `newText` of pi's as one more of the edits."""
    edits = args.get("edits", [])
    if not isinstance(edits, list) or not ("oldText" in args or "newText" in args):
        return args
    single = {name: args[name] for name in ("oldText", "newText") if name in args}
    rest = {name: value for name, value in args.items() if name not in single}
    return {**rest, "edits": [*edits, single]}


@tool(EditArgs, with_edits)
def edit(args: EditArgs, context: ToolContext) -> ToolOutput:
    """Change parts of a text file by exact replacement; the result is a diff.

    Put every change to the file into one call. Each oldText is looked up in the original file, not in the outcome of
    the edits before it. Keep it short, but long enough to be unique. Either all edits are made or none. Line endings
    and a byte order mark are preserved; write newlines as plain line feeds.
    """
    from linnet.tools.text.diff import diff
    from linnet.tools.text.replace import NotThere, NotUnique, SourceText, locate

    path = context.resolve(args.path, writing=True)
    pi = context.wording != "zot"
    for number, replacement in enumerate(args.edits, 1):
        _check_encodable(replacement.new_text, number)
    try:
        # Escaped bytes survive as they are, so a file that is not UTF-8 throughout can be edited too.
        source = SourceText(contents(args.path, path, context).decode("utf-8", "surrogateescape"))
        changes = locate(source.text, [(each.old_text, each.new_text) for each in args.edits], args.path)
        context.cancel.check()
        content = source.apply(changes).encode("utf-8", "surrogateescape")
        put(path, content, context)
    except OSError as error:
        raise explain(args.path, error) from None
    except NotThere as failure:
        raise ToolFailed(f"Could not find the exact text in {args.path}. {failure}") if pi else failure from None
    except NotUnique as failure:
        found = f"Found {failure.times} occurrences of the text in {args.path}. {failure}"
        raise ToolFailed(found) if pi else failure from None
    shown = diff(source.text, changes).encode("utf-8", "replace").decode()
    if pi:
        count = len(args.edits)
        summary = f"Successfully replaced {count} block(s) in {args.path}."
        return ToolOutput((Text(summary),), details=_details(args.path, shown, context))
    kept = keep_head(shown)
    note = f"[{kept.cut_lines} more lines of the diff are not shown]\n" if kept.cut_bytes else ""
    return ToolOutput((Text(kept.text + note),), details={"diff": shown})


def _details(path: str, hunks: str, context: ToolContext) -> dict[str, Any]:
    """Return what pi's clients are shown of an edit; since 0.73, lines with their numbers, and a patch."""
    if context.wording == "pi":
        return {"diff": hunks}
    from linnet.tools.text.diff import numbered

    lines, first = numbered(hunks)
    return {"diff": lines, "patch": f"--- {path}\n+++ {path}\n{hunks}", "first_changed_line": first}


def contents(name: str, path: str, context: ToolContext) -> bytes:
    """Return what is in a file. Raises ToolFailed if it is no regular file or out of bounds, and OSError."""
    is_open = context.files is not None and context.files.has(path, writing=False)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if not is_open:
            raise
    else:
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR), path)
        if not stat.S_ISREG(mode):
            raise ToolFailed(f"{name} is not a regular file.")
    if is_open and context.files is not None:
        return context.files.read(path).encode("utf-8", "surrogateescape")
    return read(path, maxsize, check=context.bounds.check_open if context.bounds else None).data


def put(path: str, content: bytes, context: ToolContext) -> None:
    """Write all of a file, where it is open or on disk. Raises ToolFailed, Cancelled and OSError."""
    if context.files is not None and not os.path.isdir(path) and context.files.has(path, writing=True):
        try:
            text = content.decode()
        except UnicodeDecodeError:
            pass  # No editor has it as text.
        else:
            context.files.write(path, text)
            return
    replace(path, content, open_folder=context.bounds.open_folder if context.bounds else None)


def _check_encodable(text: str, number: int) -> None:
    """Raise ToolFailed if the new text of an edit cannot be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ToolFailed(
            f"edit {number}: newText cannot be written as UTF-8: {error.reason} at character {error.start}"
        ) from None
