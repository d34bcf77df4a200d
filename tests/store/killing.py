"""`killing.py FILE SEED ROUNDS FORMAT`: children write to a session, and are killed at random moments. Nothing may be
lost.

A child adds an entry when it is told to, and tells the id of it once `append` has returned. Its parent lets it add a
random number of them, tells it to add another, kills it with no warning, and opens the file. Every entry that was told
of must be there, in its order, and nothing but whole entries; then the next child goes on with the same file. In the
last rounds the other entry is a huge one, and the child is killed as soon as the file grows: so lines are torn.
"""

import os
import random
import signal
import sys

from linnet.core.messages import SystemMessage, Text, ToolResult
from linnet.core.session_info import SessionFormat
from linnet.store import file, session_folder
from linnet.store.entries import Edited, Said
from linnet.store.header import Header
from linnet.store.store import EntrySources, Store

HUGE, LARGE, SMALL = b"H", b"L", b"S"
WORDS = {HUGE: 600_000, LARGE: 50_000, SMALL: 20}
TEARING = 6
FORMAT: SessionFormat = "1.5" if sys.argv[4:] == ["1.5"] else "0.73"


def write(path: str, asked: int, told: int) -> None:
    """Until somebody ends it."""
    store = session_folder.open_store(path, sources=EntrySources(format=FORMAT)).store
    while size := os.read(asked, 1):
        words = "text " * WORDS[size]
        if FORMAT == "1.5" and size == SMALL and len(store.tree) % 3 and store.leaf is not None:
            told_before = SystemMessage({"preamble": words}, 1)
            store.append(Said(told_before) if len(store.tree) % 3 == 1 else Edited(store.leaf))
        else:
            store.append(Said(ToolResult("1", "read", (Text(words),), 1)))
        assert store.leaf is not None
        os.write(told, store.leaf.encode())


def killed(path: str, chance: random.Random, *, torn: bool) -> list[str]:
    """What a child told before it was gone."""
    asked, ask = os.pipe()
    tell, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ask)
        write(path, asked, told)
    os.close(told)
    ids: list[bytes] = []
    for _ in range(chance.randrange(6)):
        os.write(ask, LARGE if chance.random() < 0.01 else SMALL)
        ids.append(os.read(tell, 8))
    size = os.stat(path).st_size
    os.write(ask, HUGE if torn else SMALL)
    while torn and os.stat(path).st_size == size:
        pass
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the child ended on its own"
    ids.append(os.read(tell, 8))
    for fd in (asked, ask, tell):
        os.close(fd)
    return [id.decode() for id in ids if id]


def check(store: Store, path: str, told: list[str]) -> None:
    with open(path, "rb") as written:
        data = written.read()
    assert data.endswith(b"\n"), "the last line does not end"
    nodes = store.tree.nodes
    assert data.count(b"\n") == len(nodes) + 1, "there are lines that are no entries"
    assert len(store.tree.path(store.tree.leaf)) == len(nodes), "an entry does not follow the one before it"
    there = iter(node.id for node in nodes)
    assert all(id in there for id in told), "an entry is lost, or not in its place"


def main(path: str, seed: int, rounds: int) -> None:
    os.fsync = lambda fd: None  # No power is cut here: what was written before a kill is in the kernel's hands.
    chance = random.Random(seed)
    file.create(path, Header("an-id", "", "", None, 3), ()).close()
    told: list[str] = []
    for number in range(rounds):
        told += killed(path, chance, torn=number >= rounds - TEARING)
        store = session_folder.open_store(path).store
        check(store, path, told)
        store.log.close()
    print(f"{rounds} killed, {len(told)} entries told")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
