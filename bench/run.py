"""`make bench`: linnet and its peers on one scripted model server, in one run. Ratios count, not the times."""

import http.client
import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measure import Running, bare_python, repeated, spawn
from bench.peers import Peer, installed

DELTAS = 20_000
SIZES = (1_000, 10_000, 100_000)
Row = tuple[str, str]


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder, home = Path(scratch) / "work", Path(scratch) / "home"
        folder.mkdir()
        with subprocess.Popen(
            [sys.executable, "-m", "linnet.testing.model_server"], stdout=subprocess.PIPE, text=True
        ) as server:
            try:
                assert server.stdout
                port = int(server.stdout.readline().split()[1])
                url = f"http://127.0.0.1:{port}"
                bare = repeated(20, bare_python)
                print(f"bare python -c pass: {bare * 1e3:.1f} ms")
                print(f"the model server alone: {server_alone(port) / 1e3:,.0f} k deltas/s\n")
                columns = [(peer.name, measured(peer, folder, bare)) for peer in installed(url, home)]
            finally:
                server.kill()
    show(columns)


def server_alone(port: int) -> float:
    """Deltas a second that a client gets which does nothing with them."""
    count = 200_000
    messages = [{"role": "user", "content": f"!text {count}"}]
    body = json.dumps({"model": "m", "max_tokens": 9, "stream": True, "messages": messages})
    seconds = 0.0
    for _ in range(2):  # The first time it prepares what it sends.
        connection = http.client.HTTPConnection("127.0.0.1", port)
        started = time.perf_counter()
        connection.request(
            "POST", "/v1/messages", body, {"x-api-key": "x", "anthropic-version": "2023-06-01", "connection": "close"}
        )
        response = connection.getresponse()
        assert response.status == 200, response.read()
        assert response.fp
        response.fp.read()
        seconds = time.perf_counter() - started
        connection.close()
    return count / seconds


def measured(peer: Peer, folder: Path, bare: float) -> list[Row]:
    rows: list[Row] = []
    first = repeated(20 if peer.name != "pi" else 5, lambda: spawn(peer, folder))
    rows.append(("spawn → first answer", f"{first * 1e3:.1f} ms ({first / bare:.1f} × bare python)"))
    with Running(peer, folder) as running:
        running.first_answer()
        time.sleep(0.5)  # What is loaded in the background counts as idle memory too.
        rows.append(("memory when idle", f"{running.memory():.1f} MB"))
        running.turn("hi")
        rows.append(("memory after a prompt", f"{running.memory():.1f} MB"))
    with Running(peer, folder) as running:
        running.turn("hi")
        running.turn(f"!text {DELTAS}")
        before, cpu = running.bytes_out, running.cpu()
        runs = 5 if peer.name != "pi" else 1
        seconds = repeated(runs, lambda: running.turn(f"!text {DELTAS}"))
        per_delta = (running.cpu() - cpu) / runs / DELTAS
        rows.append((f"{DELTAS:,} deltas", f"{DELTAS / seconds / 1e3:,.0f} k/s"))
        rows.append(("… bytes out", f"{(running.bytes_out - before) / runs / 1e3:,.0f} kB"))
        rows.append(("… CPU per delta", f"{per_delta * 1e6:.1f} µs"))
        rows.append(("… peak memory", f"{running.memory('VmHWM'):.1f} MB"))
    if peer.name != "pi":  # Its cost per delta grows with the reply; 100,000 of them do not end.
        for size in SIZES:
            with Running(peer, folder) as running:
                running.turn("hi")
                running.turn(f"!text {size}")
                seconds = repeated(3, partial(running.turn, f"!text {size}"))
                rows.append((f"time per delta of {size:,}", f"{seconds / size * 1e6:.2f} µs"))
    with Running(peer, folder) as running:
        running.turn("hi")
        seconds = repeated(3, lambda: running.turn("!toolargs 5000"))
        rows.append(("call with 5,000 argument deltas", f"{seconds * 1e3:.1f} ms"))
    with Running(peer, folder) as running:
        running.turn("hi")
        seconds = repeated(15, lambda: running.abort_while("!gate never", peer.delta))
        rows.append(("abort → end, streaming", f"{seconds * 1e3:.2f} ms"))
        command = '!tool bash {"command":"echo up; sleep 60"}'
        seconds = repeated(15, lambda: running.abort_while(command, peer.progress))
        rows.append(("abort → end, in bash", f"{seconds * 1e3:.2f} ms"))
    return rows


def show(columns: list[tuple[str, list[Row]]]) -> None:
    names = [row[0] for row in columns[0][1]]
    tables = [dict(rows) for _, rows in columns]
    widths = [max(map(len, names))]
    widths += [
        max(len(title), *(len(value) for value in table.values()))
        for (title, _), table in zip(columns, tables, strict=True)
    ]
    line = "  ".join([f"{{:<{width}}}" for width in widths])
    print(line.format("", *(title for title, _ in columns)))
    for name in names:
        print(line.format(name, *(table.get(name, "–") for table in tables)).rstrip())


main()
