"""linnet, driven in pi's protocol by its own client, and in the one that pi had before."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.client import PiClient, PiLegacyClient, Refused, RunFailed, pi
from linnet.testing.model_server import ModelServer

Start = Callable[..., PiClient]


def names(events: list[pi.Heard]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_a_prompt_is_iterated_over_until_the_agent_is_idle(pi_client: Start) -> None:
    agent = pi_client()
    events = list(agent.prompt("hi"))
    assert (names(events)[0], names(events)[-1]) == ("AgentStart", "AgentEnd")
    deltas = [event.update for event in events if isinstance(event, pi.MessageUpdate)]
    assert "".join(each.delta for each in deltas if isinstance(each, pi.TextDelta)) == "Hello from the scripted model."
    [*_, last] = [event.message for event in events if isinstance(event, pi.MessageEnd)]
    assert (last.role, last.text, last.stop_reason) == ("assistant", "Hello from the scripted model.", "stop")
    assert agent.is_idle


def test_retries_are_part_of_the_run(pi_client: Start) -> None:
    agent = pi_client()
    seen = names(list(agent.prompt("!fail 529 2")))
    assert seen.count("AgentStart") == seen.count("AgentEnd") == 3
    assert seen.count("AutoRetryStart") == 2
    assert seen[-1] == "AutoRetryEnd"
    assert agent.get_last_assistant_text() == "recovered"


def test_retries_that_are_given_up_end_the_run(pi_client: Start) -> None:
    agent = pi_client("--retry-delay", "60")
    run = agent.prompt("!fail 529 9")
    seen = []
    for event in run:
        seen.append(event)
        if isinstance(event, pi.AutoRetryStart):
            agent.abort_retry()
    assert isinstance(seen[-1], pi.AutoRetryEnd)
    assert not seen[-1].success


def test_a_compaction_after_the_run_is_part_of_it(pi_client: Start) -> None:
    agent = pi_client("--compact-reserve", "999990", "--compact-keep", "1")
    seen: list[str] = []
    for _ in range(3):
        seen = names(list(agent.prompt("hi")))
    assert seen[-2:] == ["AutoCompactionStart", "AutoCompactionEnd"]
    assert not agent.get_state().is_compacting


def test_an_overflow_is_compacted_and_tried_again_within_the_run(pi_client: Start) -> None:
    agent = pi_client("--compact-keep", "1")
    agent.prompt("hi").wait()
    seen = names(list(agent.prompt("!overflow 1")))
    assert seen.count("AgentEnd") == 2
    assert "AutoCompactionEnd" in seen
    assert agent.get_last_assistant_text() == "recovered"


def test_what_is_said_meanwhile_is_part_of_the_run(pi_client: Start, server: ModelServer) -> None:
    agent = pi_client()
    listening = agent.events()
    run = agent.prompt("!gate door")
    while not isinstance(listening.next(timeout=20), pi.MessageUpdate):
        pass
    agent.steer("left")
    agent.follow_up("right")
    last = agent.prompt("then", streaming_behavior="followUp")
    with pytest.raises(Refused, match="Specify streamingBehavior"):
        agent.prompt("no").accepted()
    assert agent.get_state().pending_message_count == 3
    server.release("door")
    said = [e.message.text for e in run if isinstance(e, pi.MessageEnd) and e.message.role == "user"]
    assert said == ["!gate door", "left", "right", "then"]
    last.wait()
    agent.wait_idle(timeout=20)


def test_steering_an_idle_agent_is_waited_for(pi_client: Start) -> None:
    agent = pi_client()
    agent.steer("hello")
    agent.wait_idle(timeout=20)
    assert [message.role for message in agent.get_messages()] == ["user", "assistant"]


def test_an_abort_ends_the_run_with_what_was_said(pi_client: Start) -> None:
    agent = pi_client()
    run = agent.prompt("!gate never")
    for event in run:
        if isinstance(event, pi.MessageUpdate) and isinstance(event.update, pi.TextDelta):
            agent.abort()
            break
    with pytest.raises(RunFailed, match="aborted"):
        run.text()
    assert agent.get_messages()[-1].stop_reason == "aborted"


def test_a_new_session_ends_the_run(pi_client: Start) -> None:
    agent = pi_client()
    run = agent.prompt("!gate never")
    run.next(timeout=20)
    assert not agent.new_session().cancelled
    run.wait()
    agent.wait_idle(timeout=20)
    assert agent.get_messages() == []


def test_tools_are_seen_with_arguments_and_results(pi_client: Start) -> None:
    events = list(pi_client().prompt("!tool bash " + json.dumps({"command": "echo hi"})))
    [started] = [event for event in events if isinstance(event, pi.ToolExecutionStart)]
    [ended] = [event for event in events if isinstance(event, pi.ToolExecutionEnd)]
    assert (started.tool_name, started.args) == ("bash", {"command": "echo hi"})
    assert not isinstance(ended.result, str | None)
    assert ended.result.text == "hi\n"
    [end] = [event for event in events if isinstance(event, pi.AgentEnd)]
    assert [call.name for call in end.messages[1].tool_calls] == ["bash"]


def test_updates_have_the_message_so_far_unless_deltas_were_asked_for(pi_client: Start) -> None:
    agent = pi_client()
    *_, full = [event for event in agent.prompt("hi") if isinstance(event, pi.MessageUpdate)]
    assert full.message
    assert full.message.text == "Hello from the scripted model."
    agent.set_stream("deltas")
    *_, short = [event for event in agent.prompt("hi") if isinstance(event, pi.MessageUpdate)]
    assert short.message is None


def test_every_command_has_its_result(pi_client: Start, work: Path) -> None:
    agent = pi_client("--compact-keep", "1")
    state = agent.get_state()
    assert state.model
    assert (state.is_streaming, state.message_count, state.steering_mode) == (False, 0, "one-at-a-time")
    first, second, *_ = agent.get_available_models()
    assert agent.set_model("anthropic", first.id).id == first.id
    cycled = agent.cycle_model()
    assert cycled
    assert cycled.model.id == second.id
    agent.set_thinking_level("off")
    assert agent.cycle_thinking_level()
    agent.set_thinking_level("off")
    agent.set_steering_mode("all")
    agent.set_follow_up_mode("all")
    agent.set_auto_compaction(False)
    agent.set_auto_retry(True)
    agent.abort_retry()
    agent.abort_bash()
    agent.abort()
    agent.set_session_name("tour")
    assert agent.get_last_assistant_text() is None
    agent.prompt("hello").wait()
    agent.prompt("again").wait()
    assert agent.get_last_assistant_text() == "Hello from the scripted model."
    done = agent.bash("echo out; exit 3")
    assert (done.output, done.exit_code, done.cancelled) == ("out\n", 3, False)
    stats = agent.get_session_stats()
    assert (stats.user_messages, stats.assistant_messages) == (2, 2)
    assert stats.tokens.total > 0
    entries = agent.get_entries()
    assert agent.get_entries(entries.entries[0]["id"]).entries == entries.entries[1:]
    tree = agent.get_tree()
    assert tree.leaf_id in [node.id for node in tree.nodes]
    prompts = agent.get_branch_messages()
    assert agent.get_fork_messages() == prompts
    assert [each.text for each in prompts] == ["hello", "again"]
    assert not agent.navigate(None).cancelled
    assert agent.get_messages() == []
    assert agent.navigate(entries.leaf_id).leaf_id == entries.leaf_id
    assert agent.compact("keep names").summary.startswith("SUMMARY: scripted")
    assert Path(agent.export_html("page.html")).read_text()
    file = agent.get_state().session_file
    assert file
    assert agent.branch(prompts[1].entry_id).text == "again"
    assert agent.fork(prompts[0].entry_id).text == "hello"
    assert not agent.clone().cancelled
    assert not agent.new_session(file).cancelled
    assert not agent.switch_session(file).cancelled
    [mine] = [item for item in agent.list_sessions() if item.current]
    assert (mine.name, mine.path) == ("tour", file)
    assert len(agent.list_sessions(all=True)) >= 5
    assert agent.get_commands() == []
    assert agent.get_available_thinking_levels()
    with pytest.raises(Refused, match="Unknown command"):
        agent.clear_queue()


def test_a_dialog_of_an_extension_can_be_answered(fake: Callable[[str], list[str]]) -> None:
    command = fake("""
