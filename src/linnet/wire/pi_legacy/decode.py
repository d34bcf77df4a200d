"""Decodes lines of the earlier pi protocol into commands, of which there are three."""

from linnet.core import commands
from linnet.wire.dialect import Asked, Rejected
from linnet.wire.jsonl import Overlong
from linnet.wire.pi.decode import compact, unknown
from linnet.wire.pi.line import Line, read
from linnet.wire.pi.prompts import prompt


def decode(line: bytes | Overlong) -> Asked | Rejected:
    """Return the command in a line, or why there is none. Never raises."""
    return read(line, _understand)


def _understand(name: str, fields: Line) -> commands.Command:
    match name:
        case "prompt":
            return prompt(fields, "refuse", "at_once")
        case "abort":
            return commands.Abort()
        case "compact":
            return compact(fields)
        case _:
            raise unknown(name)
