"""What is known of a model: enough to choose it, to limit it and to price it."""

from typing import Literal, TypeAlias

from msgspec import Struct

Reasoning: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh"]


class Prices(Struct, frozen=True):
    """US dollars for a million tokens."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0


class Model(Struct, frozen=True):
    """`prices` are None where nobody has said what they are."""

    id: str
    provider: str
    name: str = ""
    context_window: int = 128_000
    max_output: int = 8_192
    reasoning: bool = False
    images: bool = True
    prices: Prices | None = None
    api: str = ""  # The vendor protocol it is spoken to in; filled in from its provider, like the base URL.
    base_url: str = ""


def possible(level: Reasoning, model: Model) -> Reasoning:
    """What the model can do of the level that was asked for."""
    if not model.reasoning:
        return "off"
    return "high" if level == "xhigh" and "codex-max" not in model.id else level
