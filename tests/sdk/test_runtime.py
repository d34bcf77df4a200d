"""The runtime in one's own process, synchronously."""

import gc
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from linnet import Busy, Cancelled, Config, LinnetError, Runtime, frames
from linnet.errors import BadInput, Closed, ConfigError, UnknownModel
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import alive, wait_until


@pytest.fixture
def runtime(server: ModelServer, tmp_path: Path) -> Iterator[Runtime]:
    with open_runtime(server, tmp_path) as runtime:
        yield runtime


def open_runtime(server: ModelServer, cwd: Path, **options: Any) -> Runtime:
    return Runtime(Config(provider="anthropic", base_url=server.url, api_key="x", cwd=str(cwd), **options))


def test_a_prompt_yields_the_wires_events(runtime: Runtime) -> None:
    events = list(runtime.prompt("hi"))
    assert [event.type for event in events] == [
        "user_message",
        "turn_start",
        "assistant_start",
        "text_delta",
        "text_delta",
        "usage",
        "assistant_message",
        "turn_end",
        "done",
    ]
    assert "".join(event.delta for event in events if isinstance(event, frames.TextDelta)) == (
        "Hello from the scripted model."
    )


def test_an_event_and_its_line_are_one_type(runtime: Runtime) -> None:
    for event in runtime.prompt('!tool bash {"command":"echo hi"}'):
        line = msgspec.json.encode(event)
        assert json.loads(line)["type"] == event.type
        assert msgspec.json.decode(line, type=frames.Event) == event


def test_state_messages_cost_and_models(runtime: Runtime, tmp_path: Path) -> None:
    assert runtime.state().busy is False
    list(runtime.prompt("hi"))
    assert runtime.state().message_count == 2
    assert runtime.state().cwd == str(tmp_path)
    assert [message.role for message in runtime.messages()] == ["user", "assistant"]
    assert runtime.cost().cost_usd > 0
    assert "claude-opus-4-5" in [model.id for model in runtime.list_models()]
    runtime.clear()
    assert runtime.messages() == []


def test_a_second_prompt_is_refused_while_one_runs(runtime: Runtime, server: ModelServer) -> None:
    run = runtime.prompt("!gate g")
    with pytest.raises(Busy):
        runtime.prompt("hi")
    with pytest.raises(Busy):
        runtime.compact()
    server.release("g")
    assert [event.type for event in run][-1] == "done"
    list(runtime.prompt("hi"))


def test_abort_from_another_thread_ends_the_iteration(runtime: Runtime) -> None:
    events = []
    for event in runtime.prompt("!gate never"):
        events.append(event)
        if isinstance(event, frames.TextDelta):
            threading.Thread(target=runtime.abort).start()
    assert isinstance(events[-1], frames.Done)
    assert frames.TurnEnd("aborted") in events
    runtime.cancel()  # The other name for it; idle, it does nothing.
    assert list(runtime.prompt("hi"))[-2] == frames.TurnEnd("end_turn")


def test_letting_go_of_a_run_aborts_it(runtime: Runtime, server: ModelServer) -> None:
    run = runtime.prompt("!gate never")
    next(event for event in run if isinstance(event, frames.TextDelta))
    del run
    gc.collect()
    server.wait_for(disconnects=1)
    list(runtime.prompt("hi"))


def test_a_run_may_be_let_go_of_in_its_own_thread(runtime: Runtime, server: ModelServer) -> None:
    """There, as anywhere, the collector may find that nobody holds it any more."""
    gc.disable()
    try:
        run = runtime.prompt("!gate open")
        next(event for event in run if isinstance(event, frames.TextDelta))
        run._stream.notify = gc.collect  # type: ignore[assignment]  # What tells of an event is the run's own thread.
        circle: list[Any] = [run]
        circle.append(circle)
        del run, circle
        server.release("open")
        wait_until(lambda: not runtime.state().busy)
    finally:
        gc.enable()
    assert list(runtime.prompt("hi"))[-2] == frames.TurnEnd("end_turn")


def test_a_program_may_end_in_the_middle_of_a_run(server: ModelServer, tmp_path: Path) -> None:
    program = f"""
from linnet import Runtime
runtime = Runtime(provider="anthropic", base_url="{server.url}", api_key="x", cwd="{tmp_path}")
run = runtime.prompt("!hang")
next(run)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_a_program_may_end_inside_a_generator(server: ModelServer, tmp_path: Path) -> None:
    program = f"""
