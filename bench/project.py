"""What a home full of templates and skills costs a start, a first run, and a list of commands.

python bench/project.py URL          URL is that of a model server: python -m linnet.testing.model_server
"""

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measure import Running, repeated, spawn
from bench.peers import Peer, zot_like
from bench.start import first_delta

Row = tuple[str, str]
COUNT = 40
ROUNDS = 20
TEMPLATE = "---\ndescription: Template {0}\nargument-hint: <file>\n---\n" + "Look at $1, then at $@.\n" * 20
SKILL = "---\nname: skill-{0}\ndescription: >\n  For whatever number {0}\n  is about.\n---\n" + "Do it well.\n" * 100
LIST = b'{"id":"c","type":"get_commands"}\n'


def fill(home: Path) -> None:
    (home / "prompts").mkdir(parents=True)
    for number in range(COUNT):
        (home / "prompts" / f"template-{number}.md").write_text(TEMPLATE.format(number))
        folder = home / "skills" / f"skill-{number}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL.format(number))


def columns(peer: Peer, folder: Path) -> list[tuple[str, list[Row]]]:
    """Turn about, so that what else the machine does is the same for both."""
    with tempfile.TemporaryDirectory() as scratch:
        full = Path(scratch) / "full"
        fill(full)
        peers = [replace(peer, env={"LINNET_HOME": home}) for home in (str(Path(scratch) / "empty"), str(full))]
        figures: list[list[Row]] = [[], []]
        for name, once in (
            ("spawn → first answer", spawn),
            ("spawn → first delta", first_delta),
            ("get_commands, the first", _listed),
        ):
            for rows, seconds in zip(figures, _in_turns(peers, folder, once), strict=True):
                rows.append((name, f"{seconds * 1e3:6.1f} ms"))
        for rows, one in zip(figures, peers, strict=True):
            with Running(one, folder) as running:
                running.turn("hi")
                rows.append(("a later turn", f"{repeated(ROUNDS, lambda: running.turn('hi')) * 1e3:6.1f} ms"))
    return [("nothing", figures[0]), (f"{COUNT} + {COUNT}", figures[1])]


def _in_turns(peers: list[Peer], folder: Path, once: Callable[[Peer, Path], float]) -> list[float]:
    taken: list[list[float]] = [[] for _ in peers]
    for _ in range(ROUNDS):
        for times, peer in zip(taken, peers, strict=True):
            times.append(once(peer, folder))
    return [median(times) for times in taken]


def _listed(peer: Peer, folder: Path) -> float:
    with Running(peer, folder) as running:
        running.first_answer()
        started = time.perf_counter()
        running.send(LIST)
        running.until(b'"get_commands"')
        return time.perf_counter() - started


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        for title, rows in columns(zot_like(sys.argv[1])[0], Path(work)):
            print(title, *(f"  {name}: {value}" for name, value in rows), sep="\n")
