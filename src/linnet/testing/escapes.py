"""Scripts whose processes get away from whoever started them, for tests that must find them all the same."""

import os
import sys
from pathlib import Path

from msgspec import Struct

from linnet.testing.processes import alive


class Escape(Struct, frozen=True):
    """A script that leaves processes running, and appends their ids to the file `pids`."""

    script: str  # For bash.
    count: int = 1  # How many processes it leaves, at least.


# Becomes a subreaper, to which orphans below it go, and has one.
SUBREAPER = """
import ctypes, os, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
if not os.fork():
    if not os.fork():
        os.setsid()
    open("pids", "a").write(f"{os.getpid()}\\n")
    time.sleep(600)
open("pids", "a").write(f"{os.getpid()}\\n")
time.sleep(600)
"""
QUIET = "</dev/null >/dev/null 2>&1"
ESCAPES = {
    "child": Escape("sleep 600 & echo $! >> pids"),
    "ignored signals": Escape("(trap '' TERM HUP INT QUIT; sleep 600 & echo $! >> pids; wait) &"),
    "group": Escape("set -m; sleep 600 & echo $! >> pids"),
    "session": Escape("setsid sh -c 'echo $$ >> pids; exec sleep 600' &"),
    "orphan in a session": Escape("(setsid sh -c 'echo $$ >> pids; exec sleep 600' &)"),
    "empty environment": Escape("env -i sleep 600 & echo $! >> pids"),
    "empty environment in a session": Escape("env -i setsid sleep 600 & echo $! >> pids"),
    "empty environment in a session, a level deeper": Escape(
        "(env -i setsid sh -c 'echo $$ >> pids; sleep 600; true' &)"
    ),
    "nohup": Escape(f"nohup sleep 600 {QUIET} & echo $! >> pids"),
    "disown": Escape("sleep 600 & echo $! >> pids; disown"),
    "another name": Escape("(exec -a something-else sleep 600) & echo $! >> pids"),
    "daemon": Escape(
        '(setsid bash -c \'(echo $BASHPID >> pids; cd /; for fd in /proc/$BASHPID/fd/*; do eval "exec ${fd##*/}>&-"; '
        f"done; exec env -i sleep 600) & exit' {QUIET} &)"
    ),
    "subreaper": Escape(f"'{sys.executable}' -S -c '{SUBREAPER}' {QUIET} &", 3),
    "stopped": Escape("setsid sleep 600 & kill -STOP $!; echo $! >> pids"),
    "chain of orphans": Escape(
        '(((setsid sh -c \'echo $$ >> pids; (setsid sh -c "echo \\$\\$ >> pids; exec env -i sleep 600" &); '
        "exec sleep 600' &) &) &)",
        2,
    ),
    "ever another program": Escape(
        "export AGAIN='exec sh -c \"$AGAIN\"'; (setsid sh -c 'echo $$ >> pids; exec sh -c \"$AGAIN\"' &)"
    ),
    "storm": Escape(
        '(setsid bash -c \'for i in {1..500}; do setsid sh -c "echo \\$\\$ >> pids; sleep 600" & '
        "sleep 0.002; done' &)",
        5,
    ),
}


def noted(folder: Path) -> list[int]:
    """Return the process ids that scripts have written to `pids` in this folder."""
    try:
        return [int(line) for line in (folder / "pids").read_text().splitlines()]
    except FileNotFoundError:
        return []


def survivors(folder: Path) -> list[int]:
    """Return the living processes that were noted in this folder, or whose working folder is in it."""
    found = {pid for pid in noted(folder) if alive(pid)}
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.readlink(f"/proc/{name}/cwd").startswith(str(folder)) and alive(int(name)):
                found.add(int(name))
        except OSError:
            continue
    return sorted(found)
