"""What a step costs in a long run, and how much of what is sent a vendor finds in its cache.

ZOT=path PI=path python bench/steps.py [STEPS]
"""

import json
import re
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measure import Running
from bench.peers import Peer, pi_like, zot_like

Row = tuple[str, str]
Maker = Callable[[str], Peer]
"""Makes a peer for a server's address."""
STEPS = 1_500
PI_STEPS = 400  # In pi, a step of a long run takes tens of milliseconds.
ROUNDS = 3
CACHED_STEPS = 100
PARALLEL = 10  # With their results these are more blocks than the vendor looks back.
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class StepServer:
    """Answers each request with a call of `read`, until it has answered as often as it is to; then with a word.

    It keeps no body and parses none, unless `hear` wants to: what is measured is who asks.
    """

    def __init__(self, steps: int, hear: Callable[[bytes], None] | None = None) -> None:
        """Whoever wants to hear the bodies also gets many calls at once, in every third step."""
        self.answered = 0
        self.at: dict[int, Callable[[], None]] = {}  # What to do before so many answers.
        self._steps = steps
        self._hear = hear or (lambda body: None)
        self._parallel = hear is not None
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while body := self._body(connection):
                self._hear(body)
                if (do := self.at.get(self.answered)) is not None:
                    do()
                self.answered += 1
                connection.sendall(self._reply())

    def _body(self, connection: socket.socket) -> bytes:
        data = bytearray()
        while (end := data.find(b"\r\n\r\n")) < 0:
            piece = connection.recv(65536)
            if not piece:
                return b""
            data += piece
        found = _LENGTH.search(data[:end])
        wanted = end + 4 + int(found[1] if found else 0)
        while len(data) < wanted:
            piece = connection.recv(1 << 20)
            if not piece:
                return b""
            data += piece
        return bytes(data[end + 4 : wanted])

    def _reply(self) -> bytes:
        count = PARALLEL if self._parallel and not self.answered % 3 else 1
        events = _calls(self.answered, count) if self.answered <= self._steps else _words()
        body = b"".join(b"event: %s\ndata: %s\n\n" % (str(e["type"]).encode(), json.dumps(e).encode()) for e in events)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(body)
        return head + body


def _message(blocks: list[tuple[dict[str, object], dict[str, object]]], stop: str) -> list[dict[str, object]]:
    usage = {"input_tokens": 10, "output_tokens": 20}
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "usage": usage}}
    ]
    for index, (block, delta) in enumerate(blocks):
        events += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    return [
        *events,
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage},
        {"type": "message_stop"},
    ]


def _calls(number: int, count: int) -> list[dict[str, object]]:
    arguments: dict[str, object] = {"type": "input_json_delta", "partial_json": '{"path":"notes.txt"}'}
    blocks: list[tuple[dict[str, object], dict[str, object]]] = [
        ({"type": "tool_use", "id": f"toolu_{number:06d}_{each}", "name": "read", "input": {}}, arguments)
        for each in range(count)
    ]
    return _message(blocks, "tool_use")


def _words() -> list[dict[str, object]]:
    return _message([({"type": "text", "text": ""}, {"type": "text_delta", "text": "Done."})], "end_turn")


@contextmanager
def serving(steps: int, hear: Callable[[bytes], None] | None = None) -> Iterator[StepServer]:
    server = StepServer(steps, hear)
    try:
        yield server
    finally:
        server.close()


def cpu(pid: int) -> float:
    """Seconds that a process has computed, in the kernel too, in all its threads, and in those that have ended."""
    return time.clock_gettime((~pid << 3) | 2)  # The kernel's name for the clock of another process.


def step_rows(make: Maker, folder: Path, steps: int = STEPS) -> dict[str, float]:
    """CPU a step, in ms: over the whole run, in its second tenth and in its last."""
    (folder / "notes.txt").write_text("A line of notes.\n" * 12)
    with serving(steps) as server, Running(make(server.url), folder) as running:
        seen: dict[int, float] = {}
        tenth = steps // 10
        for mark in (0, tenth, 2 * tenth, steps - tenth, steps):
            server.at[mark] = lambda mark=mark: seen.__setitem__(mark, cpu(running.process.pid))  # type: ignore[misc]
        running.turn("Go on.")
    return {
        "the whole run": (seen[steps] - seen[0]) / steps * 1e3,
        "its second tenth": (seen[2 * tenth] - seen[tenth]) / tenth * 1e3,
        "its last tenth": (seen[steps] - seen[steps - tenth]) / tenth * 1e3,
    }


