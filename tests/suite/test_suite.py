"""How the tests are run: with a seed that is told, within a time, and whatever signals they were started with."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.suite.seed import chosen, of_the_commit

ROOT = Path(__file__).parents[2]
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run pytest on a module, with these plugins of the suite; what it printed."""

    def start(module: str, *flags: str, ci: bool = False, start: str = "") -> str:
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        (tmp_path / "test_it.py").write_text(module)
        plugins = [f"-ptests.suite.{name}" for name in ("seed", "limit", "signals")]
        off = ["-pno:cacheprovider", "-pno:timeout"]
        argv = [sys.executable, "-m", "pytest", *plugins, *off, f"--rootdir={tmp_path}", f"-c{tmp_path}/pytest.ini"]
        argv += [*flags, str(tmp_path / "test_it.py")]
        if start:
            argv = [
                sys.executable,
                "-c",
                f"import os, signal, sys\n{start}\nos.execv(sys.executable, sys.argv[1:])",
                *argv,
            ]
        environ = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        environ |= {"CI": "1"} if ci else {}
        done = subprocess.run(argv, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.stdout + done.stderr

    return start


def commit(folder: Path, words: str) -> None:
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "init", "-q"], cwd=folder, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", words], cwd=folder, check=True)


def test_in_ci_the_seed_is_another_for_each_commit_and_elsewhere_for_each_run(tmp_path: Path) -> None:
    commit(tmp_path, "first")
    first = chosen(tmp_path, {"CI": "true"})
    assert first == chosen(tmp_path, {"CI": "true"}) == (str(of_the_commit(tmp_path)), "from the commit")
    assert len({chosen(tmp_path, {}) for _ in range(3)}) == 3
    commit(tmp_path, "second")
    assert chosen(tmp_path, {"CI": "true"}) != first


def test_without_a_repository_the_seed_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert of_the_commit(tmp_path) is None
    assert chosen(tmp_path, {"CI": "true"})[1] == "by chance"
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert of_the_commit(ROOT) is None


DRAWS = """
from pathlib import Path
import pytest
from hypothesis import given, settings, strategies as st

FILE = Path(__file__).with_name("drawn")

@settings(derandomize=False)
@given(st.integers(0, 10**9))
def test_numbers(number):
    with FILE.open("a") as file:
        file.write(f"{number} ")

@pytest.mark.parametrize("number", range(9))
def test_order(number):
    with FILE.open("a") as file:
        file.write(f"#{number} ")
"""


def test_the_seed_that_is_told_repeats_what_was_drawn_and_the_order(run: Run, tmp_path: Path) -> None:
    def drawn(*flags: str, ci: bool = False) -> tuple[str, str]:
        (tmp_path / "drawn").unlink(missing_ok=True)
        said = run(DRAWS, *flags, ci=ci)
        assert "10 passed" in said
        (told,) = re.findall(r"--hypothesis-seed=(\d+)", said)
        return told, (tmp_path / "drawn").read_text()

    commit(tmp_path, "first")
    seed, by_chance = drawn()
    assert drawn(f"--hypothesis-seed={seed}", "-n1") == (seed, by_chance)
    in_ci = drawn("-n1", ci=True)
    assert in_ci[0] == str(of_the_commit(tmp_path))
    assert in_ci[1] != by_chance


HANGS = """
import threading, time, pytest

@pytest.fixture
def left_behind():
    yield
    threading.Event().wait()

@pytest.mark.timeout(0.2)
def test_hang(left_behind):
    thread = threading.Thread(target=sleepy, name="sleepy", daemon=True)
    thread.start()
    thread.join()

def sleepy():
    threading.Event().wait()

def test_next():
    pass
"""


@pytest.mark.parametrize("flags", [(), ("-n1",)])
def test_what_hangs_fails_shows_every_thread_and_lets_the_next_one_run(run: Run, flags: tuple[str, ...]) -> None:
    said = run(HANGS, *flags)
    assert "1 failed, 1 passed, 1 error" in said  # Its clean-up hangs too.
    assert said.count("It did not end within 0.2 s.") >= 2
    assert re.search(r"Thread sleepy:\n(.*\n)+?.* in sleepy", said)
    assert re.search(r"Thread MainThread:\n(.*\n)+?.* in test_hang", said)
    assert re.search(r"Thread MainThread:\n(.*\n)+?.* in left_behind", said)


GROUP = """
import os, pytest
from pathlib import Path

@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("number", range(12))
def test_it(number):
    with Path(__file__).with_name("workers").open("a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")

@pytest.mark.parametrize("number", range(4))
def test_other(number):
    pass
"""


def test_one_worker_has_all_tests_of_a_group(run: Run, tmp_path: Path) -> None:
    assert "16 passed" in run(GROUP, "-ptests.suite.marks", "-n2", "--dist=loadgroup")
    workers = (tmp_path / "workers").read_text().split()
    assert (len(workers), len(set(workers))) == (12, 1)


STARTS = """
import re, signal, subprocess, sys

def test_child():
    show = 'print(open("/proc/self/status").read())'
    status = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True).stdout
    sets = {name: int(mask, 16) for name, mask in re.findall(r"(Sig...):\\t(\\w+)", status)}
    # The C library keeps two signals to itself, which make leaves ignored and nobody else can change.
    ours = sum(1 << number - 1 for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ})
    assert sets["SigBlk"] == 0
    assert sets["SigIgn"] & ours == 0

def test_here():
    signal.raise_signal(signal.SIGHUP)  # Whoever said nohup still gets it.
"""


@pytest.mark.parametrize("flags", [(), ("-n1",)])
def test_signals_that_were_ignored_or_blocked_before_reach_what_the_tests_start(
    run: Run, flags: tuple[str, ...]
) -> None:
    ignored = [int(number) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1)]
    start = f"for number in {ignored}: signal.signal(number, signal.SIG_IGN)\n"
    start += "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())"
    assert "2 passed" in run(STARTS, *flags, start=start)
