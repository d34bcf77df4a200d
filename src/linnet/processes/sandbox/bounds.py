"""Keeps the agent's own file tools to where commands in the sandbox may read and write.

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
    """What the tools of one session may read and write."""

    def __init__(self, view: View) -> None:
        self._view = view

    def check(self, path: str, *, writing: bool = False) -> None:
        """Raise ToolFailed if a tool may not read this path; with `writing`, if it may not write it."""
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
        """Return whether a path without links is read-only to commands, or would be if it were there."""
        cwd = self._view.cwd
        if not within(real, cwd):
            return False
        return is_protected(real, cwd) or any(within(real, each) for each in present(cwd))

    def check_open(self, fd: int, *, writing: bool = False) -> None:
        """Check like `check`, but the file that was opened, whatever its name leads to by now. Raises ToolFailed."""
        self.check(os.readlink(f"/proc/self/fd/{fd}"), writing=writing)

    def open_folder(self, target: str) -> int:
        """Return a descriptor of the folder of `target`, a path without links, which may be written in it.

        Missing folders are made. No link is followed, so that one which a command has put on the way meanwhile is an
        error. Raises ToolFailed and OSError.
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
