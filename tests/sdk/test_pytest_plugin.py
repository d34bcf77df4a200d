"""The plug-in for pytest, in runs of pytest of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.model_server import ModelServer

TEST = """
def test_greeting(linnet_replay, tmp_path):
    runtime = linnet_replay(provider="anthropic", base_url="{url}", api_key="x", cwd=tmp_path)
    assert runtime.run("{prompt}").text == "{answer}"
"""
HELLO = "Hello from the scripted model."


class Project:
    """A project with one test, and a home without anything."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.recording = folder / "recordings" / "test_greeting.jsonl"

    def run(self, *flags: str, prompt: str = "hello", answer: str = HELLO, url: str | None = None) -> tuple[int, str]:
        """The exit code of pytest, and what it prints."""
        text = TEST.format(url=url or self.url, prompt=prompt, answer=answer)
        (self.folder / "test_it.py").write_text(text)
        environ = {**os.environ, "LINNET_HOME": str(self.folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-W",
            "error",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            *flags,
        ]
        done = subprocess.run(command, cwd=self.folder, env=environ, capture_output=True, text=True, timeout=100)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path, server: ModelServer) -> Project:
    return Project(tmp_path, server.url)


def test_a_run_is_recorded_once_and_played_from_then_on(project: Project, server: ModelServer) -> None:
    code, printed = project.run()
    assert code == 1
    assert f"there is no recording {project.recording}; pytest --linnet-record makes it" in printed
    assert project.run("--linnet-record")[0] == 0
    asked, made = len(server.requests), project.recording.read_bytes()
    assert asked == 1
    for flags in ((), ("--linnet-record",)):
        assert project.run(*flags, url="http://127.0.0.1:1")[0] == 0
    assert (len(server.requests), project.recording.read_bytes()) == (asked, made)


def test_a_test_that_asks_something_else_fails_with_the_difference(project: Project) -> None:
    project.run("--linnet-record")
    code, printed = project.run(prompt="good morning")
    assert code == 1
    assert "FAILED test_it.py::test_greeting" in printed
    assert "call 1 is not what was recorded" in printed
    assert 'message 1, the user\'s, was "hello" and is now "good morning"' in printed
    assert "assert" not in printed  # What follows from the difference is not told.


def test_a_test_that_fails_leaves_no_recording(project: Project) -> None:
    code, printed = project.run("--linnet-record", answer="something else")
    assert (code, project.recording.exists()) == (1, False)
    assert "AssertionError: assert 'Hello" in printed


def test_a_test_that_fails_while_it_plays_says_why(project: Project) -> None:
    project.run("--linnet-record")
    code, printed = project.run(answer="something else")
    assert (code, project.recording.exists()) == (1, True)
    assert "AssertionError: assert 'Hello" in printed


def test_the_plug_in_loads_nothing_of_linnet_before_it_is_used() -> None:
    code = "import sys, linnet.testing.pytest_plugin; print(*sorted(n for n in sys.modules if n.startswith('linnet')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.split() == ["linnet", "linnet.testing", "linnet.testing.pytest_plugin"]


def test_one_test_may_have_several_recordings_and_name_them(
    linnet_replay: Callable[..., object], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The fixture is there wherever linnet is installed, here too."""
    if request.config.getoption("--linnet-record"):
        pytest.skip("this would make them")
    for name, file in ((None, "recordings/test_one_test_may_have_several_recordings_and_name_them"), ("a/b", "a/b")):
        with pytest.raises(pytest.fail.Exception, match=f"there is no recording .*/tests/sdk/{file}"):
            linnet_replay(name, cwd=tmp_path)
