"""`make bench`: linnet and its peers on one scripted model server, in one run. Ratios count, not the times."""

import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench import (
    acp,
    agents,
    apis,
    attach,
    extensions,
    monitor,
    project,
    serve,
    sessions,
    start,
    steps,
    today,
    tools,
    turns,
)
from bench.measure import Running, bare_python, repeated, spawn
from bench.peers import Peer, pi_like, zot_like

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
                print(f"the model server alone: {server_alone(port) / 1e6:,.1f} M deltas/s\n")
                print("The start, with a prompt that is written at once\n")
                peer = zot_like(url)[0]
                answer = repeated(20, lambda: spawn(peer, folder))
                show([(peer.name, start.parts(peer, folder, bare, answer))])
                print("\nThe zot protocol\n")
                show([(peer.name, zot_rows(peer, folder, bare)) for peer in zot_like(url)])
                print("\nThe same on a server, by linnet attach\n")
                show(attach.columns(url, folder, bare))
                print("\nIn an editor\n")
                show([("linnet acp", acp.rows(folder, bare))])
                print("\nThe pi protocol\n")
                pi_peers = pi_like(url, home)
                show([(peer.name, pi_rows(peer, folder, bare)) for peer in pi_peers])
                print("\nThe pi protocol of today\n")
                show(today.columns(url, folder, home))
                print("\nA server: one reader beside the pipe, and a crowd\n")
                show(serve.columns(url, folder, home))
                print("\nTurns, in the zot protocol and in pi's\n")
                show(turns.columns(zot_like(url), folder))
                print()
                show(turns.columns([peer for peer in pi_peers if "deltas" not in peer.name], folder))
                print()
                show([("linnet", turns.counted(zot_like(url)[0], folder))])
                print("\nA delta on every API, from the socket to the draft\n")
                show([("linnet", apis.rows(url))])
                print(f"\nCPU of a step, in a run of {steps.STEPS:,}\n")
                show(steps.columns(steps.makers(), folder))
                print(f"\nThe same in the pi protocol, in a run of {steps.PI_STEPS:,}\n")
                show(steps.columns(steps.pi_makers(home), folder, steps.PI_STEPS))
                share = steps.cached_share(steps.makers()[0], folder)
                print(f"found in the vendor's cache, of what could be, in {steps.CACHED_STEPS} steps: {share:.1%}")
                print(f"\nIn one's own process, and {agents.COUNT} agents at once\n")
                show([("linnet", agents.start_rows())])
                show(agents.columns(url, folder))
                show([("one process", agents.at_work(url, folder))])
                print("\nSessions\n")
                show([(peer.name, sessions.rows(peer, folder)) for peer in pi_peers if "deltas" not in peer.name])
                print("\nTemplates and skills\n")
                show(project.columns(zot_like(url)[0], folder))
                print("\nTools and permissions of one's own\n")
                show([("linnet", tools.rows(zot_like(url)[0], folder))])
                print("\nExtensions\n")
                show([("linnet", extensions.rows(zot_like(url)[0], folder, home / "extended"))])
                print("\nThe monitor\n")
                show(monitor.all_rows(url, folder, home))
            finally:
                server.kill()


def server_alone(port: int) -> float:
    """Deltas a second that a client gets which does nothing with them."""
    count = 200_000
    messages = [{"role": "user", "content": f"!text {count}"}]
    body = json.dumps({"model": "m", "max_tokens": 9, "stream": True, "messages": messages})
    headers = {"x-api-key": "x", "anthropic-version": "2023-06-01", "connection": "close"}
    seconds = 0.0
    for _ in range(2):  # The first time it prepares what it sends.
        connection = http.client.HTTPConnection("127.0.0.1", port)
        started = time.perf_counter()
        connection.request("POST", "/v1/messages", body, headers)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        assert response.fp
        response.fp.read()
        seconds = time.perf_counter() - started
        connection.close()
    return count / seconds


def zot_rows(peer: Peer, folder: Path, bare: float) -> list[Row]:
    rows = start_rows(peer, folder, bare)
    with Running(peer, folder) as running:
        running.turn("hi")
        running.turn("!text 20000")
        before, cpu = running.bytes_out, running.cpu()
        seconds = repeated(5, lambda: running.turn("!text 20000"))
        rows.append(("20,000 deltas", f"{20 / seconds:,.0f} k/s"))
        rows.append(("… bytes out", f"{(running.bytes_out - before) / 5e3:,.0f} kB"))
        rows.append(("… CPU per delta", f"{(running.cpu() - cpu) / 5 / 20_000 * 1e6:.1f} µs"))
        rows.append(("… peak memory", f"{running.memory('VmHWM'):.1f} MB"))
    for size in (1_000, 10_000, 100_000):
        with Running(peer, folder) as running:
            running.turn("hi")
            running.turn(f"!text {size}")
            seconds = repeated(3, partial(running.turn, f"!text {size}"))
            rows.append((f"time per delta of {size:,}", f"{seconds / size * 1e6:.2f} µs"))
    with Running(peer, folder) as running:
        running.turn("hi")
        seconds = repeated(3, lambda: running.turn("!toolargs 5000"))
        rows.append(("call with 5,000 argument deltas", f"{seconds * 1e3:.1f} ms"))
    return rows


def pi_rows(peer: Peer, folder: Path, bare: float) -> list[Row]:
    rows = start_rows(peer, folder, bare)
    for size in (2_000, 5_000, 20_000):
        if peer.name == "pi" and size > 5_000:
            continue  # It would print some two gigabytes and take a minute.
        with Running(peer, folder) as running:
            running.turn("hi")
            before = running.bytes_out
            seconds = running.turn(f"!text {size}")
            megabytes = (running.bytes_out - before) / 1e6
            rows.append((f"{size:,} deltas", f"{size / seconds / 1e3:,.1f} k/s, {megabytes:,.1f} MB out"))
            rows.append((f"… peak memory, {size:,}", f"{running.memory('VmHWM'):.1f} MB"))
    return rows


def start_rows(peer: Peer, folder: Path, bare: float) -> list[Row]:
    first = repeated(20 if peer.name != "pi" else 5, lambda: spawn(peer, folder))
    rows = [("spawn → first answer", f"{first * 1e3:.1f} ms ({first / bare:.1f} × bare python)")]
    delta = repeated(20 if peer.name != "pi" else 5, lambda: start.first_delta(peer, folder))
    rows.append(("spawn → first delta", f"{delta * 1e3:.1f} ms ({delta / bare:.1f} × bare python)"))
    with Running(peer, folder) as running:
        running.first_answer()
        time.sleep(0.5)  # What is loaded in the background counts as idle memory too.
        rows.append(("memory when idle", f"{running.memory():.1f} MB"))
        running.turn("hi")
        rows.append(("memory after a prompt", f"{running.memory():.1f} MB"))
    return rows


def show(columns: list[tuple[str, list[Row]]], write: Callable[[str], None] = print) -> None:
    names = list(dict.fromkeys(name for _, rows in columns for name, _ in rows))
    tables = [dict(rows) for _, rows in columns]
    widths = [max(map(len, names))]
    widths += [max(len(title), *(len(value) for _, value in rows)) for title, rows in columns]
    line = "  ".join(f"{{:<{width}}}" for width in widths)
    write(line.format("", *(title for title, _ in columns)).rstrip())
    for name in names:
        write(line.format(name, *(table.get(name, "–") for table in tables)).rstrip())


if __name__ == "__main__":
    main()
