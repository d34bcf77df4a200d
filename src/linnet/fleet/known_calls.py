"""What the ledger knows of the calls of a run that was left off. It knows more than what was told: a call begins there
before it does anything, and whether it may be repeated.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from linnet.core.events import Event, ReplyEnded, ToolReturned
from linnet.core.fleet.records import Effect
from linnet.core.left_off import Known, LeftOff
from linnet.core.messages import ToolResult
from linnet.fleet.ledger import called


def names(left: LeftOff, told: Sequence[Event]) -> list[str]:
    """Return what names each call of the last reply in the ledger."""
    run = left.run
    if run is None or run.reply is None:
        return []
    reply = next((each.id for each in reversed(told) if isinstance(each, ReplyEnded)), "")
    return [called(reply, run.reply.calls, call) for call in run.reply.calls]


def known_calls(left: LeftOff, told: Sequence[Event], names: Sequence[str], effects: Mapping[str, Effect]) -> LeftOff:
    """Return where the run was left off, as the ledger knows it."""
    if left.run is None or left.run.reply is None:
        return left
    reply_at = max(at for at, each in enumerate(told) if isinstance(each, ReplyEnded))
    returned = {each.result.call_id: each.result for each in told[reply_at:] if isinstance(each, ToolReturned)}
    calls = left.run.reply.calls
    known = tuple(
        _known(before, effects.get(name), returned.get(call.id))
        for before, name, call in zip(left.run.known, names, calls, strict=True)
    )
    return replace(left, run=replace(left.run, known=known))


def _known(before: Known, effect: Effect | None, returned: ToolResult | None) -> Known:
    if isinstance(before, ToolResult) or before == "asked":
        return before
    if effect is None:
        return "not_begun"
    if effect.state == "done":
        return returned if returned is not None else "unknown"
    return "not_begun" if effect.repeatable else "unknown"
