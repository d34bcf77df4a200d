"""A prompt that has taken as much as it may: money, time, steps; a command that takes too long."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet import AsyncRuntime, Config, ConfigError, LimitReached, Runtime, events, frames
from linnet.testing.model_server import ModelServer

Open = Callable[..., Runtime]
LS = '!loop 9 bash {"command":"true"}'


def scripted(folder: Path, *turns: list[dict[str, Any]], **options: Any) -> Runtime:
    (folder / "script.json").write_text(json.dumps({"turns": turns}))
    return Runtime(script=folder / "script.json", cwd=folder, retry_delay=0.01, **options)


def failure_of(result: Any) -> LimitReached:
    assert (result.stop, result.code) == ("error", "limit_reached")
    assert isinstance(result.failure, LimitReached)
    assert result.error == str(result.failure)
    return result.failure


def test_there_is_no_limit_of_steps_unless_somebody_sets_one(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("x")
    looking: list[dict[str, Any]] = [{"call": "read", "args": {"path": "note"}}]
    with scripted(tmp_path, *[looking] * 150, [{"text": "done"}]) as runtime:
        result = runtime.run("go")
    assert (result.stop, result.steps) == ("end_turn", 151)


def test_a_run_of_too_many_steps_ends_with_a_limit(start: Open) -> None:
    result = start(max_steps=2).run(LS)
    assert failure_of(result).limit == "max_steps"
    assert (result.error, result.steps) == ("max steps (2) exceeded", 2)


def test_a_prompt_that_costs_too_much_ends_after_the_step_that_did(start: Open) -> None:
    runtime = start()
    first = runtime.run(LS.replace("9", "1"))
    assert first.cost
    runtime = start(max_cost=first.cost * 1.5)
    result = runtime.run(LS)
    assert failure_of(result).limit == "max_cost"
    assert result.cost
    assert result.cost >= first.cost * 1.5
    assert 2 <= result.steps < 10
    assert "max cost ($" in str(result.error)
    assert str(result.error).endswith("(max_cost)")
    assert isinstance(result.messages[-1].content[0], frames.ToolResultBlock), "the step was finished"
    assert runtime.run("hi").stop == "end_turn", "each prompt has its own"


def test_what_waits_when_the_money_is_spent_is_dropped_and_that_is_told(start: Open, server: ModelServer) -> None:
    runtime = start(max_cost=1e-9)
    heard: list[events.Event] = []
    run = runtime.prompt("!gate it")
    for event in run:
        heard.append(event)
        if isinstance(event, events.TurnStart):
            runtime.follow_up("and then?")
            server.release("it")
    assert [event.dropped for event in heard if isinstance(event, events.QueueUpdate)][-1] == ("and then?",)
    assert failure_of(run.result).limit == "max_cost"
    assert runtime.state().pending == 0


def test_a_prompt_that_was_answered_is_no_failure_whatever_it_cost(start: Open) -> None:
    result = start(max_cost=1e-9).run("hi")
    assert (result.stop, result.code, result.error) == ("end_turn", None, None)


def test_a_failure_is_not_tried_again_when_the_money_is_spent(start: Open) -> None:
    result = start(max_cost=1e-9).run("!drop 3")
    assert (result.code, result.steps) == ("provider_unavailable", 1)


def test_a_silent_model_is_interrupted_when_the_time_is_up(start: Open) -> None:
    runtime = start(max_seconds=0.2)
    run = runtime.prompt("!hang")
    heard = list(run)
    assert failure_of(run.result).limit == "max_seconds"
    assert run.result.error == "max seconds (0.2) reached: the run was interrupted (max_seconds)"
    assert [event.type for event in heard][-3:] == ["turn_end", "error", "done"]
    (end,) = [event for event in heard if isinstance(event, events.TurnEnd)]
    assert (end.stop, end.error) == ("error", run.result.error)
    assert runtime.run("hi").stop == "end_turn", "each prompt has its own"


def test_a_command_is_killed_when_the_time_is_up(start: Open, tmp_path: Path) -> None:
    runtime = start(max_seconds=0.5)
    calls = json.dumps([["bash", {"command": "sleep 600; touch late"}], ["bash", {"command": "touch later"}]])
    run = runtime.prompt(f"!tools {calls}")
    heard = list(run)
    assert failure_of(run.result).limit == "max_seconds"
    results = [event for event in heard if isinstance(event, events.ToolResult)]
    assert [result.is_error for result in results] == [True, True]
    assert "the time for this prompt was up" in results[1].content[0].text  # type: ignore[union-attr]
    assert [event.type for event in heard].count("done") == 1
    assert isinstance(heard[-3], events.TurnEnd)
    assert (heard[-3].stop, heard[-3].error) == ("error", run.result.error)
    assert not (tmp_path / "late").exists()
    assert not (tmp_path / "later").exists()
    assert runtime.run("hi").stop == "end_turn"


def test_time_that_is_spent_waiting_for_a_retry_counts(start: Open) -> None:
    run = start(max_seconds=0.3, retry_delay=600).prompt("!fail 529 9")
    heard = list(run)
    assert failure_of(run.result).limit == "max_seconds"
    (retry,) = [event for event in heard if isinstance(event, events.RetryEnd)]
    assert (retry.success, retry.error) == (False, run.result.error)


def test_what_waits_when_the_time_is_up_is_dropped_and_that_is_told(start: Open) -> None:
    runtime = start(max_seconds=0.5)
    heard: list[events.Event] = []
    for event in (run := runtime.prompt("!hang")):
        heard.append(event)
        if isinstance(event, events.TurnStart):
            runtime.follow_up("and then?")
    assert [event.dropped for event in heard if isinstance(event, events.QueueUpdate)][-1] == ("and then?",)
    assert failure_of(run.result).limit == "max_seconds"


def test_an_abort_stays_an_abort(start: Open) -> None:
    runtime = start(max_seconds=600, max_cost=100, max_steps=100)
    run = runtime.prompt("!hang")
    for event in run:
        if isinstance(event, events.TurnStart):
            runtime.abort()
    assert (run.result.stop, run.result.code) == ("aborted", "aborted")


def test_limits_hold_in_asyncio_too(server: ModelServer, tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncRuntime(base_url=server.url, api_key="x", cwd=tmp_path, max_seconds=0.2) as runtime:
            assert failure_of(await runtime.run("!hang")).limit == "max_seconds"

    asyncio.run(main())


def test_a_command_of_the_model_has_the_time_that_was_configured(start: Open) -> None:
    runtime = start(bash_timeout=1.5)
    result = runtime.run('!tool bash {"command":"echo begun; sleep 600"}')
    shown = str(result.messages)
    assert "begun" in shown
    assert "[timed out after 1.5s]" in shown
    assert result.stop == "end_turn"


def test_a_model_that_names_a_time_gets_it(start: Open) -> None:
    result = start(bash_timeout=0.1).run('!tool bash {"command":"sleep 0.5; echo slept","timeout":60}')
    assert "slept\\n\\n[exit 0]" in json.dumps([str(m) for m in result.messages]).replace("\\\\", "\\")


def test_a_command_of_the_programs_has_the_time_that_was_configured(start: Open) -> None:
    run = start(bash_timeout=1.5).bash("echo begun; sleep 600")
    assert run.output == "begun\n\nCommand timed out after 1.5 seconds\n"
    assert (run.exit_code, run.cancelled) == (None, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_steps": 0}, "max_steps must be at least 1"),
        ({"max_cost": 0}, "max_cost must be a number of dollars above 0, not 0"),
        ({"max_cost": float("nan")}, "max_cost must be a number of dollars above 0, not nan"),
        ({"max_seconds": -1}, "max_seconds must be a number of seconds above 0, not -1"),
        ({"max_seconds": 1e300}, "max_seconds must be a number of seconds above 0, not 1e+300"),
        ({"bash_timeout": 0.0}, "bash_timeout must be a number of seconds above 0, not 0"),
        ({"script": "x.json", "provider": "openai"}, "script plays on the scripted provider, not on openai"),
        ({"session": "a", "resume": True}, "session and resume do not go together"),
        ({"session": "a", "save": False}, "save=False and session do not go together"),
        ({"session": " "}, "session must name a file"),
        ({"base_url": "here"}, "base_url must start with http://"),
    ],
)
def test_what_cannot_be_used_is_told_in_the_words_of_the_caller(options: dict[str, Any], words: str) -> None:
    for given in (options, {"config": Config(**options)}):
        with pytest.raises(ConfigError) as raised:
            Runtime(**given)
        assert str(raised.value).startswith(words)
        assert "--" not in str(raised.value)


def test_a_folder_that_is_not_there_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"^cwd {tmp_path}/nowhere is not a folder"):
        Runtime(cwd=str(tmp_path / "nowhere"))


def test_a_result_warns_once_of_what_could_not_be_done(server: ModelServer, tmp_path: Path) -> None:
    with Runtime(
        provider="openai", model="gpt-5.5", base_url=server.url, api_key="x", cwd=tmp_path, reasoning="high"
    ) as runtime:
        assert runtime.state().thinking == "off"
        (warning,) = runtime.run("hi").warnings
        assert warning.startswith("gpt-5.5 is asked not to think, instead of high")
        assert runtime.run("hi").warnings == ()


def test_a_price_that_nobody_knows_cannot_be_held_to_a_limit_and_that_is_said(start: Open) -> None:
    runtime = start(model="somebody-s-own", max_cost=0.01)
    result = runtime.run('!tool bash {"command":"true"}')
    assert (result.stop, result.cost) == ("end_turn", None)
    assert result.warnings == ("max_cost cannot be held for anthropic/somebody-s-own: nobody knows what it costs",)
    assert runtime.run("hi").warnings == ()
