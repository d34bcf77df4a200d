"""How models on Bedrock differ from each other."""

from typing import Literal

from msgspec import Struct


class Quirks(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What differs from model to model. What is not known of one is left out of its requests."""

    thinking_format: Literal["effort", "claude", "openai", "gpt-oss"] = "effort"
    """How thinking is asked for: by Bedrock's own field, or in the words of the model's vendor. Only Claude takes
    signatures back.
    """
    cache_points: bool = False
    """It takes marks for its cache."""
    binds_thinking: bool = False
    """A thought is refused after anything else than what the model was sent when it thought it."""
    interleaves: bool = True
    """A Claude with a budget may think between calls, if asked to."""
