"""What is known about a model: enough to choose it, to limit it and to price it."""

from typing import Literal, TypeAlias

from msgspec import Struct

Reasoning: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh"]


class Prices(Struct, frozen=True):
    """What a million tokens cost, in US dollars."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0


class Model(Struct, frozen=True):
    """A model of one provider."""

    id: str
    provider: str
    name: str = ""
    context_window: int = 128_000
    max_output: int = 8_192
    reasoning: bool = False
    images: bool = True
    prices: Prices | None = None  # None where nobody has said what they are.
    api: str = ""  # The vendor protocol it is spoken to in; filled in from its provider, like the base URL.
    base_url: str = ""
    xhigh: bool = False  # It takes that level of thinking.
    off: str = ""
    """What the vendor has to be told so that the model does not think, or thinks least; empty if it does not think
    unless asked to.
    """
    ends: str = ""
    """The day from which the vendor no longer serves it, as in 2026-11-30; empty if it has not said so."""


def possible(level: Reasoning, model: Model, *, with_tools: bool) -> Reasoning:
    """Return the level of thinking that the model can do, at most the one that was asked for."""
    if not model.reasoning or (with_tools and not thinks_with_tools(model)):
        return "off"
    return "high" if level == "xhigh" and not (model.xhigh or "codex-max" in model.id) else level


def thinks_with_tools(model: Model) -> bool:
    """Return whether the model may think where it is offered tools.

    OpenAI's Chat Completions refuses tools to models from GPT-5.4 on, if they are to think.
    """
    if model.provider != "openai" or not model.id.startswith("gpt-"):
        return True
    return gpt_generation(model.id) < (5, 4)


def gpt_generation(id: str) -> tuple[int, int]:
    """Return the two numbers in a GPT's name, such as 5 and 4 for `gpt-5.4-mini`; zeros for other models."""
    first, _, second = id.removeprefix("gpt-").partition("-")[0].partition(".")
    if not (id.startswith("gpt-") and first.isdecimal()):
        return 0, 0
    return int(first), int(second) if second.isdecimal() else 0
