"""What extensions cost: a hook, and fifty of them at the start."""

import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from bench.measure import Running
from bench.peers import Peer
from linnet.concurrency.cancel import CancelToken
from linnet.core.extensions.hooks import ToolCalling
from linnet.extensions.chain import Chain
from linnet.extensions.python.api import Linnet
from linnet.extensions.python.extension import PythonExtension

Row = tuple[str, str]
MANY = 50
SMALL = """
def extend(linnet):
    @linnet.command("{name}", description="Say hello")
    def greet(args, ctx):
        ctx.notify(args)

    @linnet.on("tool_call")
    def guard(event, ctx):
        return None
"""


def rows(peer: Peer, folder: Path, home: Path) -> list[Row]:
    """`home` is a folder that is not there yet."""
    without, first = _until_listed(peer, folder, home)
    _write(home)
    _until_listed(peer, folder, home)  # So that there is bytecode.
    with_many, first_of_many = _until_listed(peer, folder, home)
    return [
        ("a tool_call hook, in Python", f"{_hook() * 1e6:.0f} µs"),
        ("first answer, without extensions", f"{first * 1e3:.1f} ms"),
        (f"first answer, with {MANY}", f"{first_of_many * 1e3:.1f} ms"),
        (f"each of {MANY}, until it can be used", f"{(with_many - without) / MANY * 1e3:.2f} ms"),
    ]


def _hook(count: int = 20_000) -> float:
    linnet = Linnet("guard", "guard.py", {}, "", "")

    @linnet.on("tool_call")
    def guard(event: ToolCalling, ctx: object) -> None:
        return None

    extension = PythonExtension(linnet, "path", host=None, patience=10)  # type: ignore[arg-type]
    chain = Chain([extension], lambda path, event, error: None)
    event, cancel = ToolCalling("1", "bash", {"command": "ls"}), CancelToken()
    for _ in range(1000):
        chain.ask(event, cancel)
    began = time.perf_counter()
    for _ in range(count):
        chain.ask(event, cancel)
    taken = time.perf_counter() - began
    extension.close(0)
    return taken / count


def _write(home: Path) -> None:
    folder = home / "extensions"
    folder.mkdir(parents=True)
    for number in range(MANY):
        (folder / f"small{number}.py").write_text(SMALL.format(name=f"greet{number}"))


def _until_listed(peer: Peer, folder: Path, home: Path) -> tuple[float, float]:
    """Seconds from the start until commands can be listed, and until the first answer; the median of some."""
    times: list[tuple[float, float]] = []
    for _ in range(9):
        began = time.perf_counter()
        with Running(replace(peer, env={**peer.env, "LINNET_HOME": str(home)}), folder) as agent:
            agent.first_answer()
            first = time.perf_counter() - began
            agent.send(b'{"id":"2","type":"get_commands"}\n')
            agent.until(b'"get_commands"')
            times.append((time.perf_counter() - began, first))
    return median(each for each, _ in times), median(each for _, each in times)
