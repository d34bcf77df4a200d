"""Recordings in whole runs: made and played by the SDK and by the program, and used as tests."""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec import to_builtins

from linnet import AsyncRuntime, Runtime
from linnet.core.cancel import Cancel
from linnet.core.models import Model, Prices
from linnet.errors import ConfigError, Contradiction, UnknownModel
from linnet.providers.base import Request
from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer
from linnet.testing.replayed import replayed

PROMPTS = ("hello", '!tool bash {"command":"pwd"}', "!fail 529 1", "!think", "!fail 400 1")


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Where a run is recorded, the recording, and where it is played."""
    there, here = tmp_path / "there", tmp_path / "elsewhere"
    there.mkdir()
    here.mkdir()
    return there, tmp_path / "run.jsonl", here


@pytest.fixture
def script(tmp_path: Path) -> str:
    """A model that writes a file by its whole path, and looks at it."""
    file = tmp_path / "script.json"
    path = str(tmp_path / "there" / "made.txt")
    turns = [
        [{"text": "I write."}, {"call": "write", "args": {"path": path, "content": "words"}}],
        [{"call": "bash", "args": {"command": f"cat {path}; pwd; echo $A_TOKEN"}}],
        [{"text": f"It is in {path}."}],
    ]
    file.write_text(json.dumps({"turns": turns}))
    return str(file)


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        hidden = ("time", "id", "message_id", "seconds", "session_id")
        return {name: without_times(each) for name, each in value.items() if name not in hidden}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def events(runtime: Runtime, cwd: Path) -> list[Any]:
    found = []
    for prompt in PROMPTS:
        for event in runtime.prompt(prompt):
            told = json.dumps([type(event).__name__, without_times(to_builtins(event, enc_hook=str))])
            found.append(re.sub(r"Took \d+\.\ds", "Took 0.0s", told.replace(str(cwd), "CWD")))
    state, stats = runtime.state(), runtime.stats()
    return [*found, state.model, state.provider, stats.cost, stats.usage]


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_run_that_is_played_has_the_same_events_and_costs(
    provider: str, server: ModelServer, folders: tuple[Path, Path, Path]
) -> None:
    there, file, here = folders
    asked: dict[str, Any] = {"provider": provider, "base_url": server.url, "api_key": "x", "retry_delay": 0.01}
    with Runtime(record=file, cwd=there, **asked) as runtime:
        was = events(runtime, there)
    requests = len(server.requests)
    with replayed(file, cwd=here, retry_delay=0.01) as runtime:
        assert events(runtime, here) == was
    assert len(server.requests) == requests > len(PROMPTS)


def test_a_run_that_is_played_works_in_its_own_folder_and_needs_no_key(
    script: str, folders: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, file, here = folders
    monkeypatch.setenv("A_TOKEN", "a secret of mine")
    with Runtime(record=file, script=script, cwd=there) as runtime:
        assert runtime.run("go").text == f"It is in {there / 'made.txt'}."
    assert "a secret of mine" not in file.read_text()
    monkeypatch.setenv("A_TOKEN", "another one")
    (there / "made.txt").unlink()
    with replayed(file, cwd=here) as runtime:
        assert runtime.run("go").text == f"It is in {here / 'made.txt'}."
    assert (here / "made.txt").read_text() == "words"
    assert not (there / "made.txt").exists()


def test_a_key_that_a_command_prints_is_not_recorded_either(
    server: ModelServer, folders: tuple[Path, Path, Path]
) -> None:
    there, file, _ = folders
    with Runtime(record=file, cwd=there, base_url=server.url, api_key="!echo correct-horse-battery") as runtime:
        runtime.run("What is correct-horse-battery?")
    assert server.requests
    assert "What is [REDACTED]?" in file.read_text()
    assert "correct-horse" not in file.read_text()


class Parrot:
    """A provider of the program's own."""

    name = "parrot"
    models: ClassVar = [Model("grey", "parrot", prices=Prices(1, 2))]

    def stream(self, request: Request, cancel: Cancel) -> Iterator[str]:
        yield f"{len(request.messages)} messages, "
        yield "squawk"


def test_a_provider_of_the_program_s_own_is_recorded_and_not_needed_to_play(folders: tuple[Path, Path, Path]) -> None:
    there, file, here = folders
    with Runtime(provider=Parrot(), record=file, cwd=there) as runtime:
        assert runtime.run("hello").text == "1 messages, squawk"
        was = runtime.state()
    with replayed(file, cwd=here) as runtime:
        assert runtime.run("hello").text == "1 messages, squawk"
        now = runtime.state()
    assert (now.provider, now.model, now.usage) == (was.provider, was.model, was.usage) == ("parrot", "grey", was.usage)


