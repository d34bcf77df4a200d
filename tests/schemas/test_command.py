"""`linnet schema` on the command line."""

import json
from pathlib import Path

import pytest

from linnet.cli.schema_command import FILES
from linnet.flags.flags import DIALECTS
from linnet.schemas import dialects
from tests.suite.forked import PROGRAMS, run

[LINNET] = (str(each) for each in PROGRAMS if each.name == "linnet")


def test_the_command_prints_what_is_asked_for(tmp_path: Path) -> None:
    assert {*dialects.DIALECTS} == {*DIALECTS}
    for words in (*(("--dialect", each) for each in DIALECTS), *(("--file", each) for each in FILES)):
        done = run([LINNET, "schema", *words], cwd=tmp_path, capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")
        assert json.loads(done.stdout)["$id"] == f"urn:linnet:schema:{words[1]}"
    done = run(
        [LINNET, "schema", "--dialect=zot", "--format=typescript"], cwd=tmp_path, capture_output=True, timeout=60
    )
    assert b"export type Command = " in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--dialect", "zot", "--file", "mcp"),
        ("zot",),
        ("--dialect", "pi-2"),
        ("--file", "mcp", "--format", "typescript"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(words: tuple[str, ...], tmp_path: Path) -> None:
    done = run([LINNET, "schema", *words], cwd=tmp_path, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"linnet: ")
