"""linnet-pi beside pi 1.5.0 and 0.87.1, in the protocol of today: each figure of all of them in turn, so that what else
the machine does falls on all alike. `PI15` and `PI87` name their cli.js, and `NODE24` a Node that is new enough; what
`make .venv/.node` has installed is found by itself. Also alone: `python bench/today.py`.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measure import Running, spawn
from bench.peers import Peer, linnet_today, pi_today

Row = tuple[str, str]
DELTAS = 20_000
ROUNDS = 9


def peers(url: str, home: Path) -> list[Peer]:
    """Return linnet-pi, and each pi that is there."""
    venv = Path(sys.prefix)
    node = os.environ.get("NODE24") or str(venv / "bin" / "node24")
    places = {
        "pi 1.5.0": os.environ.get("PI15") or str(venv / "node/node_modules/pi15/dist/bundle/cli.js"),
        "pi 0.87.1": os.environ.get("PI87") or str(venv / "pi/node_modules/pi87/dist/cli.js"),
    }
    found = [pi_today(name, node, path, url, home) for name, path in places.items() if Path(path).exists()]
    return [linnet_today(url, home), *(found if Path(node).exists() else [])]


def columns(url: str, folder: Path, home: Path) -> list[tuple[str, list[Row]]]:
    """Return a column for each, and for each pi how many times of linnet's its figures are."""
    measured = peers(url, home)
    figures = [
        ("spawn → get_state", "ms", _in_turn(measured, lambda peer: spawn(peer, folder) * 1e3)),
        ("memory when ready", "MB", _in_turn(measured, lambda peer: _memory(peer, folder), 3)),
        ("memory after a prompt", "MB", _in_turn(measured, lambda peer: _memory(peer, folder, prompted=True), 3)),
        (f"{DELTAS:,} deltas", "ms", _in_turn(measured, lambda peer: _deltas(peer, folder) * 1e3, 5)),
        ("abort → agent_settled, streaming", "ms", _in_turn(measured, lambda peer: _abort(peer, folder) * 1e3, 5)),
        ("abort → agent_settled, in bash", "ms", _in_turn(measured, lambda peer: _abort_bash(peer, folder) * 1e3, 5)),
    ]
    ours = measured[0].name
    out = [(peer.name, [(name, f"{of[peer.name]:,.1f} {unit}") for name, unit, of in figures]) for peer in measured]
    for peer in measured[1:]:
        ratios = [(name, f"{of[peer.name] / of[ours]:.1f} ×") for name, _, of in figures]
        out.append((f"{peer.name} ÷ linnet", ratios))
    return out


def _in_turn(measured: list[Peer], once: Callable[[Peer], float], rounds: int = ROUNDS) -> dict[str, float]:
    found: dict[str, list[float]] = {peer.name: [] for peer in measured}
    for _ in range(rounds):
        for peer in measured:
            found[peer.name].append(once(peer))
    return {name: median(figures) for name, figures in found.items()}


def _memory(peer: Peer, folder: Path, *, prompted: bool = False) -> float:
    with Running(peer, folder) as running:
        running.first_answer()
        if prompted:
            running.turn("hi")
        time.sleep(0.5)  # What is loaded in the background counts, too.
        return running.memory()


def _deltas(peer: Peer, folder: Path) -> float:
    with Running(peer, folder) as running:
        running.turn("hi")
        running.turn("!text 2000")
        return running.turn(f"!text {DELTAS}")


def _abort(peer: Peer, folder: Path) -> float:
    with Running(peer, folder) as running:
        running.turn("hi")
        return median(running.abort_while("!text 200 20", peer.delta) for _ in range(5))


def _abort_bash(peer: Peer, folder: Path) -> float:
    with Running(peer, folder) as running:
        running.turn("hi")
        sleeping = '!tool bash {"command":"echo begun; sleep 30"}'
        return median(running.abort_while(sleeping, b"begun\\n") for _ in range(5))


def main() -> None:
    from bench.run import show

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "work"
        folder.mkdir()
        with subprocess.Popen(
            [sys.executable, "-m", "linnet.testing.model_server"], stdout=subprocess.PIPE, text=True
        ) as server:
            try:
                assert server.stdout
                port = int(server.stdout.readline().split()[1])
                show(columns(f"http://127.0.0.1:{port}", folder, Path(scratch) / "home"))
            finally:
                server.kill()


if __name__ == "__main__":
    main()
