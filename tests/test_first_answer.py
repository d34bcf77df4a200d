"""What a process has imported when it gives its first answer: the time that takes is a feature."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PREPARED = """
from linnet.cli.entry_points import prepare

prepare()
import msgspec, sys, typing

assert not {"re", "datetime", "platform", "typing_extensions", "msgspec._json_schema"} & {*sys.modules}, "for others"

import datetime, re

assert typing.get_origin(typing.Pattern[str]) is re.Pattern
assert typing.get_origin(typing.Match[str]) is re.Match
assert typing.ForwardRef("int", is_class=True).__forward_arg__ == "int"

class Found(msgspec.Struct):
    at: datetime.datetime
    name: typing.Annotated[str, msgspec.Meta(pattern="^a+$")]

found = msgspec.json.decode(b'{"at":"2026-01-01T00:00:00Z","name":"aa"}', type=Found)
assert found.at == datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
assert "^a+$" in str(msgspec.json.schema(Found))
"""


def test_what_is_hidden_while_msgspec_is_imported_is_whole_afterwards() -> None:
    done = subprocess.run([sys.executable, "-c", PREPARED], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


NOT_NEEDED = (
    "re",
    "datetime",
    "inspect",
    "linnet.store",
    "linnet.serve",
    "linnet.eventlog",
    "linnet.tools",
    "linnet.runtime.run",
    "linnet.providers.http",
)
FLAGS = ("--provider", "anthropic", "--api-key", "x")


@pytest.mark.parametrize(
    ("command", "asked"),
    [(("linnet-pi", "--mode", "rpc", "--no-session"), "get_state"), (("linnet", "rpc"), "ping")],
    ids=["pi", "zot"],
)
def test_the_first_answer_waits_for_nothing_that_it_does_not_need(
    command: tuple[str, ...], asked: str, tmp_path: Path
) -> None:
    program = Path(sys.executable).with_name(command[0])
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPROFILEIMPORTTIME": "1"}
    reading, writing = os.pipe()
    os.write(writing, f'{{"id":"1","type":"{asked}"}}\n'.encode())  # Before it starts: else it would not lie idle.
    os.close(writing)
    done = subprocess.run(
        [program, *command[1:], *FLAGS],
        stdin=reading,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # In one stream, it shows what was imported before the answer.
        text=True,
        env=env,
        cwd=tmp_path,
        timeout=60,
    )
    os.close(reading)
    before, answered, _ = done.stdout.partition('"type":"response"')
    assert answered
    imported = {line.rpartition("|")[2].strip() for line in before.splitlines() if line.startswith("import time:")}
    assert "linnet.server.serve" in imported
    assert not {name for name in imported if any(f"{name}.".startswith(f"{each}.") for each in NOT_NEEDED)}
