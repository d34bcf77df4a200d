"""The map of the code, held against the code: every module and every thread is on it, and nothing else is."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.suite.sources import nodes, reads_sources

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "linnet"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
LAYERS = sorted(folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").exists())
QUOTED = re.compile(r"`([^`]+)`")
THREADS = ("Thread", "ThreadPoolExecutor", "Threads")


def first_cells(header: str) -> list[str]:
    """What is quoted in the first column of every table that begins so."""
    rows: list[str] = []
    inside = False
    for line in PAGE.splitlines():
        inside = line.startswith(f"| {header} |") or (inside and line.startswith("|"))
        rows += [line.split(" | ")[0]] if inside else []
    return [name for row in rows[1:] for name in QUOTED.findall(row)]


@pytest.mark.parametrize("layer", LAYERS)
def test_every_module_of_a_layer_is_in_its_table_once(layer: str) -> None:
    folder = SOURCE / layer
    there = [str(path.relative_to(folder)) for path in folder.rglob("*.py") if path.name != "__init__.py"]
    named = [name for name in first_cells(f"module of `{layer}`") if name.endswith(".py")]
    assert sorted(named) == sorted(there)


def test_every_layer_and_module_beside_them_is_in_the_table_of_layers_once() -> None:
    beside = [path.name for path in SOURCE.glob("*.py") if path.name != "__init__.py"]
    assert sorted(first_cells("layer")) == sorted(LAYERS + beside)


def names_of_threads() -> Iterator[str]:
    """What threads are called in the source, with `*` for what is put in."""
    for path in SOURCE.rglob("*.py"):
        if path.is_relative_to(SOURCE / "testing"):
            continue
        for node in nodes(path):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in THREADS:
                given = [each.value for each in node.keywords if each.arg in ("name", "thread_name_prefix")]
                for value in given or node.args[:1]:
                    match value:
                        case ast.Constant(value=str(name)):
                            yield name
                        case ast.JoinedStr(values=[ast.Constant(value=str(name)), *_]):
                            yield f"{name}*"
                        case _:
                            pass


@reads_sources
def test_every_thread_is_in_the_table_of_threads() -> None:
    listed = {re.sub("NAME|PID", "*", name) for name in first_cells("thread")}
    started = set(names_of_threads())
    assert len(started) > 20
    assert started <= listed
    source = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    assert all(f'"{name.rstrip("*")}' in source for name in listed), "one that nothing starts is not listed"
