"""pi itself, of two generations, driven by PiClient against the scripted model server."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from linnet.client import PiClient, Refused, RunFailed, pi
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import alive
from tests.suite.real_pi import prepared_home, program

PATIENCE = 60.0
Start = Callable[..., PiClient]


pytestmark = pytest.mark.foreign
both = pytest.mark.parametrize("version", ["pi73", "pi87"], indirect=True)


@pytest.fixture(params=[pytest.param("pi73", marks=pytest.mark.judge), "pi87"])
def version(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def real_pi(version: str, server: ModelServer, tmp_path: Path) -> Iterator[Start]:
    """pi with a home of its own and a model of ours. Retries come quickly."""
    folder = tmp_path / "work"
    folder.mkdir()
    env = prepared_home(tmp_path / "home", server.url)
    with ExitStack() as stack:

        def start(*args: str, **options: Any) -> PiClient:
            client = PiClient(
                [*program(version), "--mode", "rpc"],
                provider="ours",
                model="scripted",
                args=args or ["--no-session"],
                cwd=folder,
                env=env,
                timeout=PATIENCE,
                **options,
            )
            return stack.enter_context(client)

        yield start


def names(events: list[pi.Heard]) -> list[str]:
    return [type(event).__name__ for event in events]


@both
def test_a_prompt_is_over_when_pi_is_idle(real_pi: Start, version: str) -> None:
    agent = real_pi()
    events = list(agent.prompt("hi", timeout=PATIENCE))
    assert names(events)[-1] == ("AgentEnd" if version == "pi73" else "AgentSettled")
    assert not {"UnknownEvent", "BadLine"} & set(names(events))
    assert agent.get_last_assistant_text() == "Hello from the scripted model."
    assert agent.prompt("again").text() == "Hello from the scripted model."
    assert agent.close() == 0


def test_a_retry_belongs_to_the_run(real_pi: Start) -> None:
    agent = real_pi()
    run = agent.prompt("!drop 3", timeout=PATIENCE)
    seen = names(list(run))
    assert seen.count("AutoRetryStart") == seen.count("AgentStart") - 1 > 0
    assert not agent.get_state().is_streaming
    assert agent.prompt("hi").text()


def test_a_retry_that_is_given_up_ends_the_run(real_pi: Start) -> None:
    agent = real_pi()
    with pytest.raises(RunFailed):
        agent.prompt("!fail 401 9", timeout=PATIENCE).text()
    seen = []
    for event in agent.prompt("!drop 3", timeout=PATIENCE):
        seen.append(event)
        if isinstance(event, pi.AutoRetryStart):
            agent.abort_retry()
    assert "AutoRetryEnd" in names(seen)


def test_what_is_queued_belongs_to_the_run(real_pi: Start, server: ModelServer) -> None:
    agent = real_pi()
    run, listening = agent.prompt("!gate door", timeout=PATIENCE), agent.events()
    while not isinstance(listening.next(timeout=PATIENCE), pi.MessageUpdate):
        pass
    agent.steer("left")
    agent.follow_up("right")
    with pytest.raises(Refused, match="already processing"):
        agent.prompt("no").accepted(timeout=PATIENCE)
    server.release("door")
    said = [e.message.text for e in run if isinstance(e, pi.MessageEnd) and e.message.role == "user"]
    assert said == ["!gate door", "left", "right"]
    agent.wait_idle(timeout=PATIENCE)
    assert not agent.get_state().is_streaming


def test_an_abort_ends_the_run(real_pi: Start) -> None:
    agent = real_pi()
    run = agent.prompt("!gate never", timeout=PATIENCE)
    for event in run:
        if isinstance(event, pi.MessageUpdate):
            break
    agent.abort()
    with pytest.raises(RunFailed, match="abort"):
        run.text()
    agent.wait_idle(timeout=PATIENCE)


def test_a_tool_runs_and_is_seen(real_pi: Start) -> None:
    agent = real_pi()
    events = list(agent.prompt("!tool bash " + json.dumps({"command": "echo from a tool"}), timeout=PATIENCE))
    [ended] = [event for event in events if isinstance(event, pi.ToolExecutionEnd)]
    assert isinstance(ended.result, pi.Outcome)
    assert "from a tool" in ended.result.text


def test_commands_have_their_results(real_pi: Start, version: str, tmp_path: Path) -> None:
    agent = real_pi("--session-dir", str(tmp_path / "sessions"))
    state = agent.get_state()
    assert state.model
    assert (state.model.provider, state.model.id, state.is_streaming) == ("ours", "scripted", False)
    assert [model.id for model in agent.get_available_models()] == ["scripted"]
    assert agent.cycle_model() is None
    assert agent.cycle_thinking_level() is None
    agent.set_model("ours", "scripted")
    with pytest.raises(Refused, match="Model not found"):
        agent.set_model("ours", "nope")
    agent.set_thinking_level("off")
    agent.set_steering_mode("all")
    agent.set_follow_up_mode("all")
    agent.set_auto_retry(True)
    agent.abort_retry()
    agent.abort_bash()
    agent.abort()
    for word in ("one", "two", "three"):
        agent.prompt(word, timeout=PATIENCE).wait()
    agent.set_session_name("tour")
    assert agent.get_state().session_name == "tour"
    assert agent.bash("echo out; exit 3").exit_code == 3
    assert agent.get_session_stats().user_messages == 3
    roles = [message.role for message in agent.get_messages() if message.role != "system"]
    assert roles == ["user", "assistant"] * 3 + ["bashExecution"]
    agent.get_commands()
    prompts = agent.get_fork_messages()
    assert [each.text for each in prompts] == ["one", "two", "three"]
    assert Path(agent.export_html(str(tmp_path / "page.html"))).exists()
    file = agent.get_state().session_file
    assert file
    agent.set_auto_compaction(False)
    assert agent.compact("keep names").summary
    assert agent.fork(prompts[1].entry_id).text == "two"
    assert not agent.clone().cancelled
    assert not agent.switch_session(file).cancelled
    assert not agent.new_session().cancelled
    agent.wait_idle(timeout=PATIENCE)
    if version == "pi87":
        assert agent.clear_queue().steering == []
        assert agent.get_available_thinking_levels() == ["off"]
        assert agent.get_entries().entries is not None
        assert agent.get_tree().nodes == []
    with pytest.raises(Refused, match="Unknown command"):
        agent.list_sessions()  # linnet's own; pi 0.73 forgets the id when it says so.


def test_a_killed_pi_fails_what_waits(real_pi: Start) -> None:
    agent = real_pi()
    run = agent.prompt("!gate never", timeout=PATIENCE)
    run.next(timeout=PATIENCE)
    os.kill(agent.pid, 9)
    with pytest.raises(Exception, match="signal 9"):
        run.wait()
    assert not alive(agent.pid)
