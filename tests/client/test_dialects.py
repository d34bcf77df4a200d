"""PiClient with linnet in each generation of pi's protocol."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.client import PiClient, PiDraft, Refused, RunFailed, pi
from linnet.monitor.states import Idle
from linnet.monitor.watch import Watch
from linnet.testing.model_server import ModelServer
from linnet.wire.pi.generations import NAMES, Name, named

PATIENCE = 30.0
Start = Callable[..., PiClient]
each = pytest.mark.parametrize("dialect", NAMES)
settling = pytest.mark.parametrize("dialect", [name for name in NAMES if named(name).settled != "if_asked"])


def kinds(events: list[pi.Heard]) -> list[str]:
    return [type(event).__name__ for event in events]


@each
def test_a_prompt_is_over_when_linnet_is_idle(pi_client: Start, dialect: Name) -> None:
    agent = pi_client(dialect=dialect)
    run = agent.prompt("hi", timeout=PATIENCE)
    assert run.accepted().disposition == ("started" if named(dialect).disposition else None)
    seen = kinds(list(run))
    assert seen[-1] == ("AgentEnd" if named(dialect).settled == "if_asked" else "AgentSettled")
    assert not {"UnknownEvent", "BadLine"} & set(seen)
    assert agent.is_idle
    assert agent.prompt("again").text() == "Hello from the scripted model."
    assert agent.close() == 0


@each
def test_a_retry_belongs_to_the_run(pi_client: Start, dialect: Name) -> None:
    agent = pi_client(dialect=dialect)
    seen = kinds(list(agent.prompt("!flaky 2", timeout=PATIENCE)))
    assert seen.count("AutoRetryStart") == 2
    assert seen.count("AgentSettled") == (named(dialect).settled != "if_asked")
    assert seen.count("EntryAppended") == (2 if named(dialect).entries_told else 0)
    assert not agent.get_state().is_streaming


@each
@pytest.mark.parametrize("prompt", ["!think", "!utf8", '!tools [["read",{"path":"a"}],["read",{"path":"b"}]]'])
def test_messages_grow_from_deltas_to_what_their_end_says(pi_client: Start, dialect: Name, prompt: str) -> None:
    draft, watch, compared = PiDraft(), Watch(), 0
    run = pi_client(dialect=dialect).prompt(prompt, timeout=PATIENCE)
    for event in run:
        watch.heard(0.0, run.line)
        if isinstance(event, pi.MessageEnd) and event.message.role == "assistant":
            assert draft.message
            assert draft.message.text == event.message.text
            assert draft.message.tool_calls == event.message.tool_calls
            compared += 1
        draft.add(event)
    assert compared == (2 if prompt.startswith("!tools") else 1)
    assert watch.state == Idle()
    assert not watch.unmapped


@settling
def test_an_abort_is_answered_when_all_has_settled_and_what_waits_stays(pi_client: Start, dialect: Name) -> None:
    agent = pi_client(dialect=dialect)
    run = agent.prompt("!gate never", timeout=PATIENCE)
    for event in run:
        if isinstance(event, pi.MessageUpdate):
            break
    agent.follow_up("left over")
    agent.abort(timeout=PATIENCE)
    assert agent.is_idle
    with pytest.raises(RunFailed):
        run.text()
    assert agent.get_state().pending_message_count == 1
    assert agent.clear_queue().follow_up == ["left over"]
    assert agent.get_state().pending_message_count == 0


@settling
def test_what_is_said_to_an_idle_agent_starts_a_run(pi_client: Start, dialect: Name) -> None:
    agent = pi_client(dialect=dialect)
    assert agent.steer("hi").disposition == ("started" if named(dialect).disposition else None)
    agent.wait_idle(timeout=PATIENCE)
    assert agent.get_last_assistant_text() == "Hello from the scripted model."


@settling
def test_later_commands_have_their_results(pi_client: Start, dialect: Name) -> None:
    agent = pi_client(dialect=dialect, timeout=PATIENCE)
    listening = agent.events()
    assert agent.bash("echo hi", exclude_from_context=True).output == "hi\n"
    assert listening.next(timeout=PATIENCE) == pi.BashExecutionUpdate("hi\n", "linnet-1")
    assert "off" in agent.get_available_thinking_levels()
    for word in ("one", "two", "three"):
        agent.prompt(word).wait()
    found, listed = agent.get_tree(), agent.get_entries()
    assert [branch.entry for branch in found.walk()] == listed.entries
    assert (found.nodes, found.leaf_id) == ([], listed.leaf_id)
    assert agent.get_session_stats().context_usage
    assert [message.role for message in agent.get_messages()][:3] == ["bashExecution", "system", "user"]
    with pytest.raises(Refused, match="too small"):
        agent.compact()
    with pytest.raises(Refused, match="Unknown command"):
        agent.branch(agent.get_fork_messages()[0].entry_id)


def test_the_tree_of_a_long_session_is_written_and_read(pi_client: Start, work: Path) -> None:
    head = {"type": "session", "version": 3, "id": "long", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": str(work)}
    ids = [f"{number:08x}" for number in range(3000)]
    rest = {"type": "custom", "customType": "x", "data": {}, "timestamp": head["timestamp"]}
    lines = [{**rest, "id": id, "parentId": parent} for id, parent in zip(ids, [None, *ids], strict=False)]
    (work / "long.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)))
    agent = pi_client("--session", "long.jsonl", dialect="pi-1", timeout=PATIENCE)
    assert [branch.entry["id"] for branch in agent.get_tree().walk()][:3000] == ids


@settling
def test_a_summary_that_fails_is_asked_for_again(pi_client: Start, dialect: Name) -> None:
    agent = pi_client("--compact-keep", "1", dialect=dialect, timeout=PATIENCE)
    for word in ("FAIL SUMMARY 1", "two", "three"):
        agent.prompt(word).wait()
    listening = agent.events()
    compacted = agent.compact()
    assert compacted.summary.startswith("SUMMARY: scripted")
    assert compacted.estimated_tokens_after is not None
    events = [listening.next(timeout=PATIENCE) for _ in range(5)]
    begun, scheduled, again, over, ended = events
    assert begun == pi.CompactionStart("manual")
    assert isinstance(scheduled, pi.SummarizationRetryScheduled)
    assert (scheduled.attempt, again) == (1, pi.SummarizationRetryAttemptStart("compaction", "manual"))
    assert isinstance(over, pi.SummarizationRetryFinished)
    assert isinstance(ended, pi.CompactionEnd)
    assert ended.result == compacted


def test_a_level_that_changes_is_told_and_one_that_stays_is_not(pi_client: Start) -> None:
    agent = pi_client(dialect="pi-1", timeout=PATIENCE)
    listening = agent.events()
    for level in ("low", "low", "off"):
        agent.set_thinking_level(level)
    told = [listening.next(timeout=PATIENCE) for _ in range(2)]
    assert told == [pi.ThinkingLevelChanged("low"), pi.ThinkingLevelChanged("off")]


def test_what_an_extension_did_wrong_is_told(pi_client: Start, work: Path) -> None:
    (work / "broken.py").write_text(
        "def extend(linnet):\n"
        "    @linnet.on('agent_start')\n"
        "    def fail(event, context):\n"
        "        raise ValueError('no')\n"
    )
    agent = pi_client("--extension", "broken.py", dialect="pi-1", timeout=PATIENCE)
    [error] = [event for event in agent.prompt("hi") if isinstance(event, pi.ExtensionError)]
    assert error.extension_path.endswith("broken.py")
    assert (error.event, error.error) == ("agent_start", "no")


def test_a_dialect_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no dialect is called 'pi-2': take one of pi, pi-0"):
        PiClient(dialect="pi-2")  # type: ignore[arg-type]


def test_another_program_is_believed_to_speak_what_it_is_said_to(fake: Callable[[str], list[str]]) -> None:
    body = """
asked = hear()
answer(asked)
say("agent_start")
say("agent_end", messages=[], willRetry=False)
say("compaction_start", reason="threshold")
say("compaction_end", reason="threshold", aborted=False, willRetry=False)
say("agent_settled")
asked = hear()
assert asked["type"] == "get_messages", asked  # It was never asked whether it is idle.
answer(asked, messages=[])
"""
    with PiClient(fake(body), dialect="pi-0.87") as agent:
        assert kinds(list(agent.prompt("hi", timeout=PATIENCE)))[-1] == "AgentSettled"
        assert agent.get_messages(timeout=PATIENCE) == []


def test_what_an_extension_handles_is_not_waited_for(server: ModelServer, pi_client: Start, work: Path) -> None:
    (work / "talk.py").write_text(
        "def extend(linnet):\n"
        "    @linnet.command('quiet', description='Says nothing.')\n"
        "    def quiet(args, context):\n"
        "        pass\n"
    )
    agent = pi_client("--extension", "talk.py", dialect="pi-1", timeout=PATIENCE)
    run = agent.prompt("/quiet")
    assert run.accepted().disposition == "handled"
    assert list(run) == []
    assert server.requests == []
