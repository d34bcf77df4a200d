"""Strips from a command's output what was meant for a terminal."""

import re

# Colours and cursor moves (CSI), titles and links (OSC), and the two-character escapes.
_ESCAPES = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f]"  # All but tab and line feed.


def printable(text: str) -> str:
    """Return the text without escape sequences and control characters. Tabs and line feeds stay."""
    return re.sub(_CONTROLS, "", re.sub(_ESCAPES, "", text))
