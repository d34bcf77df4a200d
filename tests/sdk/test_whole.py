"""What the runtime can do beyond zot's protocol, a program can do: steering, retries, compactions, models."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from linnet import AsyncRuntime, BadInput, ConfigError, NotRunning, Runtime, UnknownModel, events
from linnet.runtime.config.config import DEFAULTS, SDK
from linnet.runtime.config.merged_layers import layered
from linnet.testing.model_server import ModelServer

Open = Callable[..., Runtime]


@pytest.fixture
def runtime(start: Open) -> Runtime:
    return start()


def asked(server: ModelServer) -> list[str]:
    return [block["text"] for block in server.requests[-1].body["messages"][-1]["content"] if block["type"] == "text"]


def test_steering_is_heard_between_steps(runtime: Runtime, server: ModelServer) -> None:
    told = []
    steered = False
    for event in runtime.prompt('!tool bash {"command":"echo hi"}'):
        told.append(event)
        if isinstance(event, events.ToolUseStart) and not steered:
            steered = True
            runtime.steer("rather this")
            assert runtime.state().pending == 1
    assert events.QueueUpdate(("rather this",), ()) in told
    assert "rather this" in str(runtime.messages())
    assert isinstance(told[-1], events.Done)


def test_a_follow_up_is_seen_to_before_the_run_ends(runtime: Runtime, server: ModelServer) -> None:
    run = runtime.prompt("!gate g")
    for event in run:
        if isinstance(event, events.TextDelta) and len(server.requests) == 1 and not runtime.state().pending:
            runtime.follow_up("and that")
            server.release("g")
            break
    kinds = [event.type for event in run]
    assert kinds.count("done") == 1
    assert "queue_update" in kinds
    assert run.result.steps == 2
    assert asked(server) == ["and that"]


def test_nothing_is_said_to_nobody(runtime: Runtime) -> None:
    for say in (runtime.steer, runtime.follow_up):
        with pytest.raises(NotRunning, match="send it as a prompt"):
            say("hello?")
    assert runtime.messages() == []
    with pytest.raises(BadInput):
        runtime.steer(" ")


def test_what_an_abort_drops_is_told(runtime: Runtime) -> None:
    told = []
    for event in runtime.prompt("!gate never"):
        told.append(event)
        if isinstance(event, events.TextDelta):
            runtime.follow_up("later")
            runtime.abort()
    assert events.QueueUpdate((), (), ("later",)) in told


def test_what_was_said_to_a_run_leaves_nothing_behind(runtime: Runtime) -> None:
    run = runtime.prompt("!gate never")
    next(event for event in run if isinstance(event, events.TextDelta))
    for _ in range(5):
        runtime.steer("more")
    assert len(runtime._session.jobs._requests) == 1
    run.close()


def test_several_are_heard_one_by_one_or_at_once(runtime: Runtime, server: ModelServer) -> None:
    assert runtime.state().follow_up_mode == "one-at-a-time"
    for mode, steps in (("one-at-a-time", 3), ("all", 2)):
        runtime.set_follow_up_mode(mode)  # type: ignore[arg-type]  # A tuple of words is only strings to mypy.
        run = runtime.prompt(f"!gate {mode}")
        next(event for event in run if isinstance(event, events.TextDelta))
        runtime.follow_up("one")
        runtime.follow_up("two")
        server.release(mode)
        list(run)
        assert run.result.steps == steps
    runtime.set_steering_mode("all")
    assert (runtime.state().steering_mode, runtime.state().follow_up_mode) == ("all", "all")
    with pytest.raises(BadInput, match='unknown mode "some"'):
        runtime.set_steering_mode("some")  # type: ignore[arg-type]


def test_a_run_is_tried_again_and_that_is_told(runtime: Runtime) -> None:
    told = list(runtime.prompt("!fail 529 2"))
    starts = [event for event in told if isinstance(event, events.RetryStart)]
    assert [(event.attempt, event.max_attempts, event.delay_ms) for event in starts] == [(1, 3, 10), (2, 3, 20)]
    assert all("529" in event.error for event in starts)
    assert events.RetryEnd(success=True, attempt=2) in told
    assert isinstance(told[-1], events.Done)


def test_trying_again_can_be_turned_off_and_cut_short(start: Open, server: ModelServer) -> None:
    runtime = start(retry_delay=600)
    for event in runtime.prompt("!fail 529 9"):
        if isinstance(event, events.RetryStart):
            runtime.abort_retry()
    runtime.set_auto_retry(False)
    assert runtime.state().auto_retry is False
    before = len(server.requests)
    assert runtime.run("!fail 529 9").code == "provider_unavailable"
    assert len(server.requests) == before + 1


def test_an_overflow_compacts_and_goes_on(start: Open) -> None:
    runtime = start(compact_keep=1)
    runtime.run("hi")
    run = runtime.prompt("!overflow 1")
    told = list(run)
    assert events.CompactionStart("overflow") in told
    [ended] = [event for event in told if isinstance(event, events.CompactionEnd)]
    assert (ended.reason, ended.will_retry, ended.error) == ("overflow", True, "")
    assert ended.summary
    assert not [event for event in told if isinstance(event, events.CompactDone)]
    assert (run.result.stop, run.result.text) == ("end_turn", "recovered")
    assert runtime.run("hi").stop == "end_turn"


def test_a_first_prompt_that_is_too_long_ends_with_a_sentence(runtime: Runtime) -> None:
    result = runtime.run("!overflow 1")
    assert result.code == "context_overflow"
    assert runtime.run("hi").stop == "end_turn"


def test_compacting_by_itself_can_be_turned_off(start: Open) -> None:
    runtime = start(compact_keep=1)
    runtime.run("hi")
    runtime.set_auto_compaction(False)
    assert runtime.state().auto_compaction is False
    assert runtime.run("!overflow 1").code == "context_overflow"
    runtime.set_auto_compaction(True)
    assert runtime.run("!overflow 1").text == "recovered"


def test_every_event_is_a_line_too(start: Open) -> None:
    runtime = start(compact_keep=1)
    runtime.run("hi")
    for prompt in ("!overflow 1", "!fail 529 1", "!gate never"):
        for event in runtime.prompt(prompt):
            line = msgspec.json.encode(event)
            assert msgspec.json.decode(line, type=events.Event) == event
            assert msgspec.json.decode(line)["type"] == event.type
            if prompt == "!gate never" and isinstance(event, events.TextDelta):
                runtime.steer("x")
                runtime.abort()


def test_a_command_runs_beside_the_agent_and_is_shown_to_the_model(runtime: Runtime, server: ModelServer) -> None:
    ran = runtime.bash("echo out; exit 3")
    assert (ran.command, ran.output, ran.exit_code, ran.cancelled) == ("echo out; exit 3", "out\n", 3, False)
    runtime.run("hi")
    assert "echo out; exit 3" in str(server.requests[-1].body)
    with pytest.raises(BadInput):
        runtime.bash(" ")


def test_a_command_can_be_killed(runtime: Runtime, tmp_path: Path) -> None:
    from threading import Thread

    from linnet.testing.processes import wait_until

    def abort() -> None:
        wait_until((tmp_path / "up").exists)
        runtime.abort_bash()

    aborting = Thread(target=abort)
    aborting.start()
    ran = runtime.bash("touch up; sleep 61.9")
    aborting.join()
    assert (ran.exit_code, ran.cancelled) == (None, True)


def test_models_are_named_with_or_without_their_provider(
    start: Open, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    runtime = start()
    assert runtime.set_model("claude-opus-4-5").provider == "anthropic"
    assert runtime.set_model("openai/gpt-5-mini").id == "gpt-5-mini"
    assert (runtime.state().provider, runtime.state().model) == ("openai", "gpt-5-mini")
    assert runtime.run("hi").stop == "end_turn"
    assert runtime.set_model("anthropic/claude-sonnet-4-5").provider == "anthropic"
    for unknown in ("nope", "openai/nope", "nobody/gpt-5"):
        with pytest.raises(UnknownModel, match="unknown model"):
            runtime.set_model(unknown)
    assert runtime.state().model == "claude-sonnet-4-5"


def test_models_take_turns(start: Open) -> None:
    runtime = start(model="claude-sonnet-4-5")
    cycled = runtime.cycle_model()
    assert cycled is not None
    assert cycled.id == runtime.state().model != "claude-sonnet-4-5"
    assert {model.provider for model in runtime.list_models(everywhere=True)} >= {"anthropic"}


def test_models_that_take_turns_bring_the_level_of_thinking_that_was_said_for_them(start: Open) -> None:
    runtime = start(models=["claude-opus-5:low", "claude-opus-4-8:high"])
    seen = []
    for _ in range(3):
        seen.append((runtime.state().model, runtime.state().thinking))
        runtime.cycle_model()
    assert seen == [("claude-opus-5", "low"), ("claude-opus-4-8", "high"), ("claude-opus-5", "low")]


def test_thinking_is_set_and_takes_turns(runtime: Runtime) -> None:
    runtime.set_thinking("low")
    assert runtime.state().thinking == "low"
    assert runtime.cycle_thinking() == "medium"
    with pytest.raises(ConfigError, match="unknown reasoning level"):
        runtime.set_thinking("much")  # type: ignore[arg-type]
    with Runtime(provider="scripted", model="scripted-2") as unthinking:
        assert unthinking.cycle_thinking() is None


def test_statistics(start: Open, tmp_path: Path) -> None:
    runtime = start(session=tmp_path / "s.jsonl")
    runtime.run('!tool bash {"command":"echo hi"}')
    stats = runtime.stats()
    counted = (stats.user_messages, stats.assistant_messages, stats.tool_calls, stats.tool_results, stats.messages)
    assert counted == (1, 2, 1, 1, 4)
    assert (stats.usage, stats.cost) == (runtime.cost(), runtime.cost().cost_usd)
    assert (stats.session_id, stats.session_file) == (runtime.sessions.id, str(tmp_path / "s.jsonl"))


def test_the_habits_of_the_sdk_are_a_layer_of_their_own() -> None:
    habits = layered(DEFAULTS, SDK)
    assert (habits.retry_runs, habits.auto_compaction, habits.save, habits.sessions) == (True, True, False, False)


def test_asynchronously_too(server: ModelServer, tmp_path: Path) -> None:
    async def main() -> None:
        options: dict[str, Any] = {"base_url": server.url, "api_key": "x", "cwd": tmp_path, "retry_delay": 0.01}
        async with AsyncRuntime(provider="anthropic", save=True, session_dir=tmp_path / "kept", **options) as runtime:
            with pytest.raises(NotRunning):
                await runtime.steer("hello?")
            run = runtime.prompt("!gate g")
            async for event in run:
                if isinstance(event, events.TextDelta):
                    await runtime.follow_up("and that")
                    await runtime.steer("and this")
                    break
            server.release("g")
            assert "queue_update" in [event.type async for event in run]
            assert run.result.steps >= 2
            assert (await runtime.bash("echo out")).output == "out\n"
            assert (await runtime.set_model("anthropic/claude-opus-4-5")).id == "claude-opus-4-5"
            assert await runtime.cycle_model() is not None
            await runtime.set_model("claude-opus-4-5")
            await runtime.set_thinking("low")
            assert await runtime.cycle_thinking() == "medium"
            await runtime.set_steering_mode("all")
            await runtime.set_follow_up_mode("all")
            await runtime.set_auto_retry(False)
            await runtime.set_auto_compaction(False)
            state = await runtime.state()
            assert (state.model, state.thinking) == ("claude-opus-4-5", "medium")
            assert (state.steering_mode, state.follow_up_mode) == ("all", "all")
            assert (state.auto_retry, state.auto_compaction, state.pending) == (False, False, 0)
            await runtime.abort_bash()
            await runtime.abort_retry()
            stats = await runtime.stats()
            assert stats.user_messages == 3
            sessions = runtime.sessions
            await sessions.set_name("mine")
            assert sessions.name == "mine"
            prompts = await sessions.prompts()
            first = sessions.file
            assert await sessions.branch(prompts[0][0]) == "!gate g"
            assert sessions.file != first
            await sessions.switch(str(first))
            assert sessions.file == first
            assert len(await sessions.outline()) == len(await sessions.entries())
            await sessions.navigate(None)
            assert await runtime.messages() == []
            assert first in [info.path for info in await sessions.listed()]
            assert await sessions.export_html(tmp_path / "page.html") == str(tmp_path / "page.html")
            before = sessions.id
            await sessions.new()
            assert sessions.id != before

    asyncio.run(main())


def test_an_async_runtime_that_cannot_be_used_says_so_when_it_is_opened(tmp_path: Path) -> None:
    async def main() -> None:
        runtime = AsyncRuntime(provider="zzz")
        with pytest.raises(BadInput, match="not open yet"):
            _ = runtime.sessions.id
        for use in (runtime.__aenter__, runtime.state, lambda: runtime.run("hi")):
            with pytest.raises(ConfigError, match="unknown provider"):
                await use()
        with pytest.raises(ConfigError, match="unknown provider"):
            async for _ in runtime.prompt("hi"):
                pass
        await runtime.close()

    asyncio.run(main())
