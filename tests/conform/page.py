"""Judges the originals, and writes what came of it into docs/conformance.md: `make conform`, with ZOT=path for zot.

What is not there keeps its text; words name the dialects to judge, else all are. A failure that nobody explained ends
this with a sentence.
"""

import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from linnet.conform.check import Dialect
from linnet.conform.everything import all_checks
from tests.conform.conftest import failed, judged
from tests.suite.real_pi import program

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
PIS: dict[Dialect, str] = {"pi-1": "pi15", "pi-0.87": "pi87", "pi-0.73": "pi73"}
OUTCOMES = ("passed", "failed", "not_judged")


def commands() -> dict[Dialect, list[str]]:
    """How the originals that are here are started, by the dialect that they speak."""
    found: dict[Dialect, list[str]] = {dialect: [*program(name), "--mode", "rpc"] for dialect, name in PIS.items()}
    if zot := os.environ.get("ZOT"):
        found["zot"] = [zot, "rpc"]
    return found


def explained(dialect: Dialect, report: dict[str, Any]) -> Iterable[str]:
    """The lines about one program."""
    yield "| | holds | does not hold |"
    yield "|---|---|---|"
    for tier, words in (("must", "must"), ("should", "should"), ("defect", "known defect of the original")):
        passed, wrong, left = (report["counts"][tier][outcome] for outcome in OUTCOMES)
        yield f"| {words} | {passed} | {wrong} |" + (f" {left} not judged" if left else "")
    checks = {check.id: check for check in all_checks(dialect)}
    yield ""
    yield "| does not hold | tier | what it does |"
    yield "|---|---|---|"
    for id in failed(report):
        yield f"| {checks[id].says} `{id}` | {checks[id].tier} | {checks[id].originals[dialect]} |"


def put(text: str, dialect: str, lines: Iterable[str]) -> str:
    """The page with this between the markers of a dialect."""
    begin, end = f"<!-- {dialect} -->", f"<!-- /{dialect} -->"
    inside = re.compile(f"{re.escape(begin)}.*{re.escape(end)}", re.DOTALL)
    assert inside.search(text), dialect
    block = "\n".join((begin, "", *lines, "", end))
    return inside.sub(lambda _: block, text)


def main(only: Sequence[str]) -> None:
    for dialect, command in commands().items():
        if only and dialect not in only:
            continue
        report = judged(dialect, command, "--deadline", "30", timeout=1800)
        known = {check.id for check in all_checks(dialect) if dialect in check.originals}
        if unexplained := {id: saw for id, saw in failed(report).items() if id not in known}:
            sys.exit(f"nobody has explained what {dialect} does: {unexplained}")
        PAGE.write_text(put(PAGE.read_text("utf-8"), dialect, explained(dialect, report)), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
