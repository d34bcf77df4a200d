"""What watching costs: an agent at full speed, by itself and through `linnet monitor`, turn by turn."""

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measure import Running
from bench.peers import Peer, linnet, linnet_pi

Row = tuple[str, str]
ROUNDS = 31
EVENTS = 10_000_000


def monitored(peer: Peer) -> Peer:
    return replace(peer, command=[peer.command[0], "monitor", "--", *peer.command])


def rows(peer: Peer, folder: Path, deltas: int) -> list[Row]:
    """The two take turns, so that whatever else this machine does meets both."""
    with Running(peer, folder) as plain, Running(monitored(peer), folder) as watched:
        for running in (plain, watched):
            running.turn("hi")
            running.turn(f"!text {deltas}")
        cpu = watched.cpu()
        times: list[tuple[float, float]] = []
        for number in range(ROUNDS):
            order = (plain, watched) if number % 2 else (watched, plain)
            took = {id(running): running.turn(f"!text {deltas}") for running in order}
            times.append((took[id(plain)], took[id(watched)]))
        memory = watched.memory("VmHWM")
        cpu = (watched.cpu() - cpu) / ROUNDS / deltas
    alone, through = (median(pair[side] for pair in times) for side in (0, 1))
    ratio = median(one / other for one, other in times)
    return [
        (f"{deltas:,} deltas, alone", f"{deltas / alone / 1e3:,.0f} k/s"),
        ("… through the monitor", f"{deltas / through / 1e3:,.0f} k/s"),
        ("… loss", f"{(1 - ratio) * 100:.1f} %"),
        ("… CPU of the monitor per delta", f"{cpu * 1e6:.2f} µs"),
        ("… peak memory of the monitor", f"{memory:.1f} MB"),
    ]


def fold_rows() -> list[Row]:
    """Ten million events into one watch."""
    from resource import RUSAGE_SELF, getrusage

    from linnet.monitor.stream import Stream
    from linnet.monitor.watch import Watch

    delta = b'{"type":"text_delta","delta":"word "}\n'
    call = b'{"type":"tool_use_args","id":"c","delta":"x"}\n'
    chunks = [delta * 1600] * 9 + [(call + delta) * 800]
    stream = Stream(Watch("zot"))
    for chunk in chunks:
        stream.feed(0.0, chunk)
    before, started, fed = getrusage(RUSAGE_SELF).ru_maxrss, time.perf_counter(), 0
    while stream.watch.frames < EVENTS:
        fed += 1
        stream.feed(float(fed), chunks[fed % len(chunks)])
    seconds = time.perf_counter() - started
    grown = (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024
    return [
        ("10 million events folded", f"{stream.watch.frames / seconds / 1e6:.1f} M/s"),
        ("… memory grown by", f"{grown:.1f} MB"),
    ]


def all_rows(url: str, folder: Path, home: Path) -> list[tuple[str, list[Row]]]:
    peers = [(linnet(url), 20_000), (linnet_pi(url, "deltas", home), 20_000), (linnet_pi(url, "full", home), 2_000)]
    return [*((peer.name, rows(peer, folder, deltas)) for peer, deltas in peers), ("the fold", fold_rows())]


def main() -> None:
    """By itself: `python bench/monitor.py`."""
    from linnet.testing.model_server import ModelServer

    with tempfile.TemporaryDirectory() as scratch, ModelServer() as server:
        folder, home = Path(scratch) / "work", Path(scratch) / "home"
        folder.mkdir()
        for name, measured in all_rows(server.url, folder, home):
            print(name)
            for row in measured:
                print(f"  {row[0]:<32}{row[1]}")


if __name__ == "__main__":
    main()
