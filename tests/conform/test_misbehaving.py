"""The kit itself: each agent that breaks one promise is caught by the check that names it; hostile ones end in time."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from linnet.conform.check import Dialect
from linnet.conform.everything import all_checks
from linnet.testing.processes import marked, wait_until
from tests.conform.conftest import failed, judged, misbehaving, run
from tests.conform.misbehaving import MANNERS


@pytest.mark.parametrize("manner", MANNERS)
def test_a_broken_promise_is_caught_by_the_check_that_names_it(manner: str) -> None:
    dialect, check, _ = MANNERS[manner]
    seconds = "6" if manner in WAITED_FOR else "30"
    report = judged(dialect, misbehaving(manner, dialect), "--only", check, "--deadline", seconds)
    saw = failed(report)
    assert check in saw, report
    assert saw[check][0].islower() or saw[check][0] in "`_"
    scene = next(each["scene"] for each in report["checks"] if each["id"] == check)
    assert any("out" in line or "note" in line for line in report["transcripts"][scene])


@pytest.mark.parametrize("dialect", ["zot", "pi-1", "pi-legacy"])
def test_what_passes_through_unchanged_keeps_its_promises(dialect: str) -> None:
    named = {check for each, check, _ in MANNERS.values() if each == dialect}
    report = judged(dialect, misbehaving("nothing wrong", dialect), *(word for id in named for word in ("--only", id)))
    assert failed(report) == {}


WAITED_FOR = (
    *("drops a response", "answers with another id", "never settles", "wraps frames"),
    *("does not end retries", "ends lines with U+2028"),
)
"""Manners that show only when nothing more comes."""
HOSTILE = ("silent", "deaf", "flood", "flood of lines", "flood of stderr", "garbage", "dead", "children")


@pytest.mark.parametrize(
    ("manner", "dialect"), [*((manner, "zot") for manner in HOSTILE), ("silent", "pi-1"), ("flood", "pi-legacy")]
)
def test_a_hostile_program_has_a_verdict_soon_and_leaves_nothing(manner: str, dialect: str) -> None:
    mark = f"LINNET_MARK_{os.getpid()}_{time.monotonic_ns()}"
    began = time.monotonic()
    report = judged(dialect, ["env", f"{mark}=1", *misbehaving(manner, dialect)], "--deadline", "3", code=1)
    assert all(check["outcome"] == "failed" for check in report["checks"] if check["tier"] == "must")
    assert time.monotonic() - began < 100
    wait_until(lambda: not marked(mark))
    assert all(failed(report).values())


@pytest.mark.parametrize("dialect", ["zot", "pi-1", "pi-legacy"])
@pytest.mark.parametrize("manner", ["echo", "latin-1"])
def test_whatever_a_program_answers_every_check_has_a_verdict(manner: str, dialect: Dialect) -> None:
    done = run("--dialect", dialect, "--json", "--deadline", "0.3", "--", *misbehaving(manner, dialect))
    assert (done.returncode, done.stderr) == (1, "")
    report = json.loads(done.stdout)
    assert len(report["checks"]) == len(all_checks(dialect))
    assert all(each["saw"] for each in report["checks"] if each["outcome"] == "failed")


PEAK = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""Runs a program, and prints the most KiB that it or a child of it had. From a small process: what a large one starts
begins with its size.
"""


def test_a_flood_does_not_make_the_judge_grow() -> None:
    words = ["--dialect", "zot", "--only", "zot.event", "--deadline", "20", "--jobs", "4", "--", *misbehaving("floods")]
    command = [sys.executable, "-c", PEAK, sys.executable, "-m", "linnet", "conform", *words]
    code, peak = subprocess.check_output(command, timeout=110).split()
    assert int(code) == 1
    assert int(peak) < 250 * 1024, f"{int(peak)} KiB"


def _is_judging(mark: str, judge: int) -> bool:
    return any(pid != judge for pid in marked(mark, "silent"))


def test_a_judge_that_is_ended_leaves_no_process(tmp_path: Path) -> None:
    mark = f"LINNET_MARK_{os.getpid()}_{time.monotonic_ns()}"
    words = ["conform", "--dialect", "zot", "--", "env", f"{mark}=1", *misbehaving("silent")]
    for number in (signal.SIGTERM, signal.SIGKILL):
        judge = subprocess.Popen([sys.executable, "-m", "linnet", *words], env={**os.environ, "TMPDIR": str(tmp_path)})
        wait_until(partial(_is_judging, mark, judge.pid))
        judge.send_signal(number)
        assert judge.wait(30) in (128 + number, -number)
        wait_until(lambda: not marked(mark))
        assert number == signal.SIGKILL or not list(tmp_path.iterdir())


def test_a_program_that_cannot_be_started_is_a_sentence() -> None:
    done = run("--dialect", "zot", "--", "/nowhere/agent")
    assert done.returncode == 2
    assert done.stderr == "linnet: /nowhere/agent cannot be started: No such file or directory\n"
