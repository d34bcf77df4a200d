from typing import TYPE_CHECKING, Any

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import Text
from linnet.errors import Cancelled, ToolFailed
from linnet.tools.context import ToolContext
from linnet.tools.ls import ls
from linnet.tools.spec import ToolOutput

if TYPE_CHECKING:
    from tests.tools.bench import Bench


def in_pis_words(bench: "Bench", **args: Any) -> ToolOutput:
    return ls.run(args, ToolContext(bench.cwd, CancelToken(), print, bench.processes, "pi"))


def test_entries_are_in_the_order_of_a_dictionary_and_folders_end_in_a_slash(bench: "Bench") -> None:
    # The order is the one in which pi lists the same names.
    names = ["__init__.py", "-x", ".git", "10", "9", "a b", "a_b", "a-b", "a.py", "a1", "ab", "B", "é", "ea", "f", "日"]
    for name in reversed(names):
        (bench.cwd / name).touch()
    (bench.cwd / "src").mkdir()
    (bench.cwd / "to").symlink_to("src")
    (bench.cwd / "torn").symlink_to("nowhere")
    (bench.cwd / "turn").symlink_to("turn")
    *rest, last = names
    assert bench.ok("ls").split("\n") == [*rest, "src/", "to/", "torn", "turn", last]
    assert bench.ok("ls", path="src") == "(empty directory)"


def test_a_limit_is_told_in_pis_words(bench: "Bench") -> None:
    for name in "abc":
        (bench.cwd / name).touch()
    output = in_pis_words(bench, limit=2)
    (part,) = output.content
    assert isinstance(part, Text)
    assert part.text == "a\nb\n\n[2 entries limit reached. Use limit=4 for more]"
    assert output.details == {"entryLimitReached": 2}
    assert in_pis_words(bench, limit=3).details is None


def test_what_cannot_be_listed_is_told(bench: "Bench") -> None:
    (bench.cwd / "file").touch()
    assert bench.fails("ls", path="nope") == "nope does not exist."
    assert bench.fails("ls", path="file").endswith("file is not a directory.")
    with pytest.raises(ToolFailed, match=f"^Path not found: {bench.cwd}/nope$"):
        in_pis_words(bench, path="nope")
    with pytest.raises(ToolFailed, match=f"^Not a directory: {bench.cwd}/file$"):
        in_pis_words(bench, path="file")


def test_an_abort_stops_it(bench: "Bench") -> None:
    (bench.cwd / "file").touch()
    cancel = CancelToken()
    cancel.set()
    with pytest.raises(Cancelled):
        ls.run({}, ToolContext(bench.cwd, cancel, print, bench.processes))
