"""Shows a page in a browser without its token being seen: everybody may read the command line of a process.

What the browser is started with is a file that only its owner can read, and that leads to the page.
"""

import os
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from html import escape

SECONDS = 30.0  # A browser that has not read the file by then has not been started.
_PAGE = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={}"><title>linnet</title>\n'


_written: list[str] = []


def show(url: str) -> bool:
    """Show an address, and return whether a browser was started. It gets none of our descriptors."""
    with suppress(OSError):
        fd, path = tempfile.mkstemp(prefix="linnet-", suffix=".html")  # For its owner alone.
        _written.append(path)
        with os.fdopen(fd, "w") as file:
            file.write(_PAGE.format(escape(url)))
        removal = threading.Timer(SECONDS, _remove, (path,))
        removal.daemon = True
        removal.start()
        command = [sys.executable, "-m", "webbrowser", f"file://{path}"]
        nowhere = subprocess.DEVNULL
        return not subprocess.call(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)
    return False


def forget() -> None:
    """Remove what browsers were started with, before this process ends."""
    for path in _written:
        _remove(path)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
