"""Makes a sandbox with the agent's tools in it, for tests."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import Text, ToolCall
from linnet.processes.process import Processes
from linnet.processes.sandbox.bounds import Bounds
from linnet.processes.sandbox.bubblewrap import Sandbox
from linnet.processes.sandbox.files_only import FilesOnly
from linnet.tools.context import ToolContext
from linnet.tools.registry import Registry
from linnet.tools.standard import NAMES, standard_tools

SECRET = "planted-1d8b33aa"


class Place:
    """A sandbox around a folder of work, with the agent's tools, a home and a folder outside."""

    def __init__(
        self,
        folder: Path,
        *,
        network: bool = False,
        hosts: Sequence[str] = (),
        files_only: bool = False,
        prepare: Callable[[Path], None] = lambda work: None,
    ) -> None:
        """Make all of it in this folder. `prepare` puts something into the folder of work before there is a sandbox."""
        self.work, self.home, self.outside = (folder.resolve() / name for name in ("work", "home", "outside"))
        for each in (self.work, self.home, self.outside):
            each.mkdir()
        (self.outside / "secret").write_text(SECRET)
        (self.home / ".gitconfig").write_text("[user]\n  name = Ada\n  email = ada@example.org\n")
        prepare(self.work)
        environ = {**os.environ, "HOME": str(self.home)}
        own = str(self.home / ".linnet")
        self.sandbox: Sandbox | FilesOnly = (
            FilesOnly(str(self.work), own, environ)
            if files_only
            else Sandbox(str(self.work), own, environ, network=network, hosts=hosts)
        )
        self.processes = Processes(sandbox=self.sandbox)
        self.tools = Registry(standard_tools(NAMES))

    def call(self, name: str, **args: object) -> str:
        """Call a tool, and return the text of its output, after FAILED if it is an error."""
        bounds = Bounds(self.sandbox.view)
        context = ToolContext(self.work, CancelToken(), lambda news: None, self.processes, bounds=bounds)
        output = self.tools.run(ToolCall("1", name, args), context)
        text = "".join(part.text for part in output.content if isinstance(part, Text))
        return f"FAILED {text}" if output.is_error else text

    def bash(self, command: str) -> str:
        """Run a command in the sandbox, and return as `call`."""
        return self.call("bash", command=command)
