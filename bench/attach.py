"""`linnet attach`: how soon an agent of a server answers a program that was spawned for it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.measure import Running, repeated, spawn
from bench.peers import Peer, zot_like

Row = tuple[str, str]
ROUNDS = 20
DELTAS = 20_000


def columns(url: str, folder: Path, bare: float) -> list[tuple[str, list[Row]]]:
    """Columns for a table: `linnet attach --open` on a warm server, linnet itself, and zot where ZOT names it."""
    with served(folder) as socket:
        direct = zot_like(url)
        attached = _attached(direct[0], socket)
        spawn(attached, folder)  # The server has loaded by now what the first agent needs.
        peers = [attached, *direct]
        times: list[list[float]] = [[] for _ in peers]
        for _ in range(ROUNDS):  # By turns: what else the machine does slows all of them.
            for peer, taken in zip(peers, times, strict=True):
                taken.append(spawn(peer, folder))
        firsts = [sorted(taken)[ROUNDS // 2] for taken in times]
        compiled = firsts[2] if len(firsts) > 2 else None
        return [
            (peer.name, _rows(peer, folder, first, bare, compiled)) for peer, first in zip(peers, firsts, strict=True)
        ]


def _rows(peer: Peer, folder: Path, first: float, bare: float, compiled: float | None) -> list[Row]:
    beside = f", {first / compiled:.2f} × zot" if compiled else ""
    rows = [("spawn → first answer", f"{first * 1e3:.1f} ms ({first / bare:.1f} × bare python{beside})")]
    with Running(peer, folder) as running:
        running.turn("hi")
        running.turn(f"!text {DELTAS}")
        seconds = repeated(5, lambda: running.turn(f"!text {DELTAS}"))
        rows.append((f"{DELTAS:,} deltas", f"{DELTAS / seconds / 1e3:,.0f} k/s"))
        rows.append(("peak memory", f"{running.memory('VmHWM'):.1f} MB"))
    return rows


def _attached(peer: Peer, socket: Path) -> Peer:
    """The same agent, opened on a server."""
    program, *words = peer.command
    command = [program, "attach", "--socket", str(socket), "--open", "--", *words]
    return Peer("linnet attach", command, peer.first, peer.terminator, peer.delta, peer.progress, peer.env)


@contextmanager
def served(folder: Path) -> Iterator[Path]:
    """A server with a folder of its own; the path of its socket."""
    home = folder / "served"
    home.mkdir()
    socket = home / "serve.sock"
    linnet = str(Path(sys.executable).with_name("linnet"))
    with subprocess.Popen(
        [linnet, "serve", "--socket", str(socket)],
        stderr=subprocess.PIPE,
        env={**os.environ, "LINNET_HOME": str(home)},
    ) as server:
        try:
            assert server.stderr
            assert b"serving at" in server.stderr.readline()
            yield socket
        finally:
            server.terminate()
            time.sleep(0.1)
            server.terminate()
