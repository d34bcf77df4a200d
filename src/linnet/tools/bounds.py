"""Where the agent's own tools may read and write when commands are in a sandbox: where those may.

Tools run in the agent, and a command in the background can swap a file for a link between a look and a use. So what
counts is what was opened, by the name that the kernel gives it.
"""

import os
from contextlib import suppress

from linnet.errors import ToolFailed
from linnet.tools.sandbox_view import View


class Bounds:
    def __init__(self, view: View) -> None:
        self._view = view

    def check(self, path: str, *, writing: bool = False) -> None:
        """Raises ToolFailed if a tool may not read there, or not write."""
        real = os.path.realpath(path)
        access = self._view.access(real)
        if access == "hidden" or (writing and access == "read"):
            places = f"{self._view.cwd} and {self._view.temporary}"
            what = f"can only be written in {places}" if writing else "cannot be read there"
            raise ToolFailed(f"{path} is outside of the sandbox: files {what}.")

    def check_open(self, fd: int, *, writing: bool = False) -> None:
        self.check(os.readlink(f"/proc/self/fd/{fd}"), writing=writing)

    def open_folder(self, path: str) -> int:
        """A descriptor of a folder that may be written to; missing ones are made. No link on the way is followed that
        was not there when the path was looked at.
        """
        real = os.path.realpath(path)
        self.check(real, writing=True)
        at = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in real.split("/")[1:]:
                if self._view.access(os.path.join(os.readlink(f"/proc/self/fd/{at}"), name)) == "write":
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=at)
                flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                at, before = os.open(name, flags, dir_fd=at), at
                os.close(before)
            self.check_open(at, writing=True)
        except BaseException:
            os.close(at)
            raise
        return at
