"""A coding agent on a pipe, or in your own process.

>>> from linnet import Runtime
"""

TYPE_CHECKING = False  # Type checkers know better. Importing it from typing would be most of what this import costs.

__version__ = "0.3.0"
__all__ = [
    "AsyncContext",
    "AsyncRun",
    "AsyncRuntime",
    "AsyncSessions",
    "BadInput",
    "BadOutput",
    "BashRun",
    "Busy",
    "CalledOff",
    "Cancelled",
    "Closed",
    "Config",
    "ConfigError",
    "Context",
    "ContextOverflow",
    "Contradiction",
    "Image",
    "LimitReached",
    "LinnetError",
    "LogRefused",
    "LogUnavailable",
    "MissingKey",
    "ModelRefused",
    "NotRunning",
    "NothingToCompact",
    "OutlineEntry",
    "ProviderError",
    "ProviderRejected",
    "ProviderUnavailable",
    "Result",
    "Run",
    "Runtime",
    "SessionError",
    "SessionInUse",
    "SessionInfo",
    "Sessions",
    "State",
    "Stats",
    "ToolCall",
    "ToolFailed",
    "UnknownModel",
    "UnknownProvider",
    "__version__",
    "events",
    "frames",
    "questions",
    "tool",
]

if TYPE_CHECKING:
    from linnet import events, frames, questions
    from linnet.core.messages import BashRun, Image, ToolCall
    from linnet.core.session_info import OutlineEntry, SessionInfo
    from linnet.errors import (
        BadInput,
        BadOutput,
        Busy,
        CalledOff,
        Cancelled,
        Closed,
        ConfigError,
        ContextOverflow,
        Contradiction,
        LimitReached,
        LinnetError,
        LogRefused,
        LogUnavailable,
        MissingKey,
        ModelRefused,
        NothingToCompact,
        NotRunning,
        ProviderError,
        ProviderRejected,
        ProviderUnavailable,
        SessionError,
        SessionInUse,
        ToolFailed,
        UnknownModel,
        UnknownProvider,
    )
    from linnet.runtime.config.config import Config
    from linnet.sdk.aio import AsyncRun, AsyncRuntime
    from linnet.sdk.methods import State, Stats
    from linnet.sdk.result import Result
    from linnet.sdk.runtime import Run, Runtime
    from linnet.sdk.sessions import AsyncSessions, Sessions
    from linnet.tools.functions.call_context import AsyncContext, Context
    from linnet.tools.functions.function import tool
else:
    # Importing linnet costs nothing; what is used is loaded when it is used. asyncio alone is 50 ms. Type checkers
    # do not see this, so that a name which is not there is an error to them.
    _WHERE = {
        "AsyncContext": "tools.functions.call_context",
        "AsyncRun": "sdk.aio",
        "AsyncRuntime": "sdk.aio",
        "AsyncSessions": "sdk.sessions",
        "BashRun": "core.messages",
        "Config": "runtime.config.config",
        "Context": "tools.functions.call_context",
        "Image": "core.messages",
        "OutlineEntry": "core.session_info",
        "Result": "sdk.result",
        "Run": "sdk.runtime",
        "Runtime": "sdk.runtime",
        "SessionInfo": "core.session_info",
        "Sessions": "sdk.sessions",
        "State": "sdk.methods",
        "Stats": "sdk.methods",
        "ToolCall": "core.messages",
        "tool": "tools.functions.function",
    }
    _MODULES = ("events", "frames", "questions")

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"linnet.{name}")
        return getattr(import_module(f"linnet.{_WHERE.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return __all__
