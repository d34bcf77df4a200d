"""What a turn takes: in a process that is warm, in one that has just started, and until one that is aborted ends.

ZOT=path PI=path python bench/turns.py
"""

import json
import math
import mmap
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measure import Running, repeated
from bench.peers import Peer, pi_like, zot_like
from bench.start import first_delta

Row = tuple[str, str]
Seconds = dict[str, float]
THREE = "!text 3"  # Deltas.
AGE = 0.5  # Seconds: what a process does in the background after its start is done by then.
FIRST = 5
IN_BASH = '!tool bash {"command":"echo up; sleep 60"}'


def columns(peers: Sequence[Peer], folder: Path) -> list[tuple[str, list[Row]]]:
    """A column for each peer, and one with our time as a multiple of each other's."""
    measured = [seconds(peer, folder) for peer in peers]
    out = []
    for peer, each in zip(peers, measured, strict=True):
        out.append((peer.name, [(name, f"{took * 1e3:.2f} ms") for name, took in each.items()]))
    for peer, each in zip(peers[1:], measured[1:], strict=True):
        ratios = [(name, f"{measured[0][name] / took:.2f}") for name, took in each.items()]
        out.append((f"{peers[0].name} ÷ {peer.name}", ratios))
    return out


def seconds(peer: Peer, folder: Path) -> Seconds:
    rounds = 3 if peer.name == "pi" else 15
    with Running(peer, folder) as running:
        for _ in range(30):
            running.turn(THREE)
        warm = sorted(running.turn(THREE) for _ in range(200))
        streaming = repeated(rounds, lambda: running.abort_while("!gate never", peer.delta))
        in_bash = repeated(rounds, lambda: running.abort_while(IN_BASH, peer.progress))
    young = [first_turns(peer, folder) for _ in range(rounds)]
    return {
        "warm prompt → end, median": median(warm),
        "… 95 %": warm[math.ceil(len(warm) * 0.95) - 1],
        **{f"prompt {at + 1} of a process {AGE} s old": median(each[at] for each in young) for at in range(FIRST)},
        "… the second one, after a pause": repeated(rounds, lambda: first_turns(peer, folder, pause=AGE)[1]),
        "first answer, CPU": repeated(rounds, lambda: first_answer_cpu(peer, folder)),
        "spawn → first delta": repeated(rounds, lambda: first_delta(peer, folder)),
        "abort → end, streaming": streaming,
        "abort → end, in bash": in_bash,
    }


def first_turns(peer: Peer, folder: Path, pause: float = 0) -> list[float]:
    """Return how long each of the first prompts of a young process takes, sent one after another."""
    with Running(peer, folder) as running:
        running.first_answer()
        time.sleep(AGE)
        out = [running.turn(THREE)]
        time.sleep(pause)
        return [*out, *(running.turn(THREE) for _ in range(FIRST - 1))]


def first_answer_cpu(peer: Peer, folder: Path) -> float:
    """Return the seconds that a process has computed, in all its threads, when its first answer is there."""
    with Running(peer, folder) as running:
        running.first_answer()
        return running.computed()


def counted(peer: Peer, folder: Path) -> list[Row]:
    """Return how many of our functions a warm prompt of three deltas calls, and in how many modules they are.

    The agent runs under `bench/counting.py`, which counts what begins while a byte of a shared file is 1: it is set
    before the prompt is written, and taken away when its terminator has been read.
    """
    shared = folder / "counting"
    shared.write_bytes(b"\0" * mmap.PAGESIZE)
    command = [sys.executable, str(Path(__file__).with_name("counting.py")), str(shared), *peer.command[1:]]
    with shared.open("r+b") as file, mmap.mmap(file.fileno(), 0) as page:
        with Running(replace(peer, command=command), folder) as running:
            for _ in range(5):
                running.turn(THREE)
            running.send(b'{"id":"c","type":"clear"}\n')  # Or else it would depend on what was said before.
            running.until(b'"clear"')
            time.sleep(AGE)
            page[0] = 1
            running.turn(THREE)
            page[0] = 2  # Say what was counted, with the next call of whatever function.
            running.turn(THREE)
            deadline = time.monotonic() + 10
            while page[0] != 3 and time.monotonic() < deadline:
                time.sleep(0.01)
        found = json.loads(shared.with_suffix(".json").read_bytes())
    return [(f"a warm prompt of three deltas: {name}", f"{number}") for name, number in found.items()]


def main() -> None:
    from bench.run import show
    from linnet.testing.model_server import ModelServer

    with tempfile.TemporaryDirectory() as scratch, ModelServer() as server:
        folder, home = Path(scratch) / "work", Path(scratch) / "home"
        folder.mkdir()
        show(columns(zot_like(server.url), folder))
        show([("linnet", counted(zot_like(server.url)[0], folder))])
        show(columns([peer for peer in pi_like(server.url, home) if "deltas" not in peer.name], folder))


if __name__ == "__main__":
    main()
