"""The protocols, from the client's side."""

from collections.abc import Iterable

from linnet.client.agent import Options, Speech
from linnet.client.pi_work import LegacyWork, PiWork
from linnet.client.spoken import PiSpoken, ZotSpoken
from linnet.client.zot_work import ZotWork
from linnet.errors import RunFailed
from linnet.wire.pi import incoming as pi
from linnet.wire.zot import frames
from linnet.wire.zot import incoming as zot

ZOT: Speech[frames.Event] = Speech(("rpc",), zot.reader, ZotWork, ZotSpoken)
PI: Speech[pi.Event] = Speech(("--mode", "rpc"), pi.reader, PiWork, PiSpoken)
PI_LEGACY: Speech[pi.Event] = Speech(("--mode", "rpc", "--dialect", "pi-legacy"), pi.reader, LegacyWork, PiSpoken)


def with_token(token: str | None, options: Options) -> Options:
    """The options of a client whose agent asks for this token. Without one, whatever the environment says holds."""
    if not token:
        return options
    return {**options, "env": {**(options.get("env") or {}), "ZOTCORE_RPC_TOKEN": token}}


def summary(events: Iterable[object]) -> str:
    """What a compaction came to. Raises RunFailed."""
    for event in events:
        if isinstance(event, frames.CompactDone):
            return event.summary
        if isinstance(event, frames.Error):
            raise RunFailed(event.message)
    raise RunFailed("the compaction was aborted")
