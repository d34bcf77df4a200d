"""Lines of the earlier pi protocol as commands: there are three."""

from msgspec import Raw

from linnet.core import commands
from linnet.wire.dialect import Asked, Rejected
from linnet.wire.fields import ABSENT
from linnet.wire.jsonl import Overlong
from linnet.wire.pi.decode import compact, unknown
from linnet.wire.pi.line import Line, one_line, read
from linnet.wire.pi.prompts import content, message


class Prompt(commands.Prompt, frozen=True, kw_only=True):
    """A prompt with its text and attachments as they were sent: clients are shown these."""

    said: str
    attachments: Raw = ABSENT


def decode(line: bytes | Overlong) -> Asked | Rejected:
    return read(line, _understand)


def _understand(name: str, fields: Line) -> commands.Command:
    match name:
        case "prompt":
            return _prompt(fields)
        case "abort":
            return commands.Abort()
        case "compact":
            return compact(fields)
        case _:
            raise unknown(name)


def _prompt(fields: Line) -> Prompt:
    sent = content(fields)
    said = message.optional(fields.message) or ""
    return Prompt(sent.text, sent.images, "refuse", slash="at_once", said=said, attachments=_kept(fields.attachments))


def _kept(attachments: Raw) -> Raw:
    return ABSENT if bytes(attachments) == b"null" else one_line(attachments)
