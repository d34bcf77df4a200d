"""Encodes all that came of prompts from the command line as one line of JSON."""

from typing import Any

from msgspec import UNSET, Struct

from linnet.core.commands import Done
from linnet.core.context.cost import subtract
from linnet.core.messages import Usage
from linnet.wire.jsonl import encode_lines
from linnet.wire.zot.encode import STOP
from linnet.wire.zot.responses import Tokens
from linnet.wire.zot.transcript import tokens


class ResultLine(Struct, frozen=True, kw_only=True):
    """The fields of the SDK's result that are of use to a program. Each is always there, and null if it has
    no value.
    """

    text: str
    value: Any
    stop: str
    error: str | None
    code: str | None
    cost: float | None
    usage: Tokens
    steps: int
    session: str | None


def result_line(text: str, ended: Done, before: Usage, after: Usage, steps: int, session: str | None) -> bytes:
    """Return the line. `before` and `after` are what the session had cost before the prompts and after them; `session`
    is the file that it is kept in.
    """
    used = tokens(subtract(after, before))
    result = ResultLine(
        text=text,
        value=None if ended.value is UNSET else ended.value,
        stop=STOP[ended.stop],
        error=ended.error or None,
        code=ended.code,
        cost=used.cost_usd if used.cost_known else None,
        usage=used,
        steps=steps,
        session=session,
    )
    return encode_lines([result])
