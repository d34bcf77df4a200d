"""The read tool: returns a page of a text file, or an image."""

import os
import stat
from typing import Annotated

from msgspec import Meta, Struct

from linnet.core.cancel import Cancel
from linnet.core.images import sniffed
from linnet.core.messages import Image, Text
from linnet.errors import ToolFailed
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput, tool
from linnet.tools.text.os_errors import explain
from linnet.tools.text.truncate import MAX_BYTES, MAX_LINES, count_lines, keep_head

MAX_IMAGE = 5 * 1024 * 1024
BLOCK = 1 << 18
HEAD = 8192  # Bytes by which it is decided whether a file is text.


class ReadArgs(Struct):
    path: Annotated[str, Meta(min_length=1, description="File to read, absolute or relative to the working directory.")]
    offset: Annotated[int, Meta(ge=1, description="First line to return, counting from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, description=f"Most lines to return; never more than {MAX_LINES}.")] = MAX_LINES


@tool(ReadArgs)
def read(args: ReadArgs, context: ToolContext) -> ToolOutput:
    """Read a text file, or look at an image (PNG, JPEG, GIF, WebP).

    At most 2000 lines or 50 KB of text are returned at a time. If the file goes on, the last line of the result says
    with which offset to continue. Prefer this over cat or sed.
    """
    path = context.resolve(args.path)
    try:
        try:
            # Looked at before it is opened: to open a pipe is to take part in it.
            _check_regular(args.path, os.stat(path).st_mode)
        except FileNotFoundError:
            if context.files is None or not context.files.has(path, writing=False):
                raise
            return _opened(args, context.files.read(path), context.cancel)
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if context.bounds is not None:
                context.bounds.check_open(fd)
            found = os.fstat(fd)
            _check_regular(args.path, found.st_mode)
            head = os.read(fd, HEAD)
            if kind := sniffed(head):
                return _image(args.path, fd, kind, found.st_size)
            if b"\0" in head:
                raise ToolFailed(
                    f"{args.path} looks binary ({found.st_size} bytes); look at it with bash (file, xxd, strings)."
                )
            if context.files is not None and context.files.has(path, writing=False):
                return _opened(args, context.files.read(path), context.cancel)
            return _page(args, _Lines(fd, head, context.cancel))
        finally:
            os.close(fd)
    except OSError as error:
        raise explain(args.path, error) from None


def _opened(args: ReadArgs, text: str, cancel: Cancel) -> ToolOutput:
    """Return the page of what somebody has open. Raises ToolFailed."""
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _page(args, _Lines(nothing, text.encode("utf-8", "replace"), cancel))
    finally:
        os.close(nothing)


class _Lines:
    """The lines of an open file, read in order: only what is asked for is in memory. All methods raise Cancelled."""

    def __init__(self, fd: int, head: bytes, cancel: Cancel) -> None:
        self._fd = fd
        self._cancel = cancel
        self._block = head  # Read, but not yet used.

    def skip(self, wanted: int) -> int:
        """Move past that many lines, and return how many there were to move past."""
        skipped = 0
        ended = True
        while skipped < wanted and (block := self._take()):
            newlines = block.count(b"\n")
            if skipped + newlines >= wanted:
                self._block = block.split(b"\n", wanted - skipped)[-1]
                return wanted
            skipped += newlines
            ended = block.endswith(b"\n")
        return skipped + (not ended)

    def take(self, lines: int, size: int) -> bytes:
        """Return at least that many lines or bytes, unless the file ends before."""
        taken = bytearray()
        while lines > 0 and len(taken) < size and (block := self._take()):
            taken += block
            lines -= block.count(b"\n")
        return bytes(taken)

    def at_end(self) -> bool:
        """Return whether everything was taken."""
        self._block = self._take()
        return not self._block

    def _take(self) -> bytes:
        """Return the next block; nothing at the end of the file."""
        self._cancel.check()
        block, self._block = self._block, b""
        return block or os.read(self._fd, BLOCK)


def _page(args: ReadArgs, lines: _Lines) -> ToolOutput:
    """Return the lines that are asked for, and how to go on. Raises ToolFailed if there are none."""
    skipped = lines.skip(args.offset - 1)
    # A little more than may be shown: a character that is cut in half here lies beyond the cut that counts.
    data = lines.take(min(args.limit, MAX_LINES), MAX_BYTES + 4)
    if not data:
        if args.offset == 1:
            return ToolOutput((Text("(empty file)"),))
        raise ToolFailed(f"{args.path} has {skipped} line{'s'[: skipped != 1]}; offset {args.offset} is past its end.")
    kept = keep_head(data.decode("utf-8", "replace"), min(args.limit, MAX_LINES))
    if not kept.cut_bytes and lines.at_end():
        return ToolOutput((Text(kept.text),))
    last = args.offset + count_lines(kept.text) - 1
    if kept.partial:
        note = (
            f"Line {last} is longer than {MAX_BYTES} bytes; this is its beginning. For the rest use bash: "
            f"sed -n {last}p {_quote(args.path)} | tail -c +{len(kept.text.encode()) + 1} | head -c {MAX_BYTES}. "
            f"For the lines after it: offset={last + 1}."
        )
    else:
        note = f"Lines {args.offset}-{last} of a longer file. Continue with offset={last + 1}."
    gap = "\n" if kept.text.endswith("\n") else "\n\n"
    return ToolOutput((Text(f"{kept.text}{gap}[{note}]"),), details={"next_offset": last + 1, "partial": kept.partial})


def _check_regular(path: str, mode: int) -> None:
    """Raise ToolFailed if a file of this mode is no regular file."""
    if stat.S_ISDIR(mode):
        raise ToolFailed(f"{path} is a directory; list it with bash (ls).")
    if not stat.S_ISREG(mode):
        raise ToolFailed(f"{path} is not a regular file but a pipe, a socket or a device.")


def _image(path: str, fd: int, kind: str, size: int) -> ToolOutput:
    """Return the image. Raises ToolFailed if it is too large."""
    if size > MAX_IMAGE:
        raise ToolFailed(
            f"{path} is an image of {size} bytes; more than {MAX_IMAGE} cannot be sent. Make it smaller first."
        )
    from base64 import b64encode

    data = os.pread(fd, MAX_IMAGE, 0)
    return ToolOutput((Text(f"{path} ({kind}, {len(data)} bytes)"), Image(kind, b64encode(data).decode())))


def _quote(path: str) -> str:
    """Return the path as a word of a shell command."""
    from shlex import quote

    return quote(path)
