"""What is known about a model: enough to choose it, to limit it and to price it.

How a vendor spells any of this belongs to `providers`.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

Reasoning: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
LEVELS: tuple[Reasoning, ...] = get_args(Reasoning)
PromptCache: TypeAlias = Literal["off", "short", "long"]
"""How long a vendor is asked to keep what it has read: minutes, or an hour and more, where there is a choice."""
NOTHING: Mapping[Any, Any] = {}


class Prices(Struct, frozen=True):
    """What a million tokens cost, in US dollars."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    cache_write_long: float = 0
    """What is written to a cache that keeps it for an hour or longer; 0: as `cache_write`."""
    long_prompt: int = 0
    """A prompt of more tokens than this costs what `long` says, all of it, and `long` may have such a limit in turn; 0:
    every prompt costs the same.
    """
    long: "Prices | None" = None
    changes_on: str = ""
    """The day from which `changed` holds, as in 2026-12-01; empty if the vendor has announced no other prices."""
    changed: "Prices | None" = None


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
    api: str = ""  # The API that it is asked through, by its name in `providers.apis`.
    base_url: str = ""
    levels: Mapping[Reasoning, str | int] = NOTHING
    """The levels of thinking that it has, and what its API is told for each. Without `off` it always thinks."""
    thinks_with_tools: bool = True
    """It may think where it is offered tools."""
    quirks: Mapping[str, Any] = NOTHING
    """How it differs from other models of its API, in that API's words."""
    headers: Mapping[str, str] = NOTHING
    """What is sent with each request, beside what its API wants."""
    ends: str = ""
    """The day from which the vendor no longer serves it, as in 2026-11-30; empty if it has not said so."""
    successor: str = ""
    """The model of the same provider that takes its place, if it ends."""


def levels(model: Model, *, with_tools: bool) -> tuple[Reasoning, ...]:
    """Return the levels of thinking that the model has, the lowest first: only `off` if it does not think."""
    if not model.reasoning or (with_tools and not model.thinks_with_tools):
        return ("off",)
    return tuple([level for level in LEVELS if level in model.levels]) or ("off",)


def possible(level: Reasoning, model: Model, *, with_tools: bool) -> Reasoning:
    """Return the level itself if the model has it; else the next one above that it has, or else its highest."""
    known = levels(model, with_tools=with_tools)
    if level in known:
        return level
    wanted = LEVELS.index(level)
    return next((each for each in known if LEVELS.index(each) > wanted), known[-1])
