"""linnet, driven in zot's protocol by its own client."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import assert_type

import pytest

from linnet.client import BadAnswer, BadLine, Image, Refused, Run, RunFailed, TimedOut, UnknownEvent, ZotClient, zot
from linnet.client.request import Request, a
from linnet.errors import BadInput
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import alive, wait_until

Start = Callable[..., ZotClient]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def test_a_prompt_is_iterated_over_up_to_its_end(zot_client: Start) -> None:
    agent = zot_client()
    events = list(agent.prompt("hi"))
    said = "".join(event.delta for event in events if isinstance(event, zot.TextDelta))
    assert said == "Hello from the scripted model."
    assert isinstance(events[0], zot.UserMessage)
    assert isinstance(events[-1], zot.Done)
    assert agent.is_idle


def test_without_a_command_this_linnet_is_started(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('not from here')")
    with ZotClient(provider="scripted", args=["--no-tools"], cwd=tmp_path) as agent:
        assert agent.prompt("go").text().endswith("Nothing is left to do.")
    assert agent.exit_code == 0


def test_every_command_has_its_result(zot_client: Start) -> None:
    agent = zot_client()
    assert agent.hello().protocol_version == 1
    agent.ping()
    models = agent.get_models()
    agent.set_model(models[1].id)
    for _ in range(3):
        agent.prompt("hi").wait()
    state = agent.get_state()
    assert (state.model, state.message_count, state.busy) == (models[1].id, 6, False)
    assert [message.role for message in agent.get_messages()] == ["user", "assistant"] * 3
    assert agent.compact() == "SUMMARY: scripted"
    agent.clear()
    assert agent.get_messages() == []
    agent.abort()
    assert agent.ask("get_state")["message_count"] == 0


def test_results_and_events_have_their_types(zot_client: Start) -> None:
    """The type checker proves it; running it proves that nothing else is meant."""
    agent = zot_client()
    assert_type(agent.get_state(), zot.StateData)
    assert_type(agent.get_models(timeout=20), list[zot.ModelInfo])
    assert_type(agent.ping(), None)
    assert_type(agent.prompt("hi"), Run[zot.Event])
    assert_type(next(agent.events()), zot.Event | UnknownEvent | BadLine)


def test_a_refusal_has_the_agents_words(zot_client: Start) -> None:
    agent = zot_client()
    with pytest.raises(Refused, match='set_model: unknown model "nope"'):
        agent.set_model("nope")
    with pytest.raises(Refused, match="prompt: a prompt needs a message or an image") as refused:
        list(agent.prompt(" "))
    assert refused.value.command == "prompt"
    with pytest.raises(Refused):
        agent.prompt(" ").accepted()
    with pytest.raises(Refused, match="unknown command"):
        agent.ask("frobnicate", much=True)
    assert agent.prompt("hi").text()


def test_a_run_that_fails_says_why(zot_client: Start) -> None:
    agent = zot_client()
    with pytest.raises(RunFailed, match="http 401") as failed:
        agent.prompt("!fail 401 9").text()
    assert failed.value.text == ""
    agent.clear()
    with pytest.raises(RunFailed, match="nothing to compact"):
        agent.compact()


def test_prompts_wait_for_each_other_and_have_their_own_events(zot_client: Start, server: ModelServer) -> None:
    agent = zot_client()
    first, second = agent.prompt("!gate door"), agent.prompt("hi")
    server.release("door")
    assert next(type(event).__name__ for event in second) == "UserMessage"
    texts = [event.content for event in first if isinstance(event, zot.UserMessage)]
    assert texts == [[zot.TextBlock("!gate door")]]


def test_wait_idle_waits_for_what_is_queued(zot_client: Start, server: ModelServer) -> None:
    agent = zot_client()
    runs = [agent.prompt("!gate door"), agent.prompt("hi"), agent.prompt("hi")]
    with pytest.raises(TimedOut):
        agent.wait_idle(timeout=0.01)
    server.release("door")
    agent.wait_idle(timeout=20)
    assert agent.get_state().message_count == 6
    assert all(isinstance(list(run)[-1], zot.Done) for run in runs)


def test_an_abort_from_another_thread_ends_the_run(zot_client: Start) -> None:
    agent = zot_client()
    run = agent.prompt("!gate never")
    assert any(isinstance(event, zot.TextDelta) for event in run)
    aborting = threading.Thread(target=agent.abort)
    aborting.start()
    with pytest.raises(RunFailed, match="the run ended with aborted"):
        run.text()
    aborting.join()


def test_a_deadline_passes_and_the_client_goes_on(zot_client: Start, server: ModelServer) -> None:
    agent = zot_client()
    with pytest.raises(TimedOut, match="prompt: nothing came within"):
        list(agent.prompt("!gate door", timeout=0.2))
    with pytest.raises(TimeoutError):
        agent.prompt("hi").accepted(timeout=0.01)
    server.release("door")
    agent.wait_idle(timeout=20)
    agent.ping(timeout=20)
    assert agent.get_state().message_count == 4


def test_images_are_checked_here_and_shown_there(zot_client: Start, server: ModelServer) -> None:
    agent = zot_client()
    agent.prompt("look", [PNG, Image("image/bmp", "AAAA")]).accepted()
    with pytest.raises(BadInput):
        agent.prompt("look", [b"no image"])


def test_an_event_is_there_as_its_line_too(zot_client: Start) -> None:
    run = zot_client().prompt("hi")
    for event in run:
        assert not isinstance(event, zot.TextDelta) or json.loads(run.line)["delta"] == event.delta


def test_several_listen_and_each_hears_everything(zot_client: Start) -> None:
    agent = zot_client()
    one, other = agent.events(), agent.events()
    run = list(agent.prompt("hi"))
    agent.close()
    assert list(one) == list(other) == run


def test_the_token_opens_the_gate(work: Path, flags: list[str]) -> None:
    with ZotClient(args=flags, cwd=work, token="secret") as agent:
        agent.ping()
    with ZotClient(args=flags, cwd=work, env={"ZOTCORE_RPC_TOKEN": "secret"}) as agent, pytest.raises(Refused):
        agent.hello("wrong")
    assert agent.exit_code == 1
    assert "bad auth token" in agent.stderr


def test_the_environment_can_be_added_to_and_taken_from(
    work: Path, fake: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAKEN", "1")
    command = fake("answer(hear(), seen={k: os.environ.get(k) for k in ('TAKEN', 'GIVEN')}, cwd=os.getcwd())\nhear()")
    with ZotClient(command, cwd=work, env={"TAKEN": None, "GIVEN": "yes"}) as agent:
        assert agent.ask("look") == {"seen": {"TAKEN": None, "GIVEN": "yes"}, "cwd": str(work.resolve())}


def test_an_answer_of_another_shape_is_said_to_be_one(fake: Callable[[str], list[str]]) -> None:
    command = fake("answer(hear(), cwd=5)\nhear()")
    with ZotClient(command) as agent, pytest.raises(BadAnswer, match="get_state: the answer is not") as bad:
        agent.get_state()
    assert json.loads(bad.value.data) == {"cwd": 5}


def test_closing_ends_the_process_and_returns_its_code_again_and_again(zot_client: Start) -> None:
    agent = zot_client()
    agent.ping()
    assert agent.close() == 0
    assert agent.close() == 0
    wait_until(lambda: not alive(agent.pid))


def test_any_thread_may_call(zot_client: Start) -> None:
    agent = zot_client()
    counts: list[int] = []

    def ask() -> None:
        counts.extend(agent.get_state().message_count for _ in range(50))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [0] * 200


def test_a_request_can_be_made_without_a_method(zot_client: Start) -> None:
    assert zot_client().call(Request("ping", a(zot.PongData))).pong
