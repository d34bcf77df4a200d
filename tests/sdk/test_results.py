"""What comes of a run: its result, and an answer in the form that was asked for."""

import asyncio
import dataclasses
import datetime
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any, Literal

import msgspec
import pydantic
import pytest

from linnet import (
    AsyncRuntime,
    BadInput,
    BadOutput,
    ContextOverflow,
    LinnetError,
    NothingToCompact,
    ProviderRejected,
    ProviderUnavailable,
    Runtime,
    frames,
)
from linnet.testing.model_server import ModelServer

Open = Callable[..., Runtime]
Script = Callable[..., Runtime]


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[Script]:
    """A runtime whose model says these things, one for each call."""
    with ExitStack() as stack:

        def start(*turns: str | list[dict[str, Any]]) -> Runtime:
            steps = [[{"text": turn}] if isinstance(turn, str) else turn for turn in turns]
            (tmp_path / "script.json").write_text(json.dumps({"turns": steps}))
            return stack.enter_context(Runtime(script=tmp_path / "script.json", cwd=tmp_path, retry_delay=0.01))

        yield start


def test_a_run_tells_what_came_of_it(start: Open, tmp_path: Path) -> None:
    runtime = start(session=tmp_path / "s.jsonl")
    first = runtime.run("hi")
    result = runtime.run('!tool bash {"command":"echo hi"}')
    assert (result.stop, result.error, result.code, result.failure) == ("end_turn", None, None, None)
    assert (result.steps, first.steps) == (2, 1)
    assert result.session_file == str(tmp_path / "s.jsonl")
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "assistant"]
    assert result.messages == runtime.messages()[2:]
    assert isinstance(result.messages[-1].content[0], frames.TextBlock)
    assert result.text == result.messages[-1].content[0].text
    total = runtime.cost()
    assert (first.usage.input + result.usage.input, first.usage.output + result.usage.output) == (
        total.input,
        total.output,
    )
    assert result.cost == result.usage.cost_usd
    assert first.usage.cost_usd + result.usage.cost_usd == pytest.approx(total.cost_usd)


def test_what_is_streamed_has_the_same_result(start: Open, server: ModelServer) -> None:
    runtime = start()
    run = runtime.prompt("!gate g")
    with pytest.raises(BadInput, match="has not ended"):
        _ = run.result
    server.release("g")
    list(run)
    assert run.result.stop == "end_turn"
    run = runtime.prompt("hi")
    list(run)
    assert run.result.text == "Hello from the scripted model."
    assert run.result is run.result


@pytest.mark.parametrize(
    ("prompt", "kind", "code", "status"),
    [
        ("!fail 529 99", ProviderUnavailable, "provider_unavailable", 529),
        ("!fail 429 99", ProviderUnavailable, "provider_unavailable", 429),
        ("!fail 401 99", ProviderRejected, "provider_rejected", 401),
        ("!overflow 99", ContextOverflow, "context_overflow", 400),
    ],
)
def test_a_failure_has_a_sentence_a_code_and_a_status(
    start: Open, prompt: str, kind: type[LinnetError], code: str, status: int
) -> None:
    result = start().run(prompt)
    assert (result.stop, result.code) == ("error", code)
    assert result.error
    failure = result.failure
    assert type(failure) is kind
    assert (str(failure), failure.code, failure.status) == (result.error, code, status)
    assert failure.retryable is (kind is ProviderUnavailable)


def test_a_compaction_that_fails_raises_why(start: Open, server: ModelServer) -> None:
    runtime = start()
    with pytest.raises(NothingToCompact) as nothing:
        runtime.compact()
    assert (nothing.value.code, nothing.value.status, nothing.value.retryable) == ("nothing_to_compact", None, False)


def test_an_aborted_run_has_what_it_said(start: Open) -> None:
    runtime = start()
    run = runtime.prompt("!gate never")
    for event in run:
        if isinstance(event, frames.TextDelta):
            runtime.abort()
    assert (run.result.stop, run.result.code, run.result.error) == ("aborted", "aborted", None)
    assert run.result.text


