"""Clients that start an agent which speaks zot's or pi's protocol, and talk to it.

>>> from linnet.client import ZotClient
"""

TYPE_CHECKING = False  # As type checkers know it, without the cost of importing `typing`.
__all__ = [
    "AgentGone",
    "AsyncEvents",
    "AsyncPiClient",
    "AsyncPiLegacyClient",
    "AsyncRun",
    "AsyncZotClient",
    "BadAnswer",
    "BadLine",
    "ClientError",
    "Events",
    "Image",
    "PiClient",
    "PiDraft",
    "PiLegacyClient",
    "Refused",
    "Run",
    "RunFailed",
    "TimedOut",
    "UnknownEvent",
    "ZotClient",
    "pi",
    "pi_results",
    "zot",
]

if TYPE_CHECKING:
    from linnet.client.awaited import AsyncEvents, AsyncPiClient, AsyncPiLegacyClient, AsyncRun, AsyncZotClient
    from linnet.client.blocking import Events, PiClient, PiLegacyClient, Run, ZotClient
    from linnet.client.pi_draft import PiDraft
    from linnet.core.messages import Image
    from linnet.errors import AgentGone, BadAnswer, ClientError, Refused, RunFailed, TimedOut
    from linnet.wire.incoming import BadLine, UnknownEvent
    from linnet.wire.pi.reading import incoming as pi
    from linnet.wire.pi.reading import results as pi_results
    from linnet.wire.zot import frames as zot

_WHERE = {
    "AsyncEvents": "linnet.client.awaited",
    "AsyncPiClient": "linnet.client.awaited",
    "AsyncPiLegacyClient": "linnet.client.awaited",
    "AsyncRun": "linnet.client.awaited",
    "AsyncZotClient": "linnet.client.awaited",
    "Events": "linnet.client.blocking",
    "PiClient": "linnet.client.blocking",
    "PiLegacyClient": "linnet.client.blocking",
    "Run": "linnet.client.blocking",
    "ZotClient": "linnet.client.blocking",
    "PiDraft": "linnet.client.pi_draft",
    "Image": "linnet.core.messages",
    "AgentGone": "linnet.errors",
    "BadAnswer": "linnet.errors",
    "ClientError": "linnet.errors",
    "Refused": "linnet.errors",
    "RunFailed": "linnet.errors",
    "TimedOut": "linnet.errors",
    "BadLine": "linnet.wire.incoming",
    "UnknownEvent": "linnet.wire.incoming",
}
_MODULES = {
    "pi": "linnet.wire.pi.reading.incoming",
    "pi_results": "linnet.wire.pi.reading.results",
    "zot": "linnet.wire.zot.frames",
}


def __getattr__(name: str) -> object:
    """Import a name when it is used: importing this module costs nothing, and asyncio is only for those who want it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name in _MODULES:
        return import_module(_MODULES[name])
    return getattr(import_module(_WHERE[name]), name)
