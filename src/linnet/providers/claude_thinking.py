"""How Claude is asked to think, through whichever API, and which of its thoughts go back to it. Pure.

Some models refuse a thought that is sent back after anything else than what they were sent when they thought it: such a
thought has a digest of that, and is left out where it does not match.
"""

from typing import Any

from msgspec import Struct

from linnet.core.models import Model, Reasoning
from linnet.providers.body import encode
from linnet.providers.output_limit import output_limit, thinking_budget, thinking_room

INTERLEAVED = "interleaved-thinking-2025-05-14"
"""The beta in which a model with a budget may think between calls."""
_LEAST_BUDGET = 1024
_MODES = ("disabled", "between_tools")


class Before(Struct, frozen=True):
    """What is known of the groups of messages before one."""

    begun: bool = False
    digest: str = ""  # Of all of them, and of system prompt and tools; empty if thoughts are not bound.


def start(bound_to: object) -> Before:
    """Return what is known before the first message. `bound_to` is what else thoughts are bound to; None if they are
    not bound at all.
    """
    return Before() if bound_to is None else Before(digest=after(Before(digest="-"), bound_to).digest)


def after(before: Before, said: object) -> Before:
    """Return what is known after this was said, too."""
    if not before.digest:
        return Before(begun=True)
    from hashlib import blake2b  # 2 ms that only models with bound thoughts should pay for

    return Before(begun=True, digest=blake2b(before.digest.encode() + encode(said), digest_size=16).hexdigest())


def limits(model: Model, level: Reasoning, prompt_bytes: int) -> dict[str, Any]:
    """Return the fields that say how long the model may think and answer, as Anthropic spells them: `max_tokens`
    always.
    """
    told = model.levels.get(level, "") if model.reasoning else ""
    if told == "":
        return {"max_tokens": output_limit(model, prompt_bytes)}
    if told in _MODES:
        return {"max_tokens": output_limit(model, prompt_bytes), "thinking": {"type": told}}
    if isinstance(told, str):
        return {
            "max_tokens": output_limit(model, prompt_bytes, thinking_room(level)),
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": told},
        }
    limit = output_limit(model, prompt_bytes, told)
    budget = thinking_budget(told, limit)
    if budget < _LEAST_BUDGET:
        return {"max_tokens": limit}
    return {"max_tokens": limit, "thinking": {"type": "enabled", "budget_tokens": budget}}
