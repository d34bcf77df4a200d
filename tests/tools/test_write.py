import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.tools.bench import Bench


def test_it_creates_a_file_and_its_folders_and_says_how_many_bytes(bench: "Bench") -> None:
    assert bench.ok("write", path="a/b/c.txt", content="grün\n") == "Successfully wrote 6 bytes to a/b/c.txt"
    assert (bench.cwd / "a/b/c.txt").read_bytes() == "grün\n".encode()


def test_a_new_file_gets_the_mode_the_umask_allows(bench: "Bench") -> None:
    before = os.umask(0o027)
    try:
        bench.ok("write", path="a.txt", content="")
    finally:
        os.umask(before)
    assert stat.S_IMODE((bench.cwd / "a.txt").stat().st_mode) == 0o640


def test_an_existing_file_keeps_its_mode(bench: "Bench") -> None:
    script = bench.cwd / "run.sh"
    script.write_text("old")
    script.chmod(0o751)
    bench.ok("write", path="run.sh", content="new")
    assert script.read_text() == "new"
    assert stat.S_IMODE(script.stat().st_mode) == 0o751


def test_the_file_behind_a_link_is_replaced_and_the_link_stays(bench: "Bench") -> None:
    (bench.cwd / "deep").mkdir()
    (bench.cwd / "deep/target").write_text("old")
    (bench.cwd / "link").symlink_to("deep/target")
    bench.ok("write", path="link", content="new")
    assert (bench.cwd / "link").is_symlink()
    assert (bench.cwd / "deep/target").read_text() == "new"


def test_a_link_to_nothing_gets_its_target(bench: "Bench") -> None:
    (bench.cwd / "link").symlink_to("later/target")
    bench.ok("write", path="link", content="new")
    assert (bench.cwd / "later/target").read_text() == "new"


def test_no_temporary_file_is_left(bench: "Bench") -> None:
    bench.ok("write", path="a.txt", content="x")
    bench.ok("write", path="a.txt", content="y")
    bench.fails("write", path=".", content="z")
    assert os.listdir(bench.cwd) == ["a.txt"]


def test_what_cannot_be_written_is_refused_with_a_sentence(bench: "Bench") -> None:
    (bench.cwd / "file").write_text("x")
    (bench.cwd / "loop").symlink_to("loop")
    os.mkfifo(bench.cwd / "fifo")
    assert bench.fails("write", path=".", content="") == ". is a directory."
    assert "not a directory" in bench.fails("write", path="file/below", content="")
    assert "loop of symbolic links" in bench.fails("write", path="loop", content="")
    assert "Not a regular file" in bench.fails("write", path="fifo", content="")
    assert "name is too long" in bench.fails("write", path="x" * 300, content="")
    assert "cannot be the name of a file" in bench.fails("write", path="a\0b", content="")
    assert "UTF-8" in bench.fails("write", path="a", content="\ud800")
    assert sorted(os.listdir(bench.cwd)) == ["fifo", "file", "loop"]


def test_the_longest_name_the_system_allows_can_be_written(bench: "Bench") -> None:
    bench.ok("write", path="x" * 255, content="y")


FULL_DISK = """
import os, resource, sys
from pathlib import Path
from linnet.core.messages import ToolCall
from linnet.concurrency.cancel import CancelToken
from linnet.tools.context import ToolContext
from linnet.processes.process import Processes
from linnet.tools.registry import Registry
from linnet.tools.standard import standard_tools

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
context = ToolContext(Path.cwd(), CancelToken(), print, Processes())
registry = Registry(standard_tools())
edits = [{"oldText": "old", "newText": "x" * 5000}]
for name, args in ("write", {"content": "x" * 5000}), ("edit", {"edits": edits}):
    output = registry.run(ToolCall("1", name, {"path": "a", **args}), context)
    print(output.is_error, output.content[0].text)
"""


def test_when_the_disk_refuses_more_the_old_content_stays_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    done = subprocess.run([sys.executable, "-c", FULL_DISK], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True a: the file would be too large; nothing was changed."] * 2
    assert (tmp_path / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_that_may_not_be_written_is_not_replaced_where_its_folder_would_allow_it(
    bench: "Bench", monkeypatch: pytest.MonkeyPatch
) -> None:
    (bench.cwd / "a.txt").write_text("kept")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # What root may do, others may not.
    assert "ermission" in bench.fails("write", path="a.txt", content="x")
    assert "ermission" in bench.fails("edit", path="a.txt", edits=[{"oldText": "kept", "newText": "x"}])
    assert (bench.cwd / "a.txt").read_text() == "kept"
    assert os.listdir(bench.cwd) == ["a.txt"]
