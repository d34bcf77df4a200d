"""What a client may set about a session: its mode, its model, and how much it thinks."""

from collections.abc import Sequence
from typing import get_args

from linnet.core.models import Model, Reasoning
from linnet.core.setting_names import Mode
from linnet.wire.acp import frames

MODES = (
    frames.Mode("ask", "Ask", "Ask before anything is changed or run"),
    frames.Mode("auto", "Auto", "Run all tools without asking"),
    frames.Mode("read-only", "Read only", "Read and search; refuse everything else"),
    frames.Mode("deny", "Deny", "Refuse every tool that no rule allows"),
)
assert {each.id for each in MODES} == set(get_args(Mode))


def modes(current: str) -> frames.Modes:
    """Return the modes there are."""
    return frames.Modes(current, list(MODES))


def options(
    mode: str, model: Model, models: Sequence[Model], level: Reasoning, levels: Sequence[Reasoning]
) -> list[frames.Option]:
    """Return all options and what they are set to."""
    listed = {name_of(each): each for each in (*models, model)}
    return [
        frames.Option(
            "mode", "Mode", "mode", mode, [frames.Choice(each.id, each.name, each.description) for each in MODES]
        ),
        frames.Option(
            "model",
            "Model",
            "model",
            name_of(model),
            [frames.Choice(name, each.name or each.id) for name, each in listed.items()],
        ),
        frames.Option(
            "thinking",
            "Thinking",
            "thought_level",
            level,
            [frames.Choice(each, each.capitalize()) for each in dict.fromkeys((*levels, level))],
        ),
    ]


def name_of(model: Model) -> str:
    """Return the value that stands for a model."""
    return f"{model.provider}/{model.id}"
