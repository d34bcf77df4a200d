"""What a tool is given besides its arguments."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from linnet.core.cancel import Cancel

if TYPE_CHECKING:
    from linnet.tools.process import Processes


class ToolContext:
    """`progress` takes new output while the tool runs. `processes` starts children and sees that none is left."""

    def __init__(self, cwd: Path, cancel: Cancel, progress: Callable[[str], None], processes: "Processes") -> None:
        self.cwd = cwd
        self.cancel = cancel
        self.progress = progress
        self.processes = processes

    def resolve(self, path: str) -> Path:
        """Relative paths start in the working folder; `~` is the user's home."""
        return self.cwd / Path(path).expanduser()