def test_a_run_that_was_tried_again_has_only_what_counts(start: Open) -> None:
    result = start().run("!fail 529 2")
    assert (result.stop, result.text, result.steps) == ("end_turn", "recovered", 3)
    assert [message.role for message in result.messages] == ["user", "assistant"]


class Node(pydantic.BaseModel):
    kids: list["Node"] = []


class Bug(msgspec.Struct):
    file: str
    line: int


@dataclasses.dataclass
class Verdict:
    verdict: Literal["good", "bad"]
    bugs: list[str]


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}


def test_an_answer_has_the_form_that_was_asked_for(scripted: Script) -> None:
    runtime = scripted(
        '{"file":"a.py","line":3}',
        '```json\n{"verdict":"bad","bugs":["x"]}\n```',
        'Here: {"n": 2}.',
        '[{"file":"b","line":1}]',
    )
    assert runtime.run("find it", output=Bug).value == Bug("a.py", 3)
    assert runtime.run("judge", output=Verdict).value == Verdict("bad", ["x"])
    assert runtime.run("count", output=SCHEMA).value == {"n": 2}
    assert runtime.run("all", output=list[Bug]).value == [Bug("b", 1)]


def test_the_model_is_told_the_form(start: Open, server: ModelServer) -> None:
    result = start().run("how many?", output=SCHEMA)
    assert result.code == "bad_output"
    first, again = [request.body["messages"][-1]["content"][0]["text"] for request in server.requests]
    assert first.startswith("how many?")
    assert all(json.dumps(SCHEMA, separators=(",", ":")) in asked for asked in (first, again))
    assert "it holds no JSON value" in again


def test_an_answer_that_does_not_fit_is_asked_for_again_once(scripted: Script) -> None:
    runtime = scripted('{"file":"a.py"}', '{"file":"a.py","line":3}')
    result = runtime.run("find it", output=Bug)
    assert result.value == Bug("a.py", 3)
    assert result.steps == 2
    assert [message.role for message in result.messages] == ["user", "assistant"] * 2
    asked = result.messages[2].content[0]
    assert isinstance(asked, frames.TextBlock)
    assert "Object missing required field `line`" in asked.text
    assert (result.usage.input, result.usage.output) == (runtime.cost().input, runtime.cost().output)


def test_an_answer_that_never_fits_is_an_error(scripted: Script) -> None:
    result = scripted("no", "{}").run("find it", output=Bug)
    assert (result.code, result.stop) == ("bad_output", "end_turn")
    assert result.error == "the answer does not fit: Object missing required field `file`"
    with pytest.raises(BadOutput, match="missing required field"):
        _ = result.value


def test_a_run_that_fails_has_no_value(scripted: Script) -> None:
    result = scripted([{"fail": "no"}]).run("find it", output=Bug)
    assert result.code == "provider_rejected"
    with pytest.raises(BadOutput, match="scripted: no"):
        _ = result.value


