"""What systemd has for a service: a socket that it listened on before, and being told how far the service has come.

The protocols are a few variables, which anybody can set; nothing of systemd's is needed.
"""

import os
import socket
from contextlib import suppress

from linnet.errors import ConfigError

FIRST = 3  # The number of the first descriptor that is passed.
PATIENCE = 5.0  # Seconds that systemd has to take a message.


def inherited() -> socket.socket | None:
    """Return the listening unix socket that was passed to this process; None if nothing was passed. The variables that
    say so are removed: they are not for our children. Raises ConfigError if what was passed is something else.
    """
    pid, count, _ = (os.environ.pop(f"LISTEN_{name}", "") for name in ("PID", "FDS", "FDNAMES"))
    if pid != str(os.getpid()) or not count.isdecimal() or not int(count):
        return None
    found = None
    for number in range(FIRST, FIRST + int(count)):
        with suppress(OSError):
            os.set_inheritable(number, False)
        found = found or _listening(number)
    if found is None:
        raise ConfigError("systemd passed no unix socket that listens; the socket's unit wants ListenStream=/a/path")
    return found


def _listening(number: int) -> socket.socket | None:
    try:
        passed = socket.socket(fileno=number)
    except OSError:
        return None
    listens = passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    if listens and passed.family == socket.AF_UNIX and passed.type == socket.SOCK_STREAM:
        passed.setblocking(True)
        return passed
    passed.detach()
    return None


def notify(state: str) -> None:
    """Tell whoever supervises this process of its state, such as READY=1, if it wants to be told. Never raises."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    if not place.startswith(("/", "@")):
        return
    with suppress(OSError, ValueError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
        sending.settimeout(PATIENCE)
        sending.sendto(state.encode(), "\0" + place[1:] if place.startswith("@") else place)
