"""What the properties prove is what production runs: no pure function is there for the tests alone."""

import ast
from functools import cache
from pathlib import Path

from tests.suite.sources import nodes, parsed, reads_sources

pytestmark = reads_sources

ROOT = Path(__file__).parent.parent / "src" / "linnet"
MODULES = sorted(ROOT.rglob("*.py"))
PURE = [path for path in MODULES if path.relative_to(ROOT).parts[0] in ("core", "wire")]


@cache
def named(path: Path) -> frozenset[str]:
    """All that a module names, outside of its definitions, and all that it imports, with dots."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(found)


def dotted(path: Path) -> str:
    parts = ("linnet", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_called(path: Path, function: str) -> bool:
    module = dotted(path)
    others = (named(each) for each in MODULES if each != path)
    return function in named(path) or any(
        f"{module}.{function}" in names or (module in names and function in names) for names in others
    )


def test_every_pure_function_is_called_by_production() -> None:
    functions = [(path, node.name) for path in PURE for node in parsed(path).body if isinstance(node, ast.FunctionDef)]
    assert [each for each in functions if not is_called(*each) and not each[1].startswith("__")] == []
