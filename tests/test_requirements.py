"""Every promise has a test. `requirements.toml` lists them; here it is checked that the list is whole and true."""

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

from linnet.wire.zot import decode, frames

HERE = Path(__file__).parent
SOURCES = {
    "spec": "the mission's documents",
    "observed": "what the real program does where they are silent",
    "ours": "added here",
}
CASES = {  # Where a test is a set of files, one of them may be named in brackets.
    "tests/golden/test_golden.py": "golden/{}/stdin.jsonl",
    "tests/zot/test_transcripts.py": "zot/transcripts/{}.jsonl",
}
REQUIREMENTS: list[dict[str, Any]] = tomllib.loads((HERE / "requirements.toml").read_text("utf-8"))["requirement"]
every_requirement = pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda requirement: requirement["id"])


@cache
def functions(path: Path) -> set[str]:
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def commands() -> list[str]:
    """The words that the decoder's one `match` over command names knows."""
    tree = ast.parse(Path(decode.__file__).read_text("utf-8"))
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "_command")
    patterns = [node.value for node in ast.walk(function) if isinstance(node, ast.MatchValue)]
    return [str(pattern.value) for pattern in patterns if isinstance(pattern, ast.Constant)]


def events() -> list[str]:
    return [str(frame.__struct_config__.tag) for frame in get_args(frames.Event)]


def test_no_id_is_used_twice() -> None:
    assert [id for id, count in Counter(r["id"] for r in REQUIREMENTS).items() if count > 1] == []


@every_requirement
def test_a_requirement_says_what_where_from_and_how_it_is_proved(requirement: dict[str, Any]) -> None:
    assert set(requirement) - {"differs"} == {"id", "says", "source", "tests"}
    assert re.fullmatch(r"[a-z]+(\.[a-z0-9_-]+)+", requirement["id"])
    assert requirement["says"].endswith(".")
    assert requirement["source"] in SOURCES
    assert requirement["tests"]
    assert requirement.get("differs", "a reason")


@every_requirement
def test_the_tests_of_a_requirement_exist(requirement: dict[str, Any]) -> None:
    for test in requirement["tests"]:
        path, name, case = re.fullmatch(r"([\w/.]+)::(\w+)(?:\[(\w+)\])?", test).groups()  # type: ignore[union-attr]
        assert name in functions(HERE.parent / path), test
        assert case is None or (HERE / CASES[path].format(case)).exists(), test


@pytest.mark.parametrize("command", commands())
def test_every_command_is_promised(command: str) -> None:
    assert any(f"{r['id']}.".startswith(f"zot.command.{command}.") for r in REQUIREMENTS)


@pytest.mark.parametrize("event", events())
def test_every_event_is_promised(event: str) -> None:
    assert any(f"{r['id']}.".startswith(f"zot.event.{event}.") for r in REQUIREMENTS)


def test_every_defect_of_zot_has_its_place() -> None:
    assert {f"zot.defect.{number:02}" for number in range(1, 19)} <= {r["id"][:13] for r in REQUIREMENTS}
