"""A coding agent on a pipe, or in your own process.

>>> from linnet import Runtime, Config
"""

TYPE_CHECKING = False  # As type checkers know it, without the cost of importing `typing`.
__version__ = "0.3.0"
__all__ = [
    "AsyncRuntime",
    "Busy",
    "Cancelled",
    "Config",
    "LinnetError",
    "Runtime",
    "SessionError",
    "__version__",
    "frames",
]

if TYPE_CHECKING:
    from linnet.errors import Busy, Cancelled, LinnetError, SessionError
    from linnet.runtime.config import Config
    from linnet.sdk.aio import AsyncRuntime
    from linnet.sdk.runtime import Runtime
    from linnet.wire.zot import frames

_WHERE = {
    "AsyncRuntime": "linnet.sdk.aio",
    "Busy": "linnet.errors",
    "Cancelled": "linnet.errors",
    "Config": "linnet.runtime.config",
    "LinnetError": "linnet.errors",
    "Runtime": "linnet.sdk.runtime",
    "SessionError": "linnet.errors",
    "frames": "linnet.wire.zot.frames",
}


def __getattr__(name: str) -> object:
    """Importing linnet costs nothing; what is used is loaded when it is used. asyncio alone would be 50 ms."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_WHERE[name])
    return module if name == "frames" else getattr(module, name)