def test_a_value_that_nobody_asked_for_is_not_there(scripted: Script) -> None:
    with pytest.raises(BadOutput, match="not asked for"):
        _ = scripted("hi").run("hi").value


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (lambda: None, "output must be a type"),
        ({"type": "thing"}, 'unknown type "thing"'),
        ({"not": {}}, 'says "not" at \\$, which cannot be checked'),
        (list[Node], "refers to itself"),
        ({"$ref": "elsewhere.json"}, "not inside it"),
        ({"$ref": "#/$defs/none"}, "which is not there"),
        ({"properties": {"a": 3}}, "\\$.a of the JSON Schema must be an object"),
    ],
)
def test_a_form_that_cannot_be_checked_is_refused(scripted: Script, output: Any, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        scripted("hi").run("hi", output=output)


def test_asynchronously_too(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps({"turns": [[{"text": "?"}], [{"text": '{"file":"a","line":1}'}]]}))

    async def main() -> None:
        async with AsyncRuntime(script=tmp_path / "script.json", cwd=tmp_path) as runtime:
            result = await runtime.run("find it", output=Bug)
            assert (result.value, result.steps) == (Bug("a", 1), 2)

    asyncio.run(main())


class Place(pydantic.BaseModel):
    """Strict, so that a day may only be a text because it comes from JSON."""

    model_config = pydantic.ConfigDict(strict=True)
    name: str
    seen: datetime.date = pydantic.Field(description="The day it was seen.")

    @pydantic.field_validator("name")
    @classmethod
    def _is_capital(cls, name: str) -> str:
        if name != name.capitalize():
            raise ValueError("a name has a capital letter")
        return name


@dataclasses.dataclass
class Tour:
    places: list[Place]


def test_a_pydantic_model_is_a_form_alone_and_inside_others(scripted: Script) -> None:
    rome = '{"name":"Rome","seen":"2026-11-17"}'
    runtime = scripted(rome, f"[{rome}]", f'{{"places":[{rome}]}}', '{"kids":[{"kids":[]}]}')
    place = Place(name="Rome", seen=datetime.date(2026, 11, 17))
    assert runtime.run("one", output=Place).value == place
    assert runtime.run("all", output=list[Place]).value == [place]
    assert runtime.run("tour", output=Tour).value == Tour([place])
    assert runtime.run("tree", output=Node).value == Node(kids=[Node()])


def test_what_a_model_checks_by_itself_is_said_to_the_language_model(scripted: Script) -> None:
    result = scripted('[{"name":"rome","seen":"?"}]', "[]").run("all", output=list[Place])
    assert (result.value, result.steps) == ([], 2)
    asked = result.messages[2].content[0]
    assert isinstance(asked, frames.TextBlock)
    assert "a name has a capital letter (name)" in asked.text
    assert "$[0]" in asked.text
    assert "The day it was seen." in asked.text
    assert "errors.pydantic.dev" not in asked.text


def test_a_streamed_run_tells_the_value_and_has_it(scripted: Script) -> None:
    run = scripted('{"file":"a","line":1}').prompt("find it", output=Bug)
    told = [event for event in run if isinstance(event, frames.Output)]
    assert [event.value for event in told] == [{"file": "a", "line": 1}]
    assert run.result.value == Bug("a", 1)


def test_a_limit_holds_for_what_is_asked_again(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps({"turns": [[{"text": "?"}], [{"text": "{}"}]]}))
    with Runtime(script=tmp_path / "script.json", cwd=tmp_path, max_steps=1) as runtime:
        result = runtime.run("find it", output=Bug)
    assert (result.steps, result.code) == (1, "bad_output")


def test_a_template_is_not_given_the_form_as_an_argument(tmp_path: Path) -> None:
    (tmp_path / "find.md").write_text("Find $ARGUMENTS, and only that.")
    (tmp_path / "script.json").write_text(json.dumps({"turns": [[{"text": '{"file":"a","line":1}'}]]}))
    with Runtime(script=tmp_path / "script.json", cwd=tmp_path, template_paths=[tmp_path / "find.md"]) as runtime:
        asked = runtime.run("/find bugs", output=Bug).messages[0].content[0]
    assert isinstance(asked, frames.TextBlock)
    assert asked.text.startswith("Find bugs, and only that.\n\nWhen the work is done")


def test_a_validator_that_never_ends_holds_up_no_abort(scripted: Script) -> None:
    checking, leave = Event(), Event()

    class Slow(pydantic.BaseModel):
        @pydantic.model_validator(mode="after")
        def _wait(self) -> "Slow":
            checking.set()
            leave.wait(60)
            return self

    runtime = scripted("{}", "hello")
    run = runtime.prompt("go", output=Slow)
    assert checking.wait(20)
    runtime.abort()
    assert list(run)
    leave.set()
    assert (run.result.stop, run.result.code) == ("aborted", "aborted")
    with pytest.raises(BadOutput):
        _ = run.result.value
    assert runtime.run("go on").stop == "end_turn"


def test_a_validator_that_breaks_is_a_failure_and_nothing_more(scripted: Script) -> None:
    class Broken(pydantic.BaseModel):
        @pydantic.model_validator(mode="after")
        def _leave(self) -> "Broken":
            raise SystemExit(3)

    runtime = scripted("{}", "hello")
    result = runtime.run("go", output=Broken)
    assert (result.stop, result.code) == ("error", "internal")
    assert "SystemExit" in str(result.error)
    assert runtime.run("go on").text == "hello"
