"""What a process has imported when it gives its first answer: the time that takes is a feature."""

import subprocess
import sys

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
