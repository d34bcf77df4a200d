"""All that a provider of your own needs, under a short name: what it is asked, and what it may yield."""

from linnet.core.cancel import Cancel
from linnet.core.deltas import (
    CallDelta,
    CallOpened,
    CallSigned,
    Delta,
    PartClosed,
    ReplyOpened,
    Stopped,
    TextDelta,
    TextSigned,
    ThinkingDelta,
    ThinkingSigned,
    UsageReported,
)
from linnet.core.messages import (
    AssistantMessage,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from linnet.core.models import Model, Prices
from linnet.core.toolspec import ToolSpec
from linnet.errors import ContextOverflow, ModelRefused, ProviderRejected, ProviderUnavailable
from linnet.providers.base import Request
from linnet.providers.program.contract import ModelProvider, Streamed

__all__ = [
    "AssistantMessage",
    "CallDelta",
    "CallOpened",
    "CallSigned",
    "Cancel",
    "ContextOverflow",
    "Delta",
    "Image",
    "Model",
    "ModelProvider",
    "ModelRefused",
    "PartClosed",
    "Prices",
    "ProviderRejected",
    "ProviderUnavailable",
    "ReplyOpened",
    "Request",
    "Stopped",
    "Streamed",
    "Text",
    "TextDelta",
    "TextSigned",
    "Thinking",
    "ThinkingDelta",
    "ThinkingSigned",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Usage",
    "UsageReported",
    "UserMessage",
]
