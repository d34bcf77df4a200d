"""Opens a file that people wrote for the agent, where commands in a sandbox can put links in its place.

The agent can read what they cannot. So a link that lies where they can write leads no further than they can see: what
counts is each folder on the way, and what was opened in the end, not what a name led to when it was looked at.
"""

import os
from collections import deque
from errno import ELOOP
from stat import S_ISLNK

from linnet.errors import BadInput
from linnet.processes.lookup import within
from linnet.processes.sandbox.view import View

MOST_LINKS = 40  # As the kernel.
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def opened(path: str, flags: int, view: View) -> int:
    """Open a file, and return its descriptor. Raises OSError; BadInput if a link leads out of what commands see."""
    found, by_their_link = _found(path, view)
    try:
        if by_their_link and view.access(_name(found)) == "hidden":
            raise BadInput("it is a link that leads out of the sandbox")
        return os.open(f"/proc/self/fd/{found}", flags & ~os.O_NOFOLLOW)  # This very file, whatever is there by now.
    finally:
        os.close(found)


def _found(path: str, view: View) -> tuple[int, bool]:
    """Return a descriptor of what is there, not opened for reading, and whether a link that commands may have made led
    to it. Raises OSError.
    """
    left = deque(os.path.abspath(path).split("/"))
    at = os.open("/", _LOOK)
    theirs, links = False, 0
    try:
        while left:
            name = left.popleft()
            if name in ("", "."):
                continue
            child = os.open(name, _LOOK, dir_fd=at)
            try:
                is_link = S_ISLNK(os.fstat(child).st_mode)
                target = os.readlink("", dir_fd=child) if is_link else ""
            except BaseException:
                os.close(child)
                raise
            if not is_link:
                os.close(at)
                at = child
                continue
            os.close(child)
            links += 1
            if links > MOST_LINKS:
                raise OSError(ELOOP, os.strerror(ELOOP), path)
            theirs = theirs or within(_name(at), view.cwd) or within(_name(at), view.temporary)
            left.extendleft(reversed(target.split("/")))
            if target.startswith("/"):
                os.close(at)
                at = os.open("/", _LOOK)
    except BaseException:
        os.close(at)
        raise
    return at, theirs


def _name(fd: int) -> str:
    """Return what the kernel calls it: a path without links."""
    return os.readlink(f"/proc/self/fd/{fd}")