async def _play(file: Path, cwd: Path) -> str:
    async with AsyncRuntime(recording=file, cwd=cwd) as runtime:
        return (await runtime.run("go")).text


def test_the_asynchronous_runtime_plays_it_too(script: str, folders: tuple[Path, Path, Path]) -> None:
    import asyncio

    there, file, here = folders
    with Runtime(record=file, script=script, cwd=there) as runtime:
        runtime.run("go")
    assert asyncio.run(_play(file, here)) == f"It is in {here / 'made.txt'}."


def test_a_test_fails_in_words_if_the_run_asks_something_else(script: str, folders: tuple[Path, Path, Path]) -> None:
    there, file, here = folders
    with Runtime(record=file, script=script, cwd=there) as runtime:
        runtime.run("go")
    different = r'^call 1 is not .*: message 1, the user\'s, was "go" and is now "stop"$'
    with pytest.raises(AssertionError, match=different), replayed(file, cwd=here) as runtime:
        runtime.run("stop")
    with pytest.raises(AssertionError, match=different), replayed(file, cwd=here) as runtime:
        assert runtime.run("stop").text == "I write."  # What follows from the difference is not told.
    left = r"^3 calls are left in the recording .*, and nobody has asked"
    with pytest.raises(AssertionError, match=left), replayed(file, cwd=here):
        pass
    with pytest.raises(ZeroDivisionError), replayed(file, cwd=here):
        raise ZeroDivisionError
    with replayed(file, cwd=here, recording_match="none") as runtime:
        assert runtime.run("stop").text.startswith("It is in")


@pytest.mark.parametrize(
    ("said", "error", "words"),
    [
        ({"provider": "replay"}, ConfigError, "the replay provider needs a recording to play; name one with recording"),
        ({"recording": "FILE", "record": "x"}, Contradiction, "record and recording do not go together"),
        ({"recording": "FILE", "script": "x"}, Contradiction, "script and recording do not go together"),
        ({"recording": "FILE", "provider": "openai"}, ConfigError, "recording plays on the replay provider, not on op"),
        (
            {"recording": "FILE", "recording_match": "x"},
            ConfigError,
            "recording_match must be one of str",
        ),
        ({"recording": "FILE", "model": "gpt-5"}, UnknownModel, 'unknown model "gpt-5" (provider="replay")'),
        ({"recording": "nowhere"}, ConfigError, "nowhere cannot be read: there is no such file"),
        ({"provider": "scripted", "record": "FILE"}, ConfigError, "exists already, and no recording is written over"),
    ],
)
def test_what_makes_no_sense_is_refused_at_the_start(
    script: str, folders: tuple[Path, Path, Path], said: dict[str, Any], error: type[Exception], words: str
) -> None:
    there, file, _ = folders
    with Runtime(record=file, script=script, cwd=there) as runtime:
        runtime.run("go")
    keywords: dict[str, Any] = {name: str(file) if value == "FILE" else value for name, value in said.items()}
    with pytest.raises(error) as refused:
        Runtime(**keywords)
    assert words in str(refused.value)


def test_a_model_of_the_recording_may_be_named(script: str, folders: tuple[Path, Path, Path]) -> None:
    there, file, here = folders
    with Runtime(record=file, script=script, model="scripted/scripted-2", cwd=there) as runtime:
        runtime.run("go")
    for name in ("scripted-2", "scripted/scripted-2"):
        with replayed(file, cwd=here, provider="replay", model=name) as runtime:
            assert runtime.run("go").text


@pytest.fixture
def killed(spawn: Callable[..., Agent], server: ModelServer, folders: tuple[Path, Path, Path]) -> Iterator[Path]:
    """The recording of an agent that was killed while its model spoke."""
    there, file, _ = folders
    asked = ("--base-url", server.url, "--api-key", "x", "--record", str(file))
    agent = spawn("rpc", *asked, cwd=there)
    agent.prompt("hello")
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("text_delta")
    os.kill(agent.process.pid, signal.SIGKILL)
    agent.process.wait()
    yield file
    server.release("never")


def test_what_a_killed_process_leaves_plays_up_to_there(
    killed: Path, spawn: Callable[..., Agent], folders: tuple[Path, Path, Path]
) -> None:
    agent = spawn("rpc", "--provider", "replay", "--recording", str(killed), cwd=folders[2])
    assert agent.prompt("hello")[-2]["stop"] == "end_turn"
    frames = agent.prompt("!gate never")
    assert [frame["delta"] for frame in frames if frame["type"] == "text_delta"]
    assert f"the recording {killed} ends in the middle of call 2" in json.dumps(frames)
