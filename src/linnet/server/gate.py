"""The token that a spawner may ask for before anything else is done."""

import os
from contextlib import suppress

from linnet.core.commands import Hello
from linnet.wire.dialect import Asked, Rejected

VARIABLE = "ZOTCORE_RPC_TOKEN"


class Gate:
    """Opens once, for the first line, if that is a hello with the right token."""

    def __init__(self, token: str) -> None:
        self._token = token

    def refusal(self, asked: Asked | Rejected) -> str:
        """Why this first line does not open the gate; empty if it does."""
        if isinstance(asked, Rejected):
            return asked.reason
        if not isinstance(asked.command, Hello):
            return "auth required: send hello with token first"
        from hmac import compare_digest  # Takes the same time however much of the token is right.

        return "" if compare_digest(asked.command.token.encode(), self._token.encode()) else "invalid token"


def take_token() -> str:
    """The token from the environment, which from here on does not have it: neither for children nor for who looks."""
    token = os.environ.pop(VARIABLE, "")
    if token:
        with suppress(OSError, ValueError):
            _wipe(f"{VARIABLE}={token}".encode())
    return token


def _wipe(entry: bytes) -> None:
    """The block of memory that the kernel shows as /proc/PID/environ keeps what a process started with."""
    with open("/proc/self/environ", "rb") as file:
        block = b"\0" + file.read()
    with open("/proc/self/stat", "rb") as file:
        start = int(file.read().rpartition(b")")[2].split()[47])
    offset = block.index(b"\0" + entry)
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(start + offset)
        memory.write(b"\0" * len(entry))
