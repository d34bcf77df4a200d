"""Decodes lines of the earlier pi protocol into commands, of which there are three."""

from linnet.core import commands
from linnet.wire.command_rows import Row, row
from linnet.wire.dialect import Asked, Rejected
from linnet.wire.jsonl import Overlong
from linnet.wire.pi.decode import COMPACT, unknown
from linnet.wire.pi.line import ATTRIBUTES, Line, read

_ABORT = row("abort", "Cancel what runs.", commands.Abort)


def decode(line: bytes | Overlong) -> Asked | Rejected:
    """Return the command in a line, or why there is none. Never raises."""
    return read(line, _understand)


def rows() -> list[Row]:
    """Return all commands."""
    from linnet.wire.pi.prompts import LEGACY  # The first answer needs none of it.

    return [LEGACY, _ABORT, COMPACT]


def _understand(name: str, fields: Line) -> commands.Command:
    found = next((each for each in rows() if each.name == name), None)
    if found is None:
        raise unknown(name)
    return found.command(fields, ATTRIBUTES)
