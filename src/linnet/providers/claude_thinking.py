"""How Claude is asked to think, through whichever API. Pure."""

from typing import Any

from linnet.core.models import Model, Reasoning
from linnet.providers.output_limit import output_limit, thinking_budget, thinking_room

INTERLEAVED = "interleaved-thinking-2025-05-14"
"""The beta in which a model with a budget may think between calls."""
_LEAST_BUDGET = 1024
_MODES = ("disabled", "between_tools")


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
