"""What a tool is given besides its arguments."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

from linnet.core.cancel import Cancel
from linnet.errors import ToolFailed

if TYPE_CHECKING:
    from linnet.tools.process import Processes

Wording: TypeAlias = Literal["zot", "pi"]


class ToolContext:
    """`progress` takes new output while the tool runs. `processes` starts children and sees that none is left.

    `wording`: clients show results, and some look into them, so they are told in the words of the agent that a client
    was written for.
    """

    def __init__(
        self,
        cwd: str | os.PathLike[str],
        cancel: Cancel,
        progress: Callable[[str], None],
        processes: "Processes",
        wording: Wording = "zot",
    ) -> None:
        self.cwd = os.fspath(cwd)
        self.wording = wording
        self.cancel = cancel
        self.progress = progress
        self.processes = processes

    def resolve(self, path: str) -> str:
        """Relative paths start in the working folder; `~` is the user's home."""
        try:
            usable = b"\0" not in os.fsencode(path)
        except UnicodeEncodeError:
            usable = False
        if not usable:
            raise ToolFailed(f"{path!r} cannot be the name of a file.")
        return os.path.join(self.cwd, os.path.expanduser(path))  # `~name` stays as it is if nobody has that name.