from linnet import Runtime
def events():
    with Runtime(provider="anthropic", base_url="{server.url}", api_key="x", cwd="{tmp_path}") as runtime:
        yield from runtime.prompt("!gate never")
heard = events()
next(heard)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_closing_a_run_waits_for_its_end(runtime: Runtime) -> None:
    run = runtime.prompt("!gate never")
    next(event for event in run if isinstance(event, frames.TextDelta))
    run.close()
    assert not runtime.state().busy
    assert list(run) == []


def test_nobody_taking_events_holds_the_run_but_not_the_memory(runtime: Runtime, server: ModelServer) -> None:
    run = runtime.prompt("!text 200000")
    server.wait_for(requests=1)
    assert runtime.state().busy
    said = "".join(event.delta for event in run if isinstance(event, frames.TextDelta))
    assert said.split()[-1] == "w199999"


def test_compact_returns_the_summary_or_says_why_not(runtime: Runtime) -> None:
    with pytest.raises(LinnetError, match="nothing to compact"):
        runtime.compact()
    for _ in range(3):
        list(runtime.prompt("hi"))
    assert runtime.compact() == "SUMMARY: scripted"
    assert len(runtime.messages()) == 5


def test_an_aborted_compact_is_cancelled(server: ModelServer, tmp_path: Path) -> None:
    with open_runtime(server, tmp_path) as runtime:
        for _ in range(3):
            list(runtime.prompt("HOLD SUMMARY never"))

        def abort() -> None:
            server.wait_for(requests=4)
            runtime.abort()

        aborting = threading.Thread(target=abort)
        aborting.start()
        with pytest.raises(Cancelled):
            runtime.compact()
        aborting.join()


def test_set_model_and_its_refusal(runtime: Runtime, server: ModelServer) -> None:
    runtime.set_model("claude-opus-4-5")
    list(runtime.prompt("hi"))
    assert server.requests[-1].body["model"] == "claude-opus-4-5"
    with pytest.raises(UnknownModel):
        runtime.set_model("nope")


def test_images_are_given_as_bytes(runtime: Runtime, server: ModelServer) -> None:
    list(runtime.prompt("look", images=[b"\x89PNG\r\n\x1a\n123"]))
    assert server.requests[-1].body["messages"][0]["content"][1]["source"]["media_type"] == "image/png"
    with pytest.raises(BadInput):
        runtime.prompt("look", images=[b"no image"])
    with pytest.raises(BadInput):
        runtime.prompt("")


def test_several_runtimes_live_in_one_process(server: ModelServer, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    runtimes = [open_runtime(server, folder) for folder in folders]
    runs = [runtime.prompt('!tool bash {"command":"pwd > here"}') for runtime in runtimes]
    for run in runs:
        list(run)
    assert [(folder / "here").read_text().strip() for folder in folders] == [str(folder) for folder in folders]
    for runtime in runtimes:
        runtime.close()


def test_one_runtime_may_be_used_from_many_threads(runtime: Runtime) -> None:
    done: list[str] = []

    def work() -> None:
        for _ in range(20):
            try:
                done.append(list(runtime.prompt("hi"))[-1].type)
            except Busy:
                runtime.state()
                runtime.messages()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(done) == {"done"}


def test_close_kills_what_was_left_running(server: ModelServer, tmp_path: Path) -> None:
    runtime = open_runtime(server, tmp_path)
    list(runtime.prompt('!tool bash {"command":"sleep 61.5 & echo $! > pid"}'))
    pid = int((tmp_path / "pid").read_text())
    assert alive(pid)
    runtime.close()
    runtime.close()
    wait_until(lambda: not alive(pid))
    with pytest.raises(Closed):
        runtime.prompt("hi")


def test_close_ends_a_run_with_its_last_events(server: ModelServer, tmp_path: Path) -> None:
    runtime = open_runtime(server, tmp_path)
    run = runtime.prompt("!gate never")
    next(event for event in run if isinstance(event, frames.TextDelta))
    runtime.close()
    assert [event.type for event in run][-2:] == ["turn_end", "done"]


def test_a_config_that_cannot_be_used_says_so() -> None:
    with pytest.raises(ConfigError, match="unknown provider"):
        Runtime(Config(provider="zzz"))
    with pytest.raises(TypeError):
        Runtime(Config(), provider="scripted")


def test_fields_may_be_given_as_keywords(tmp_path: Path) -> None:
    with Runtime(provider="scripted", cwd=str(tmp_path), tools=[]) as runtime:
        assert list(runtime.prompt("go"))[-1].type == "done"
