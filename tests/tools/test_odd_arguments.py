"""Whatever a model or a client puts where a path, a pattern or a number should be is an answer, never a traceback."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linnet import LinnetError, Runtime
from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import ToolCall
from linnet.processes.process import Processes
from linnet.tools.context import ToolContext
from linnet.tools.preview import preview
from linnet.tools.registry import Registry
from linnet.tools.standard import standard_tools
from tests.suite.forked import ForkedAgent

TOOLS = ("read", "write", "edit", "bash", "grep", "find", "ls")
ODD = {
    "a NUL": "a\0b",
    "a NUL after a tilde": "~\0",
    "half a character": "\ud800",
    "a name that is too long": "x" * 5000,
    "a path that is too long": "/x" * 5000,
    "somebody's home": "~nobody-has-this-name/x",
    "a link to itself": "loop",
    "a pipe": "pipe",
    "nothing": "",
}
COUNTS: list[Any] = [10**400, -(10**400), 2**63, 0, -1, 1e308, 0.5, True, None, "1", [], {}]


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ToolContext]:
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    processes = Processes()
    yield ToolContext(tmp_path, CancelToken(), lambda text: None, processes)
    processes.close()


def ask(within: ToolContext, caplog: pytest.LogCaptureFixture, tool: str, **args: object) -> str:
    call = ToolCall("c", tool, args)
    preview(call, within)
    output = Registry(standard_tools()).run(call, within)
    assert caplog.records == []  # What nobody foresaw is logged.
    return str(output)


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("tool", TOOLS)
def test_odd_words_are_answered(context: ToolContext, caplog: pytest.LogCaptureFixture, tool: str, kind: str) -> None:
    odd = ODD[kind]
    edits = [{"oldText": odd, "newText": odd}]
    ask(context, caplog, tool, path=odd, content="x", edits=edits, pattern="x", command="true")
    ask(context, caplog, tool, path=".", content=odd, edits=edits, pattern=odd, glob=odd, command=f"true {odd[:100]}")


@pytest.mark.parametrize("tool", TOOLS)
def test_odd_numbers_are_answered(context: ToolContext, caplog: pytest.LogCaptureFixture, tool: str) -> None:
    for count in COUNTS:
        options = dict.fromkeys(("offset", "limit", "context", "timeout"), count)
        ask(context, caplog, tool, path=".", pattern="x", command="true", content="", edits=[], **options)


@pytest.mark.parametrize("tool", TOOLS)
def test_arguments_without_a_bottom_are_answered(
    context: ToolContext, caplog: pytest.LogCaptureFixture, tool: str
) -> None:
    deep: object = 1
    for _ in range(sys.getrecursionlimit() - 200):
        deep = [deep]
    ask(context, caplog, tool, path=deep, pattern=deep, command=deep, content=deep, edits=deep)


@pytest.fixture
def bottomless(tmp_path: Path) -> Iterator[Path]:
    """A folder in a folder in a folder, three thousand times: its path is longer than a path can be."""
    top = tmp_path / "top"
    top.mkdir()
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(top)
        for _ in range(3000):
            os.mkdir("d")
            os.chdir("d")
        Path("needle.txt").write_text("needle\n")
    finally:
        os.fchdir(before)
        os.close(before)
    yield top
    os.system(f"rm -rf {top}")  # shutil goes down by calling itself.


def test_three_thousand_folders_are_searched_or_refused_in_words(
    bottomless: Path, caplog: pytest.LogCaptureFixture
) -> None:
    processes = Processes()
    context = ToolContext(bottomless, CancelToken(), lambda text: None, processes)
    for tool in ("grep", "find", "ls"):
        assert "Traceback" not in ask(context, caplog, tool, pattern="needle", path=".")
        assert "ended early" not in ask(context, caplog, tool, pattern="*.txt", path=".")
    processes.close()
    (bottomless / ".linnet").mkdir()
    (bottomless / "d").rename(bottomless / ".linnet" / "skills")
    with Runtime(cwd=bottomless, provider="scripted", trust=True, tools=[]) as runtime:
        assert runtime.run("hi").error is None


@pytest.mark.parametrize("kind", ["a NUL", "half a character", "a name that is too long", "a path that is too long"])
def test_odd_paths_of_a_client_are_refused_in_words(tmp_path: Path, kind: str) -> None:
    odd = ODD[kind]
    env = {"LINNET_HOME": str(tmp_path / "home")}
    with ForkedAgent("--mode", "rpc", "--provider", "scripted", cwd=tmp_path, env=env) as agent:
        for command, field in (("switch_session", "sessionPath"), ("export_html", "outputPath"), ("fork", "entryId")):
            agent.send({"id": command, "type": command, field: odd})
            assert "internal" not in agent.until("response")[-1].get("error", "")
        assert "Traceback" not in agent.stderr


@pytest.mark.parametrize("field", ["cwd", "session", "session_dir", "fork", "script"])
def test_odd_paths_of_a_host_are_errors_of_ours(tmp_path: Path, field: str) -> None:
    for odd in (ODD["a NUL"], ODD["a path that is too long"]):
        given: dict[str, Any] = {
            "provider": None if field == "script" else "scripted",
            "cwd": tmp_path,
            "save": True,
            field: odd,
        }
        with pytest.raises(LinnetError):
            Runtime(**given).close()
