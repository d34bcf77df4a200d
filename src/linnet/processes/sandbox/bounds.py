"""Where the agent's own tools may read and write when commands are in a sandbox: where those may.

Tools run in the agent, and a command in the background can swap a file for a link between a look and a use. So what
counts is what was opened, by the name that the kernel gives it.
"""

import os
from contextlib import suppress

from linnet.errors import ToolFailed
from linnet.processes.lookup import within
from linnet.processes.sandbox.protected_paths import is_protected, present
from linnet.processes.sandbox.view import View


class Bounds:
    def __init__(self, view: View) -> None:
        self._view = view

    def check(self, path: str, *, writing: bool = False) -> None:
        """Raises ToolFailed if a tool may not read there, or not write."""
        real = os.path.realpath(path)
        access = self._view.access(real)
        if writing and access == "write" and self._is_protected(real):
            raise ToolFailed(
                f"{path} cannot be written in the sandbox: it says what other programs run, or what an agent does. "
                "Ask the user to change it."
            )
        if access == "hidden" or (writing and access == "read"):
            places = f"{self._view.cwd} and {self._view.temporary}"
            what = f"can only be written in {places}" if writing else "cannot be read there"
            raise ToolFailed(f"{path} is outside of the sandbox: files {what}.")

    def _is_protected(self, real: str) -> bool:
        cwd = self._view.cwd
        if not within(real, cwd):
            return False
        return is_protected(real, cwd) or any(within(real, each) for each in present(cwd))

    def check_open(self, fd: int, *, writing: bool = False) -> None:
        self.check(os.readlink(f"/proc/self/fd/{fd}"), writing=writing)

    def open_folder(self, target: str) -> int:
        """A descriptor of the folder in which `target`, a path without links, may be written; missing ones are made.
        No link on the way is followed that was not there when the path was looked at.
        """
        self.check(target, writing=True)
        real = os.path.dirname(target)
        at = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in real.split("/")[1:]:
                if self._view.access(os.path.join(os.readlink(f"/proc/self/fd/{at}"), name)) == "write":
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=at)
                flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                at, before = os.open(name, flags, dir_fd=at), at
                os.close(before)
            self.check(os.path.join(os.readlink(f"/proc/self/fd/{at}"), os.path.basename(target)), writing=True)
        except BaseException:
            os.close(at)
            raise
        return at
