"""The source of the product, parsed once for all tests that read it: one worker has them all."""

import ast
from functools import cache
from pathlib import Path

import pytest

reads_sources = pytest.mark.xdist_group("sources")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all that there is in a module."""
    return tuple(ast.walk(parsed(path)))