asked = hear()
for method in ("select", "confirm", "input"):
    say("extension_ui_request", id=method, method=method, title="?", options=["a", "b"])
    say("told", answer=hear())
say("response", id=asked["id"], command="prompt", success=True, data={"disposition": "handled"})
asked = hear()
say("response", id=asked["id"], command="get_state", success=True, data={"isStreaming": False})
hear()
""")
    with PiClient(command) as agent:
        answers = []
        for event in agent.prompt("/ask"):
            match event:
                case pi.ExtensionUiRequest(id="select") if event.wants_answer:
                    agent.answer_ui(event.id, event.options[1])
                case pi.ExtensionUiRequest(id="confirm"):
                    agent.answer_ui(event.id, confirmed=False)
                case pi.ExtensionUiRequest(id):
                    agent.answer_ui(id)
                case other:
                    answers.append(getattr(other, "raw", {}).get("answer"))
    kind = {"type": "extension_ui_response"}
    assert answers == [
        {**kind, "id": "select", "value": "b"},
        {**kind, "id": "confirm", "confirmed": False},
        {**kind, "id": "input", "cancelled": True},
    ]


def test_the_earlier_protocol(work: Path, flags: list[str]) -> None:
    with PiLegacyClient(args=flags, cwd=work) as agent:
        assert agent.prompt("hi").text() == "Hello from the scripted model."
        run = agent.prompt("!gate never")
        for event in run:
            if isinstance(event, pi.MessageUpdate):
                agent.abort()
        with pytest.raises(RunFailed, match="message"):
            agent.prompt("").text()
        events = list(agent.compact())
        assert isinstance(events[-1], pi.Compacted | pi.Error)
        agent.wait_idle(timeout=20)
