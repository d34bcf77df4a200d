"""Many agents at once: in one process, on one event loop, and beside that as a process each.

python bench/agents.py [COUNT]       Every agent is asked once; the model calls bash, sees its output, and answers.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))

import msgspec

from bench.measure import Running, repeated
from bench.peers import zot_like
from linnet import AsyncRuntime, events

Row = tuple[str, str]
COUNT = 200
MANY = 1_000
PROMPT = '!tool bash {"command":"echo hello"}'
TICK = 0.002  # How often the loop is asked whether it is there.
HANGING = "!gate never"
IN_ONE = "--in-one-process"
AT_WORK = "--at-work"


class Measured(msgspec.Struct):
    """`lags` is how much later than it should have been a timer of the loop's was heard, in seconds; `idle_lags` is the
    same with nothing to do, which is what the machine itself adds.
    """

    seconds: float
    megabytes: float
    lags: list[float] = []
    idle_lags: list[float] = []


def columns(url: str, folder: Path, count: int = COUNT) -> list[tuple[str, list[Row]]]:
    """Tables for `make bench`."""
    together = msgspec.json.decode(_python(__file__, IN_ONE, url, str(folder), str(count)), type=Measured)
    return [("one process", _rows(together)), (f"{count} processes", _rows(_apart(url, folder, count)))]


def at_work(url: str, folder: Path, count: int = MANY) -> list[Row]:
    """What so many agents take in one process while a model speaks to each of them."""
    threads, megabytes = msgspec.json.decode(_python(__file__, AT_WORK, url, str(folder), str(count)))
    return [
        (f"{count:,} agents at work: memory", f"{megabytes:,.0f} MB"),
        (f"{count:,} agents at work: threads", f"{threads:,}"),
    ]


def start_rows() -> list[Row]:
    """What it takes to have one in one's own process."""
    timed = "import time; began = time.perf_counter(); {}; print(time.perf_counter() - began)"
    importing = repeated(10, lambda: float(_python("-c", timed.format("import linnet"))))
    loading = repeated(10, lambda: float(_python("-c", timed.format("from linnet import Runtime"))))
    making = (
        "import time; from linnet import Runtime; Runtime(provider='scripted').close(); began = time.perf_counter(); "
    )
    making += "Runtime(provider='scripted'); print(time.perf_counter() - began)"
    return [
        ("import linnet", f"{importing * 1e3:.1f} ms"),
        ("from linnet import Runtime", f"{loading * 1e3:.1f} ms"),
        ("Runtime()", f"{repeated(10, lambda: float(_python('-c', making))) * 1e3:.2f} ms"),
    ]


def _rows(measured: Measured) -> list[Row]:
    rows = [("seconds", f"{measured.seconds:.2f}"), ("memory", f"{measured.megabytes:,.0f} MB")]
    if measured.lags:
        lags = sorted(measured.lags)
        rows.append(("loop lag: most", f"{lags[-1] * 1e3:.0f} ms"))
        rows.append(("… 99 %", f"{lags[int(len(lags) * 0.99)] * 1e3:.0f} ms"))
        rows.append(("… median", f"{median(lags) * 1e3:.1f} ms"))
        rows.append(("… most, of an idle loop", f"{max(measured.idle_lags) * 1e3:.0f} ms"))
    return rows


async def _together(url: str, folder: str, count: int) -> Measured:
    """All in this process. Each agent's events are streamed; none is left out."""
    runtimes = [AsyncRuntime(provider="anthropic", base_url=url, api_key="x", cwd=folder) for _ in range(count)]

    async def work(runtime: AsyncRuntime) -> None:
        run = runtime.prompt(PROMPT)
        async for _ in run:
            pass
        assert run.result.steps == 2, run.result.error

    idle_lags: list[float] = []
    watching = asyncio.create_task(_watch(idle_lags))
    await asyncio.sleep(1)
    watching.cancel()
    lags: list[float] = []
    watching = asyncio.create_task(_watch(lags))
    began = time.perf_counter()
    await asyncio.gather(*map(work, runtimes))
    seconds = time.perf_counter() - began
    megabytes = _memory(os.getpid())
    await asyncio.gather(*(runtime.close() for runtime in runtimes))
    watching.cancel()
    return Measured(seconds, megabytes, lags, idle_lags)


async def _at_work(url: str, folder: str, count: int) -> tuple[int, float]:
    """Return threads and megabytes, when every agent has had the first words of a reply that does not end."""
    runtimes = [AsyncRuntime(provider="anthropic", base_url=url, api_key="x", cwd=folder) for _ in range(count)]
    heard = asyncio.Semaphore(0)

    async def work(runtime: AsyncRuntime) -> None:
        async for event in runtime.prompt(HANGING):
            if isinstance(event, events.TextDelta):
                heard.release()

    working = [asyncio.create_task(work(runtime)) for runtime in runtimes]
    for _ in runtimes:
        await heard.acquire()
    measured = threading.active_count(), _memory(os.getpid())
    await asyncio.gather(*(runtime.close() for runtime in runtimes))
    await asyncio.gather(*working, return_exceptions=True)
    return measured


async def _watch(lags: list[float]) -> None:
    while True:
        asked = time.perf_counter()
        await asyncio.sleep(TICK)
        lags.append(time.perf_counter() - asked - TICK)


def _apart(url: str, folder: Path, count: int) -> Measured:
    peer = zot_like(url)[0]
    began = time.perf_counter()
    running = [Running(peer, folder) for _ in range(count)]
    for each in running:
        each.send(peer.prompt(PROMPT))
    for each in running:
        each.until(peer.terminator)
    seconds = time.perf_counter() - began
    megabytes = sum(_memory(each.process.pid) for each in running)
    for each in running:
        each.__exit__(None, None, None)
    return Measured(seconds, megabytes)


def _memory(process: int) -> float:
    """Megabytes of a process and all below it; what several share is divided among them."""
    todo, total = [process], 0
    while todo:
        pid = todo.pop()
        try:
            rolled = Path(f"/proc/{pid}/smaps_rollup").read_text()
            todo += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += next(int(line.split()[1]) for line in rolled.splitlines() if line.startswith("Pss:"))
    return total / 1024


def _python(*args: str) -> str:
    return subprocess.run([sys.executable, *args], check=True, capture_output=True, text=True).stdout


def main() -> None:
    if AT_WORK in sys.argv:
        url, work, agents = sys.argv[2:]
        print(msgspec.json.encode(asyncio.run(_at_work(url, work, int(agents)))).decode())
        return
    if IN_ONE in sys.argv:
        url, work, agents = sys.argv[2:]
        measured = asyncio.run(_together(url, work, int(agents)))
        print(msgspec.json.encode(measured).decode())
        return
    from bench.run import show

    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    server = [sys.executable, "-m", "linnet.testing.model_server"]
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(server, stdout=subprocess.PIPE, text=True) as model:
        try:
            assert model.stdout
            url = f"http://127.0.0.1:{int(model.stdout.readline().split()[1])}"
            show([("one", start_rows())])
            print(f"\n{count} agents at once\n")
            show(columns(url, Path(folder), count))
            show([("one process", at_work(url, Path(folder)))])
        finally:
            model.kill()


if __name__ == "__main__":
    main()
