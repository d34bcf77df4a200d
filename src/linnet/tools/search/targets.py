"""Resolves the path that grep, find or ls is asked to look at."""

import os

from linnet.errors import ToolFailed
from linnet.tools.context import ToolContext
from linnet.tools.text.os_errors import explain


def look(name: str, context: ToolContext) -> tuple[str, int]:
    """Return the absolute path and the mode of what is there. Raises ToolFailed if there is nothing, or no access."""
    path = os.path.normpath(context.resolve(name or "."))
    try:
        return path, os.stat(path).st_mode
    except OSError as error:
        if context.wording != "zot":
            raise ToolFailed(f"Path not found: {path}") from None
        raise explain(name, error) from None
