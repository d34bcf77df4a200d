"""What zot and pi themselves printed fits the schemas of their dialects, but for the defects that are listed here."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.suite.validated import misfit

TESTS = Path(__file__).parents[1]
FOLDERS = ("zot/transcripts", "pi/transcripts", "pi/today/captures")
GENERATIONS = {"37": "pi", "73": "pi-0.73", "87": "pi-0.87", "15": "pi-1"}
ZEROS = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
SHORTENED: dict[str, Callable[[Any], Any]] = {
    "usage": lambda said: {**ZEROS, "totalTokens": 0, "cost": {**ZEROS, "total": 0}} if isinstance(said, str) else said,
    "toolsAdded": lambda said: [
        {"name": each, "description": "", "parameters": {}} if isinstance(each, str) else each for each in said
    ],
}
"""What captures leave out for their size, and what stands there instead."""


class Defect(NamedTuple):
    """An object that is not as the protocol's document has it: which it is, and how it would be right."""

    dialects: tuple[str, ...]
    reason: str
    found: Callable[[dict[str, Any]], bool]
    mended: dict[str, Any]


ALL = tuple(GENERATIONS.values())
DEFECTS = {
    "zot-stop": Defect(
        ("zot",),
        "zot says `end` where its document says `end_turn`",
        (lambda each: each.get("type") == "turn_end" and each.get("stop") == "end"),
        {"stop": "end_turn"},
    ),
    "zot-args": Defect(
        ("zot",),
        "zot says null for a call without arguments",
        (lambda each: each.get("type") == "tool_call" and each.get("args", 0) is None),
        {"args": {}},
    ),
    "attachments": Defect(
        ("pi",),
        "pi 0.37 has no attachments any more; the document of 0.35 has them",
        (lambda each: each.get("role") == "user" and "attachments" not in each),
        {"attachments": []},
    ),
    "no-details": Defect(
        ("pi",),
        "pi leaves out details that are undefined",
        (lambda each: each.keys() == {"content"} and isinstance(each["content"], list)),
        {"details": {}},
    ),
    "no-exit-code": Defect(
        ("pi",),
        "pi leaves out the exit code of a command that was cancelled; its document has null",
        (lambda each: each.get("cancelled") is True and "output" in each and "exitCode" not in each),
        {"exitCode": None},
    ),
    "no-full-output-path": Defect(
        ("pi",),
        "pi leaves out the path of an output that is whole; its document has null",
        (lambda each: each.get("role") == "bashExecution" and "fullOutputPath" not in each),
        {"fullOutputPath": None},
    ),
    "no-last-text": Defect(
        ALL,
        "pi leaves out a text that is undefined; its document has null",
        (lambda each: each.get("command") == "get_last_assistant_text" and each.get("data") == {}),
        {"data": {"text": None}},
    ),
    "no-location": Defect(
        ("pi-0.87", "pi-1"),
        "pi says in `sourceInfo` where a command is from; linnet says it twice",
        (lambda each: "sourceInfo" in each and "location" not in each),
        {"location": "user"},
    ),
}


class Line(NamedTuple):
    dialect: str
    capture: str
    said: Any


@cache
def lines() -> list[Line]:
    """Every line that was printed in the captures."""
    found = []
    for path in (path for folder in FOLDERS for path in sorted((TESTS / folder).glob("*.jsonl"))):
        dialect = GENERATIONS.get(path.stem.rpartition("_")[2], "zot") if "zot" not in path.parts else "zot"
        for line in filter(None, path.read_text("utf-8").split("\n")):
            entry = json.loads(line)
            if "out" in entry:
                found.append(Line(dialect, path.stem, whole(entry["out"])))
    return found


def whole(value: Any) -> Any:
    match value:
        case dict():
            return {name: whole(SHORTENED.get(name, lambda said: said)(each)) for name, each in value.items()}
        case list():
            return [whole(each) for each in value]
        case _:
            return value


def mended(dialect: str, value: Any, used: set[str], without: str = "") -> Any:
    """Return a line without its defects, but for one; `used` is told which it had."""
    match value:
        case dict():
            inner = {name: mended(dialect, each, used, without) for name, each in value.items()}
            for name, defect in DEFECTS.items():
                if name != without and dialect in defect.dialects and defect.found(inner):
                    used.add(name)
                    inner |= defect.mended
            return inner
        case list():
            return [mended(dialect, each, used, without) for each in value]
        case _:
            return value


def misfits(without: str = "") -> Iterator[str]:
    for dialect, capture, said in lines():
        if problem := misfit(dialect, mended(dialect, said, set(), without), closed=False):
            yield f"{capture}: {problem}"


def test_every_line_of_the_captures_fits_but_for_the_listed_defects() -> None:
    assert len(lines()) > 5000
    assert {each.dialect for each in lines()} == {"zot", *GENERATIONS.values()}
    assert list(misfits()) == []


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_that_is_listed_is_one(name: str) -> None:
    assert next(misfits(name), None) is not None, DEFECTS[name].reason
