"""Every promise has a test. `requirements.toml` lists them; here it is checked that the list is whole and true."""

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest

from linnet.wire.pi import decode as pi_decode
from linnet.wire.pi import frames as pi_frames
from linnet.wire.pi import later_frames
from linnet.wire.pi_legacy import decode as legacy_decode
from linnet.wire.pi_legacy import encode as legacy_encode
from linnet.wire.zot import decode, frames
from tests.suite.sources import parsed

HERE = Path(__file__).parent
SOURCES = {
    "spec": "the mission's documents",
    "observed": "what the real program does where they are silent",
    "ours": "added here",
}
CASES = {  # Where a test is a set of files, one of them may be named in brackets.
    "tests/clients_js/test_client.py": "../clients/js/test/{}.test.ts",
    "tests/golden/test_golden.py": "golden/{}/stdin.jsonl",
    "tests/pi/test_transcripts.py": "pi/transcripts/{}.jsonl",
    "tests/zot/test_transcripts.py": "zot/transcripts/{}.jsonl",
}
BLOCKS = {"text", "image", "thinking", "toolCall"}  # Parts of a message, not frames.
LATER = {
    "agent_settled",
    "output",
    "hook_error",
    "extension_ui_request",
    "extension_ui_closed",
    "tool_request",
    "tool_request_closed",  # Frames that the earlier pi protocol does not know.
    "response",
    "tool_execution_update",
    "auto_retry_start",
    "auto_retry_end",
    "auto_compaction_start",
    "auto_compaction_end",
    "queue_update",
    "session_info_changed",
    "session_error",
    "project_untrusted",
}
DEFECTS_OF_PI = {*range(1, 15), *range(16, 19)}  # 15 is about extensions.
REQUIREMENTS: list[dict[str, Any]] = tomllib.loads((HERE / "requirements.toml").read_text("utf-8"))["requirement"]


@cache
def definitions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the functions of a module, and those of its classes."""
    body = parsed(path).body
    inside = [node for kind in body if isinstance(kind, ast.ClassDef) for node in kind.body]
    return [node for node in (*body, *inside) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def functions(path: Path) -> set[str]:
    return {node.name for node in definitions(path)}


@cache
def left_out(path: Path) -> set[str]:
    """The functions of this module that `make test` does not run."""
    own = {node.name for node in definitions(path) if any(map(_is_left_out, node.decorator_list))}
    assigned = [node for node in parsed(path).body if isinstance(node, ast.Assign)]
    marked = [node.value for node in assigned if ast.unparse(node.targets[0]) == "pytestmark"]
    return functions(path) if any(map(_is_left_out, marked)) else own


def _is_left_out(marks: ast.expr) -> bool:
    """One of several marks is enough. A mark on some of a test's parameters leaves the others."""
    if isinstance(marks, ast.List):
        return any(map(_is_left_out, marks.elts))
    return ast.unparse(marks) in ("pytest.mark.judge", "pytest.mark.chaos")


def tags(module: ModuleType) -> set[str]:
    found = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, pi_frames.Frame)]
    return {str(each.__struct_config__.tag) for each in found if each is not pi_frames.Frame}


def commands() -> list[str]:
    return [
        *(f"zot.command.{row.name}" for row in decode.rows()),
        *(f"pi.command.{row.name}" for row in pi_decode.rows()),
        *(f"pi_legacy.command.{row.name}" for row in legacy_decode.rows()),
    ]


def events() -> list[str]:
    """`message_update` is put together by hand, so no struct has that name; a response is a promise of the wire."""
    pi = tags(pi_frames) - BLOCKS | {"message_update"}
    legacy = (pi | tags(legacy_encode)) - LATER
    return [
        *(f"zot.event.{frame.__struct_config__.tag}" for frame in get_args(frames.Event)),
        *(f"pi.event.{name}" for name in sorted(pi | tags(later_frames))),
        *(f"pi_legacy.event.{name}" for name in sorted(legacy)),
        *(f"pi.type.{message.__struct_config__.tag}" for message in get_args(pi_frames.Message)),
        "pi.wire.response",
    ]


def is_promised(id: str) -> bool:
    return any(f"{r['id']}.".startswith(f"{id}.") for r in REQUIREMENTS)


def test_no_id_is_used_twice() -> None:
    assert [id for id, count in Counter(r["id"] for r in REQUIREMENTS).items() if count > 1] == []


def test_a_requirement_says_what_where_from_and_how_it_is_proved() -> None:
    for requirement in REQUIREMENTS:
        assert set(requirement) - {"differs"} == {"id", "says", "source", "tests"}, requirement
        assert re.fullmatch(r"[a-z_]+(\.[a-zA-Z0-9_-]+)+", requirement["id"])
        assert requirement["says"].endswith("."), requirement["id"]
        assert requirement["source"] in SOURCES, requirement["id"]
        assert requirement["tests"], requirement["id"]
        assert requirement.get("differs", "a reason"), requirement["id"]


def test_the_tests_of_a_requirement_exist() -> None:
    for test in {test for requirement in REQUIREMENTS for test in requirement["tests"]}:
        path, name, case = re.fullmatch(r"([\w/.]+)::(\w+)(?:\[(\w+)\])?", test).groups()  # type: ignore[union-attr]
        assert name in functions(HERE.parent / path), test
        assert name not in left_out(HERE.parent / path), f"`make test` does not run {test}"
        assert case is None or (HERE / CASES[path].format(case)).exists(), test


def test_every_command_and_every_event_is_promised() -> None:
    assert [name for name in (*commands(), *events()) if not is_promised(name)] == []


def test_every_defect_of_zot_has_its_place() -> None:
    assert {f"zot.defect.{number:02}" for number in range(1, 19)} <= {r["id"][:13] for r in REQUIREMENTS}


def test_every_defect_of_pi_has_its_place() -> None:
    assert {f"pi.defect.{number:02}" for number in DEFECTS_OF_PI} == {
        r["id"][:12] for r in REQUIREMENTS if r["id"].startswith("pi.defect.")
    }


def test_what_is_promised_of_a_command_or_an_event_exists() -> None:
    known = {*commands(), *events()}
    named = re.compile(r"(?:zot|pi|pi_legacy)\.(?:command|event)\.\w+")
    promised = {found[0] for r in REQUIREMENTS if (found := named.match(r["id"]))}
    assert promised <= known


@pytest.mark.parametrize("folder", ["pi", "zot"])
def test_every_capture_proves_a_promise(folder: str) -> None:
    named = {test for r in REQUIREMENTS for test in r["tests"]}
    file = f"tests/{folder}/test_transcripts.py::test_linnet_prints_what_{folder}_printed"
    unnamed = {path.stem for path in (HERE / folder / "transcripts").glob("*.jsonl")}
    unnamed -= {match[1] for test in named if (match := re.fullmatch(rf"{re.escape(file)}\[(\w+)\]", test))}
    assert not unnamed