def cached_share(make: Maker, folder: Path) -> float:
    """Of what a run of many steps sends and could be in a vendor's cache, the part that is, by Anthropic's rules.

    A request finds what an earlier one marked: the longest beginning that ends at a mark of an earlier request, if
    that is within 20 blocks before one of its own. What could be found is all that the request before it sent.
    """
    cache = PrefixCache()
    with serving(CACHED_STEPS, cache.hear) as server, Running(make(server.url), folder) as running:
        running.turn("Go on.")
    return cache.found / cache.possible


class PrefixCache:
    """A vendor's cache of beginnings, counted in bytes of blocks instead of tokens."""

    LOOKED_BACK = 20

    def __init__(self) -> None:
        self.found = 0
        self.possible = 0
        self._kept: set[tuple[str, ...]] = set()
        self._before = 0

    def hear(self, body: bytes) -> None:
        blocks, marks = _blocks(json.loads(body))
        sizes = [len(block) for block in blocks]
        best = 0
        for mark in marks:
            for end in range(mark, max(mark - self.LOOKED_BACK, 0), -1):
                if tuple(blocks[:end]) in self._kept:
                    best = max(best, end)
                    break
        self.found += sum(sizes[:best])
        self.possible += min(self._before, sum(sizes))
        self._before = sum(sizes)
        self._kept |= {tuple(blocks[:mark]) for mark in marks}


def _blocks(body: dict[str, list[dict[str, object]]]) -> tuple[list[str], list[int]]:
    """All blocks of a request in the order of the cache, without marks, and how many come up to each mark."""
    rows: list[dict[str, object]] = [*body.get("tools", []), *body.get("system", [])]
    for message in body["messages"]:
        content = message["content"]
        assert isinstance(content, list)
        rows += content
    marks = [at + 1 for at, row in enumerate(rows) if "cache_control" in row]
    return [json.dumps({k: v for k, v in row.items() if k != "cache_control"}, sort_keys=True) for row in rows], marks


def columns(peers: Sequence[Maker], folder: Path, steps: int = STEPS) -> list[tuple[str, list[Row]]]:
    """A column for each peer, and one with our time as a multiple of each other's. Medians of runs that take turns."""
    rounds = [[step_rows(make, folder, steps) for make in peers] for _ in range(ROUNDS)]
    names = [make("http://127.0.0.1:1").name for make in peers]
    measured = [{what: median(each[what] for each in runs) for what in runs[0]} for runs in zip(*rounds, strict=True)]
    out = [
        (name, [(what, f"{took:.2f} ms") for what, took in rows.items()])
        for name, rows in zip(names, measured, strict=True)
    ]
    for name, rows in zip(names[1:], measured[1:], strict=True):
        ratios = [(what, f"{measured[0][what] / took:.2f}") for what, took in rows.items()]
        out.append((f"{names[0]} ÷ {name}", ratios))
    return out


def makers() -> list[Maker]:
    """linnet in the zot protocol, and zot where there is one."""
    count = len(zot_like("http://127.0.0.1:1"))
    return [lambda url, at=at: zot_like(url)[at] for at in range(count)]  # type: ignore[misc]


def pi_makers(home: Path) -> list[Maker]:
    """linnet in the documented shape of the pi protocol, and pi where there is one."""
    peers = pi_like("http://127.0.0.1:1", home)
    kept = [at for at, peer in enumerate(peers) if "deltas" not in peer.name]
    return [lambda url, at=at: pi_like(url, home)[at] for at in kept]  # type: ignore[misc]


if __name__ == "__main__":
    from bench.run import show

    with tempfile.TemporaryDirectory() as scratch:
        steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
        work = Path(scratch)
        print(f"{steps:,} steps\n")
        show(columns(makers(), work, steps))
        print(f"\n{min(steps, PI_STEPS):,} steps\n")
        show(columns(pi_makers(work / "home"), work, min(steps, PI_STEPS)))
        print(f"\ncached, of what could be: {cached_share(makers()[0], work):.1%}")
