"""Decides how many tokens a model is allowed for its answer, by a guess of the prompt's length, on the safe side."""

from collections.abc import Iterable

from linnet.core.context.history import Sendable
from linnet.core.messages import Image, ToolResult, UserMessage
from linnet.core.models import Model, Reasoning

LONGEST = 32_000  # Enough for any file worth writing in one call, and far from most context windows.
SHORTEST = 4_096
_BYTES_PER_TOKEN = 3  # Prose has four, code three and a half; a guess too high only shortens the longest answers.


_ROOM: dict[Reasoning, int] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": 32768,
    "max": 65536,
}


def thinking_room(level: Reasoning) -> int:
    """Return how many tokens to allow for thoughts, for a model that decides by itself how long it thinks."""
    return _ROOM.get(level, 0)


def output_limit(model: Model, prompt_bytes: int, extra: int = 0) -> int:
    """Return the tokens to allow for the answer, `extra` of them for thinking.

    Some models refuse a request whose prompt and allowance together exceed the context window, so a long prompt lowers
    the allowance instead of failing while it would still fit.
    """
    wanted = min(model.max_output, LONGEST + extra)
    left = model.context_window - prompt_bytes // _BYTES_PER_TOKEN
    return max(min(wanted, left), min(SHORTEST, model.max_output), 1)


def thinking_budget(told: int, limit: int) -> int:
    """Return how many of the tokens that are allowed may be thoughts: as many as told, but with room for an answer."""
    return min(told, limit - min(SHORTEST, limit // 2))


def image_bytes(messages: Iterable[Sendable]) -> int:
    """Return the bytes of all images. They do not count as text: images are priced by their area."""
    contents = (m.content for m in messages if isinstance(m, UserMessage | ToolResult))
    return sum(len(part.data) for content in contents for part in content if isinstance(part, Image))
