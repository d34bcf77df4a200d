"""The words that a model is told in the place of what cannot be sent to it, or of nothing. Pure."""

NOTHING_SAID = "(nothing)"
UNSEEN = "(an image that this model cannot see)"
SEE_BELOW = "(see the image in the next message)"
IMAGES_FOLLOW = "The tool's images:"


def noted(text: str, note: str) -> str:
    """Return a text with a note below it."""
    return f"{text}\n{note}" if text else note
