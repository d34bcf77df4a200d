"""Extensions in Python: a file or a package with a function `extend(linnet)`.

Its types can be imported from here, for annotations: what it is given, and the events that its handlers get. No
extension has to import anything.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linnet.core.extensions.extension_events import (
        AgentEnded,
        AgentStarted,
        MessageEnded,
        MessageGrew,
        MessageStarted,
        ModelSelected,
        SessionCompacted,
        SessionEnded,
        SessionStarted,
        ThinkingSelected,
        ToolEnded,
        ToolGrew,
        ToolStarted,
        TurnEnded,
        TurnStarted,
    )
    from linnet.core.extensions.hooks import (
        AgentStarting,
        BashAsked,
        ContextSent,
        Decision,
        InputGiven,
        ReplyGiven,
        SessionBranching,
        SessionCompacting,
        SessionSwitching,
        ToolCalling,
        ToolReturning,
    )
    from linnet.extensions.python.api import Linnet
    from linnet.extensions.python.context import Context

__all__ = [
    "AgentEnded",
    "AgentStarted",
    "AgentStarting",
    "BashAsked",
    "Context",
    "ContextSent",
    "Decision",
    "InputGiven",
    "Linnet",
    "MessageEnded",
    "MessageGrew",
    "MessageStarted",
    "ModelSelected",
    "ReplyGiven",
    "SessionBranching",
    "SessionCompacted",
    "SessionCompacting",
    "SessionEnded",
    "SessionStarted",
    "SessionSwitching",
    "ThinkingSelected",
    "ToolCalling",
    "ToolEnded",
    "ToolGrew",
    "ToolReturning",
    "ToolStarted",
    "TurnEnded",
    "TurnStarted",
]


def __getattr__(name: str) -> Any:
    """Import a type when somebody asks for it: an extension without annotations needs none."""
    if name not in __all__:
        raise AttributeError(name)
    from linnet.core.extensions import extension_events, hooks
    from linnet.extensions.python import api, context

    return next(getattr(module, name) for module in (api, context, hooks, extension_events) if hasattr(module, name))
