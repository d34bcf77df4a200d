"""What the time from spawning to the first words of a reply is made of."""

import os
import subprocess
import sys
import time
from pathlib import Path

from bench.measure import Running, repeated
from bench.peers import Peer

Row = tuple[str, str]
ROUNDS = 20
# The connection is to a server without TLS; what a first TLS context costs is measured apart.
TLS = "import time; began = time.perf_counter(); import ssl; ssl.create_default_context(); "
FIRST_COMMAND = '!tool bash {"command":"true"}'


def first_delta(peer: Peer, folder: Path) -> float:
    """Seconds from Popen to the first piece of text, of a prompt that is written at once."""
    started = time.perf_counter()
    with Running(peer, folder) as running:
        running.send(peer.prompt("hi"))
        running.until(peer.delta)
        return time.perf_counter() - started


def parts(peer: Peer, folder: Path, bare: float, first_answer: float) -> list[Row]:
    """Rows for a table: each part of the way, in milliseconds and as a multiple of a bare Python."""
    prepared = repeated(ROUNDS, lambda: _python("from linnet.cli.entry_points import prepare; prepare()"))
    delta = repeated(ROUNDS, lambda: first_delta(peer, folder))
    rows = [
        ("the interpreter", bare),
        ("msgspec", prepared - bare),
        ("our modules, to the first answer", first_answer - prepared),
        ("our modules, the request, to the first words", delta - first_answer),
        ("in all: spawn → first delta", delta),
    ]
    tls = repeated(5, lambda: float(_output(TLS + "print(time.perf_counter() - began)")))
    with Running(peer, folder) as running:
        running.turn("hi")
        command = running.turn(FIRST_COMMAND)
        later = repeated(5, lambda: running.turn(FIRST_COMMAND))
    apart = [
        ("not in it: the first TLS context, beside the run", tls),
        ("not in it: the first process, more than a later one", max(0.0, command - later)),
    ]
    return [(name, f"{seconds * 1e3:6.1f} ms  {seconds / bare:4.1f} ×") for name, seconds in (*rows, *apart)]


def _python(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=dict(os.environ))
    return time.perf_counter() - started


def _output(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
