"""Types are made ready by one thread at a time: msgspec crashes where two first use one together."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite.sources import parsed, reads_sources
from tests.test_layers import MODULES, ROOT

# While Outer is worked out, so is Inner, and with it the annotation of its field: a function, in which the first
# thread waits for the second. That one must not get at Outer yet; it would read fields that are not filled in.
IN_THE_MIDDLE = """
import threading
import msgspec
from linnet.decoding import converted, decoder_of, schema, schema_components

entered, over = threading.Event(), threading.Event()
line = b'{"inner":{"a":1},"last":"x"}'

def number():
    entered.set()
    over.wait(0.3)  # It ends by itself where the second waits for the first, as it should.
    return int

Inner = msgspec.defstruct("Inner", [("a", "number()")], module=__name__)
Outer = msgspec.defstruct("Outer", [("inner", Inner), ("last", str)])
first = threading.Thread(target=lambda: FIRST)
first.start()
assert entered.wait(30)
assert (SECOND).last == "x"
over.set()
first.join()
"""
ROUNDS = """
import sys, threading
import msgspec
from linnet.decoding import converted, decoder_of, schema, schema_components

sys.setswitchinterval(1e-6)
LINE = b'{"inner":{' + b",".join(b'"a%d":1' % n for n in range(20)) + b'},"last":1}'
VALUE = msgspec.json.decode(LINE)
USES = [
    lambda kind: decoder_of(kind).decode(LINE),
    lambda kind: converted(VALUE, kind),
    lambda kind: decoder_of(list[kind] | None).decode(b"[" + LINE + b"]"),
    lambda kind: schema(kind) and schema_components([kind], "{name}") and decoder_of(kind).decode(LINE),
]
for _ in range(150):
    Inner = msgspec.defstruct("Inner", [(f"a{n}", "int") for n in range(20)])
    Outer = msgspec.defstruct("Outer", [("inner", Inner), ("last", int)])
    together = threading.Barrier(len(USES))
    threads = [threading.Thread(target=lambda use=use: (together.wait(), use(Outer))) for use in USES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def run(program: str) -> int:
    return subprocess.run([sys.executable, "-c", program], timeout=120).returncode


DECODED = "decoder_of(Outer).decode(line)"
CONVERTED = "converted(msgspec.json.decode(line), Outer)"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (DECODED, CONVERTED),
        (CONVERTED, DECODED),
        ("schema(Outer)", DECODED),
        ("schema_components([Outer], '{name}')", DECODED),
    ],
)
def test_a_thread_that_comes_while_a_type_is_made_ready_waits(first: str, second: str) -> None:
    assert run(IN_THE_MIDDLE.replace("FIRST", first).replace("SECOND", second)) == 0


def test_threads_that_first_use_a_type_together_do_not_crash() -> None:
    assert run(ROUNDS) == 0


def types_read(tree: ast.AST) -> list[int]:
    """The lines in which msgspec itself is told to work out a type, however it was imported."""
    names = {"Decoder", "MsgpackDecoder", "convert", "schema", "schema_components", "type_info", "multi_type_info"}
    imported = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "msgspec"
        for alias in node.names
    }
    lines = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id):
                called = imported.get(id, "")
            case ast.Attribute(value, attr):
                root, *path = ast.unparse(value).split(".")
                called = attr if (root == "msgspec" or root in imported) and all(map(str.isidentifier, path)) else ""
            case _:
                called = ""
        typed = called == "decode" and (len(node.args) > 1 or any(each.arg == "type" for each in node.keywords))
        if called in names or typed:
            lines.append(node.lineno)
    return lines


@reads_sources
def test_only_one_module_has_msgspec_work_out_a_type() -> None:
    found = {path.relative_to(ROOT): lines for path in MODULES if (lines := types_read(parsed(path)))}
    assert list(found) == [Path("decoding.py")], f"ask linnet.decoding instead: {found}"


@pytest.mark.parametrize(
    "line",
    [
        "import msgspec; msgspec.convert({}, Kind)",
        "import msgspec; msgspec.json.decode(b'', type=Kind)",
        "import msgspec; msgspec.json.Decoder(Kind)",
        "from msgspec import json; json.decode(b'', type=Kind)",
        "from msgspec import json; json.Decoder(Kind)",
        "from msgspec.json import decode as d; d(b'', type=Kind)",
        "from msgspec.json import Decoder; Decoder(Kind)",
        "from msgspec.json import schema; schema(Kind)",
    ],
)
def test_the_search_for_such_lines_finds_them(line: str) -> None:
    assert types_read(ast.parse(line))
