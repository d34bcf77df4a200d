"""Today's pi, driven by PiClient: what its later generations added, and that nothing ends before it has settled."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from linnet.client import PiClient, PiDraft, Refused, RunFailed, pi
from linnet.monitor.states import Failed, Idle
from linnet.monitor.watch import Watch
from linnet.testing.model_server import ModelServer
from tests.suite.real_pi import SCRIPTED, prepared_home, program

PATIENCE = 60.0
Start = Callable[..., PiClient]
EXTENSION = """
export default function (pi) {
  pi.registerCommand("quiet", { description: "Says nothing.", handler: async () => {} });
  pi.registerCommand("loud", { handler: async () => { pi.sendUserMessage("hi from a command"); } });
}
"""

pytestmark = [pytest.mark.foreign, pytest.mark.judge]


@pytest.fixture(params=["pi87", "pi15"])
def version(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=[False, True], ids=["untold", "told"])
def real_pi(version: str, request: pytest.FixtureRequest, server: ModelServer, tmp_path: Path) -> Iterator[Start]:
    """pi with a home of its own and a model of ours. What it speaks is told to the client, or not."""
    folder = tmp_path / "work"
    folder.mkdir()
    others = ({"id": "thinker", "reasoning": True}, {"id": "small", "contextWindow": 20_000})
    models = [SCRIPTED, *({**SCRIPTED, **other} for other in others)]
    env = prepared_home(tmp_path / "home", server.url, models)
    dialect = {"pi87": "pi-0.87", "pi15": "pi-1"}[version] if request.param else None
    with ExitStack() as stack:

        def start(*args: str, model: str = "scripted") -> PiClient:
            command = [*program(version), "--mode", "rpc"]
            known: dict[str, Any] = {"dialect": dialect, "provider": "ours", "model": model, "timeout": PATIENCE}
            return stack.enter_context(PiClient(command, args=args or ["--no-session"], cwd=folder, env=env, **known))

        yield start


def kinds(events: list[pi.Heard]) -> list[str]:
    return [type(event).__name__ for event in events]


def watched(lines: list[bytes]) -> Watch:
    watch = Watch()
    for line in lines:
        watch.heard(0.0, line)
    return watch


@pytest.mark.parametrize(
    "prompt",
    ["hi", "!think", "!utf8", '!tools [["bash",{"command":"echo a"}],["bash",{"command":"echo b"}]]'],
)
def test_messages_grow_from_deltas_to_what_their_end_says(real_pi: Start, prompt: str) -> None:
    draft, run, compared = PiDraft(), real_pi().prompt(prompt, timeout=PATIENCE), 0
    lines = []
    for event in run:
        lines.append(run.line)
        assert not isinstance(event, pi.MessageUpdate) or event.message is None
        if isinstance(event, pi.MessageEnd) and event.message.role == "assistant":
            assert draft.message
            assert draft.message.text == event.message.text
            assert draft.message.tool_calls == event.message.tool_calls
            compared += 1
        draft.add(event)
    assert compared == (2 if prompt.startswith("!tools") else 1)
    watch = watched(lines)
    assert watch.state == Idle()
    assert not watch.unmapped


def test_a_run_ends_when_all_has_settled_and_not_before(real_pi: Start, version: str, tmp_path: Path) -> None:
    agent = real_pi("--session-dir", str(tmp_path / "sessions"))
    for prompt in ("hi", "!flaky 2", "!text 40000", "hi"):
        run = agent.prompt(prompt, timeout=PATIENCE)
        accepted = run.accepted(timeout=PATIENCE)
        assert accepted.disposition == (None if version == "pi87" else "started")
        events = list(run)
        assert kinds(events)[-1] == "AgentSettled"
        assert kinds(events).count("AgentSettled") == 1
        assert not {"UnknownEvent", "BadLine"} & set(kinds(events))
        assert agent.is_idle
        assert not agent.get_state().is_streaming
        if prompt == "!flaky 2":
            assert kinds(events).count("AutoRetryStart") == 2
            assert kinds(events).count("EntryAppended") == 2
    assert agent.close() == 0


def test_a_compaction_belongs_to_the_run_that_made_it_due(real_pi: Start, tmp_path: Path) -> None:
    agent = real_pi("--session-dir", str(tmp_path / "sessions"), model="small")
    agent.prompt("hi", timeout=PATIENCE).wait()
    agent.prompt("hi " * 6000, timeout=PATIENCE).wait()
    seen = kinds(list(agent.prompt("!text 8000", timeout=PATIENCE)))
    assert seen[-1] == "AgentSettled"
    assert seen.count("AgentSettled") == 1
    assert "CompactionStart" in seen


def test_a_run_that_fails_for_good_ends(real_pi: Start) -> None:
    agent = real_pi()
    run = agent.prompt("!fail 401 9", timeout=PATIENCE)
    lines = []
    with pytest.raises(RunFailed):
        run.text()
    again = agent.prompt("!fail 401 9", timeout=PATIENCE)
    for _ in again:
        lines.append(again.line)
    assert isinstance(watched(lines).state, Failed)


def test_an_abort_is_answered_when_all_has_settled(real_pi: Start) -> None:
    agent = real_pi()
    run = agent.prompt("!gate never", timeout=PATIENCE)
    for event in run:
        if isinstance(event, pi.MessageUpdate):
            break
    agent.follow_up("left over")
    agent.abort()
    assert agent.is_idle
    assert kinds(list(run))[-1] == "AgentSettled"
    assert agent.get_state().pending_message_count == 1
    assert agent.clear_queue().follow_up == ["left over"]


def test_a_command_of_an_extension_is_handled_and_nothing_is_waited_for(
    real_pi: Start, version: str, tmp_path: Path
) -> None:
    (tmp_path / "talk.js").write_text(EXTENSION)
    agent = real_pi("--no-session", "-e", str(tmp_path / "talk.js"))
    quiet = agent.prompt("/quiet", timeout=PATIENCE)
    assert quiet.accepted(timeout=PATIENCE).disposition == (None if version == "pi87" else "handled")
    assert list(quiet) == []
    command = next(each for each in agent.get_commands() if each.name == "quiet")
    assert command.description == "Says nothing."
    assert command.source_info
    assert command.source_info.path.endswith("talk.js")
    listening = agent.events()
    agent.prompt("/loud", timeout=PATIENCE).accepted(timeout=PATIENCE)
    while not isinstance(listening.next(timeout=PATIENCE), pi.AgentSettled):
        pass
    assert agent.get_last_assistant_text() == "Hello from the scripted model."


def test_what_a_command_prints_comes_as_it_does(real_pi: Start) -> None:
    agent = real_pi()
    listening = agent.events()
    assert agent.bash("echo one; echo two", exclude_from_context=True).output == "one\ntwo\n"
    printed = ""
    while printed != "one\ntwo\n":
        event = listening.next(timeout=PATIENCE)
        assert isinstance(event, pi.BashExecutionUpdate)
        printed += event.delta
    agent.prompt("hi", timeout=PATIENCE).wait()
    [noted] = [each for each in agent.get_messages() if each.role == "bashExecution"]
    assert noted.exclude_from_context


def test_later_commands_have_their_results(real_pi: Start, version: str, tmp_path: Path) -> None:
    agent = real_pi("--session-dir", str(tmp_path / "sessions"), model="thinker")
    listening = agent.events()
    levels = agent.get_available_thinking_levels()
    assert {"off", "low", "high"} <= set(levels)
    agent.set_thinking_level("low")
    changed = listening.next(timeout=PATIENCE)
    assert changed == pi.ThinkingLevelChanged("low")
    agent.set_session_name("tour")
    for word in ("one", "two", "three"):
        agent.prompt(word, timeout=PATIENCE).wait()
    told = agent.get_messages()
    assert told[0].role == "system"
    assert told[0].sections
    assert told[0].tools_added
    assert (told[-1].duration_ms is not None) == (version == "pi15")
    stats = agent.get_session_stats()
    assert stats.context_usage
    assert stats.context_usage.context_window == 200_000
    all_of_them = agent.get_entries()
    some = agent.get_entries(all_of_them.entries[2]["id"])
    assert some.entries == all_of_them.entries[3:]
    with pytest.raises(Refused, match="Entry not found"):
        agent.get_entries("nope")
    found = agent.get_tree()
    assert [branch.entry for branch in found.walk()] == all_of_them.entries
    assert found.leaf_id == all_of_them.leaf_id
    compacted = agent.compact("keep names")
    assert compacted.summary
    assert compacted.estimated_tokens_after is not None
    assert agent.get_session_stats().context_usage
    prompts = agent.get_fork_messages()
    assert agent.fork(prompts[1].entry_id).text == "two"
    assert agent.get_state().session_name == "tour"
    assert not agent.clone().cancelled
    with pytest.raises(Refused, match="Unknown command"):
        agent.branch(prompts[0].entry_id)


def test_the_tree_of_a_long_session_is_read(real_pi: Start, tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    head = {
        "type": "session",
        "version": 3,
        "id": "long",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": str(tmp_path),
    }
    entries = [
        {
            "type": "custom",
            "customType": "x",
            "data": {},
            "id": f"{number:08x}",
            "parentId": f"{number - 1:08x}" if number else None,
            "timestamp": head["timestamp"],
        }
        for number in range(2000)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in (head, *entries)))
    agent = real_pi("--session", str(file))
    began = time.monotonic()
    assert [branch.entry["id"] for branch in agent.get_tree().walk()][:2000] == [each["id"] for each in entries]
    assert time.monotonic() - began < PATIENCE
