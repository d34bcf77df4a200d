"""Servers that others wrote, from PyPI and npm, on pipes and over HTTP."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import Image
from linnet.errors import Cancelled
from linnet.testing.processes import wait_until

if TYPE_CHECKING:
    from tests.extensions.mcp.conftest import Bench

PYTHON = Path(sys.executable).parent
NODE = Path(__file__).parents[3] / ".venv" / "mcp" / "node_modules" / ".bin"
needs_npm = pytest.mark.skipif(
    not NODE.exists() and "CI" not in os.environ, reason="servers from npm are not installed: make .venv/.node"
)
slow = pytest.mark.timeout(180)  # They import a lot, and several start at once.

pytestmark = pytest.mark.foreign


def npm(name: str, *args: str, **env: str) -> dict[str, Any]:
    return {"command": str(NODE / f"mcp-server-{name}"), "args": list(args), "env": env, "startTimeout": 100}


def pypi(name: str, *args: str) -> dict[str, Any]:
    return {"command": str(PYTHON / f"mcp-server-{name}"), "args": list(args), "startTimeout": 100}


@slow
def test_a_clock_from_pypi_tells_the_time_and_refuses_a_place_that_is_not(bench: "Bench") -> None:
    toolset = bench.configured(time=pypi("time", "--local-timezone", "UTC"))
    assert {"mcp__time__get_current_time", "mcp__time__convert_time"} == {spec.name for spec in toolset.specs}
    now = json.loads(bench.words(bench.call(toolset, "mcp__time__get_current_time", timezone="Asia/Tokyo")))
    assert now["timezone"] == "Asia/Tokyo"
    wrong = bench.call(toolset, "mcp__time__get_current_time", timezone="Nowhere/Land")
    assert wrong.is_error
    assert "Invalid timezone" in bench.words(wrong)


@slow
def test_git_from_pypi_works_in_the_folder_of_the_agent(bench: "Bench") -> None:
    subprocess.run(["git", "init", "--quiet", "--initial-branch", "trunk"], cwd=bench.cwd, check=True)
    toolset = bench.configured(git=pypi("git"))
    assert toolset.specs
    (bench.cwd / "new.txt").write_text("new")
    status = bench.words(bench.call(toolset, "mcp__git__git_status", repo_path="."))
    assert "On branch trunk" in status
    assert "new.txt" in status


@slow
@needs_npm
def test_files_from_npm_are_written_read_and_confined(bench: "Bench") -> None:
    toolset = bench.configured(files=npm("filesystem", "."))
    assert toolset.specs
    path = str(bench.cwd / "a.txt")
    assert not bench.call(toolset, "mcp__files__write_file", path=path, content="über").is_error
    assert (bench.cwd / "a.txt").read_text() == "über"
    assert bench.words(bench.call(toolset, "mcp__files__read_text_file", path=path)) == "über"
    outside = bench.call(toolset, "mcp__files__read_text_file", path="/etc/hostname")
    assert outside.is_error
    assert "outside allowed directories" in bench.words(outside)


@slow
@needs_npm
def test_a_memory_from_npm_outlives_its_server(bench: "Bench") -> None:
    memory = npm("memory", MEMORY_FILE_PATH=str(bench.cwd / "memory.jsonl"))
    first = bench.configured(memory=memory)
    assert first.specs
    entity = {"name": "linnet", "entityType": "bird", "observations": ["sings"]}
    assert not bench.call(first, "mcp__memory__create_entities", entities=[entity]).is_error
    first.close()
    second = bench.configured(memory=memory)
    assert second.specs
    assert "sings" in bench.words(bench.call(second, "mcp__memory__search_nodes", query="bird"))


@slow
@needs_npm
def test_the_reference_server_from_npm_with_everything_it_has(bench: "Bench") -> None:
    toolset = bench.configured(all=npm("everything"))
    assert len(toolset.specs) >= 10
    assert bench.words(bench.call(toolset, "mcp__all__echo", message="hi")) == "Echo: hi"
    assert any(isinstance(part, Image) for part in bench.call(toolset, "mcp__all__get_tiny_image").content)
    links = bench.words(bench.call(toolset, "mcp__all__get_resource_links", count=2))
    assert "demo://resource" in links
    structured = bench.words(bench.call(toolset, "mcp__all__get_structured_content", location="Chicago"))
    assert "temperature" in structured
    working = bench.start(toolset, "mcp__all__trigger_long_running_operation", duration=1, steps=4)
    assert "Long running operation completed" in bench.words(working.result())
    assert working.heard[0] == "1/4\n"
    cancel = CancelToken()
    assert "Paris" in toolset.expand("mcp__all__args_prompt", "Paris", cancel)
    resources = [command for command in toolset.commands() if command.kind == "resource"]
    assert toolset.expand(resources[0].name, "", cancel).startswith("[demo://")


@slow
@needs_npm
def test_an_abort_reaches_a_real_server_in_mid_call(bench: "Bench") -> None:
    toolset = bench.configured(all=npm("everything"))
    assert toolset.specs
    working = bench.start(toolset, "mcp__all__trigger_long_running_operation", duration=600, steps=6000)
    wait_until(lambda: working.heard != [], 30)
    working.cancel.set()
    assert isinstance(working.result(), Cancelled)
    assert bench.words(bench.call(toolset, "mcp__all__echo", message="hi")) == "Echo: hi"


@contextmanager
def everything_over_http(folder: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The port is the system's choice; the server does not tell which it was, the kernel does."""
    command = ["node", str(NODE / "mcp-server-everything"), "streamableHttp"]
    with (folder / "http.log").open("wb") as log:
        process = subprocess.Popen(command, env={**os.environ, "PORT": str(port)}, stdout=log, stderr=log)
    try:
        wait_until(lambda: _listening(process.pid) is not None, 60)
        yield process, _listening(process.pid) or 0
    finally:
        process.kill()
        process.wait()


def _listening(pid: int) -> int | None:
    sockets = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # Closed meanwhile.
            sockets |= {*re.findall(r"socket:\[(\d+)\]", os.readlink(file))}
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = row.split()
            if fields[3] == "0A" and fields[9] in sockets:
                return int(fields[1].rpartition(":")[2], 16)
    return None


@slow
@needs_npm
def test_a_real_server_over_http_is_called_aborted_lost_and_found_again(bench: "Bench", tmp_path: Path) -> None:
    with everything_over_http(tmp_path) as (process, port):
        toolset = bench.configured(web={"type": "http", "url": f"http://127.0.0.1:{port}/mcp", "startTimeout": 100})
        assert len(toolset.specs) >= 10
        assert bench.words(bench.call(toolset, "mcp__web__echo", message="hi")) == "Echo: hi"
        working = bench.start(toolset, "mcp__web__trigger_long_running_operation", duration=600, steps=6000)
        wait_until(lambda: working.heard != [], 30)
        working.cancel.set()
        assert isinstance(working.result(), Cancelled)
        process.kill()
        process.wait()
        lost = bench.call(toolset, "mcp__web__echo", message="hi")
        assert lost.is_error
        assert bench.words(lost).startswith("MCP server web is not there: ")
        with everything_over_http(tmp_path, port):
            wait_until(lambda: not bench.call(toolset, "mcp__web__echo", message="hi").is_error, 30)


@slow
def test_an_address_where_nobody_listens_is_left_out_with_a_sentence(bench: "Bench") -> None:
    toolset = bench.configured(web={"url": "http://127.0.0.1:1/mcp"})
    assert toolset.specs == ()
    assert toolset.status()[0].problem == "All connection attempts failed"
