"""Functions as tools: what the model is told of them, what they are given, what becomes of what they return."""

import asyncio
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Annotated, Any, Literal

import pydantic
import pytest
from msgspec import Meta, Struct

from linnet.concurrency.cancel import CancelToken
from linnet.concurrency.foreign import Foreign
from linnet.core.messages import Image, Text, ToolCall
from linnet.errors import Cancelled
from linnet.processes.process import Processes
from linnet.tools.context import ToolContext
from linnet.tools.functions.call_context import Context
from linnet.tools.functions.function import FunctionTools, tool
from linnet.tools.spec import ToolOutput

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


@tool
def weather(city: Annotated[str, Meta(description="Which one.")], days: int = 3, unit: Literal["C", "F"] = "C") -> str:
    """Say how the weather will be.

    At most for a week.
    """
    return f"{city}: {days} days of sun, {unit}"


def run(
    function: Any, args: dict[str, Any], cancel: CancelToken | None = None, told: list[str] | None = None
) -> ToolOutput:
    foreign = Foreign()
    tools = FunctionTools([function if hasattr(function, "spec") else tool(function)], foreign)
    progress = (told if told is not None else []).append
    context = ToolContext("/", cancel or CancelToken(), progress, Processes())
    try:
        return tools.run(ToolCall("1", tools.specs[0].name, args), context)
    finally:
        foreign.close()


def test_annotations_defaults_and_docstring_are_the_schema() -> None:
    assert weather.spec.name == "weather"
    assert weather.spec.description == "Say how the weather will be.\n\nAt most for a week."
    assert weather.spec.schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Which one."},
            "days": {"type": "integer", "default": 3},
            "unit": {"enum": ["C", "F"], "default": "C"},
        },
        "required": ["city"],
    }
    assert weather("Rome") == "Rome: 3 days of sun, C"


def test_arguments_are_checked_before_the_function_is_called() -> None:
    assert run(weather, {"city": "Rome", "days": "2"}) == ToolOutput((Text("Rome: 2 days of sun, C"),))
    wrong = run(weather, {"days": 2})
    assert wrong.is_error
    assert wrong.content == (Text("invalid args: Object missing required field `city`"),)
    assert run(weather, {"city": "Rome", "unit": "K"}).is_error


class Place(Struct):
    x: int
    y: int = 0


@dataclass
class Point:
    x: int
    y: int = 0


@pytest.mark.parametrize("kind", [Place, Point])
def test_a_struct_or_a_dataclass_takes_all_arguments(kind: Any) -> None:
    def go(to: kind) -> int:
        return int(to.x + to.y)

    made = tool(go)
    assert made.spec.schema["required"] == ["x"]
    assert run(made, {"x": 2, "y": 3}).content == (Text("5"),)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", (Text("text"),)),
        (None, (Text("(no output)"),)),
        ("", (Text("(no output)"),)),
        (5, (Text("5"),)),
        (True, (Text("true"),)),
        ({"a": [1, 2]}, (Text('{"a":[1,2]}'),)),
        ([1, 2], (Text("[1,2]"),)),
        ([], (Text("(no output)"),)),
        (Place(1), (Text('{"x":1,"y":0}'),)),
        (["look:", PNG], (Text("look:"), Image("image/png", "iVBORw0KGgoAAAAAAAAAAAAAAAAAAAAA"))),
        (b"plain bytes", (Text("plain bytes"),)),
        ({1, 2} and object, (Text(f'"{object}"'),)),
    ],
)
def test_whatever_is_returned_can_be_read(value: Any, content: tuple[Any, ...]) -> None:
    def give() -> Any:
        return value

    assert run(give, {}) == ToolOutput(content)


def test_of_too_much_the_beginning_is_told_and_all_of_it_is_in_a_file() -> None:
    def talk() -> str:
        return "word\n" * 100_000

    [part] = run(talk, {}).content
    assert isinstance(part, Text)
    assert len(part.text) < 60_000
    path = Path(part.text.rpartition("All of it: ")[2].rstrip("]"))
    assert path.read_text() == "word\n" * 100_000
    path.unlink()


def test_what_is_raised_is_an_error_for_the_model() -> None:
    def broken() -> None:
        raise LookupError("no such customer")

    assert run(broken, {}) == ToolOutput((Text("LookupError: no such customer"),), is_error=True)


def test_a_context_is_given_to_whoever_asks_for_one() -> None:
    told: list[str] = []

    def work(name: str, context: Context) -> str:
        context.progress("half")
        assert not context.cancelled
        assert context.confirm("sure?") is False, "there is nobody to be asked"
        return f"{name} in {context.cwd} for {context.call_id}"

    made = tool(work)
    assert list(made.spec.schema["properties"]) == ["name"]
    assert run(made, {"name": "x"}, told=told).content == (Text("x in / for 1"),)
    assert told == ["half"]


async def double(number: int) -> int:
    """Takes its time."""
    await asyncio.sleep(0)
    return number * 2


def test_an_async_function_runs_in_a_loop_of_its_own() -> None:
    assert run(double, {"number": 4}).content == (Text("8"),)


def test_an_abort_cancels_an_async_function() -> None:
    cancel, ended = CancelToken(), Event()

    async def hang(context: Context) -> None:
        asyncio.get_running_loop().call_soon(cancel.set)
        try:
            await asyncio.sleep(61.5)
        finally:
            ended.set()

    with pytest.raises(Cancelled):
        run(hang, {}, cancel)
    assert ended.wait(30)


def test_an_abort_interrupts_what_blocks() -> None:
    cancel = CancelToken()

    def hang(context: Context) -> None:
        cancel.set()
        context.cancel.sleep(61.5)

    with pytest.raises(Cancelled):
        run(hang, {}, cancel)


def test_parameters_that_a_model_cannot_give_are_refused_at_once() -> None:
    def anything(*args: int) -> None: ...

    with pytest.raises(TypeError, match="name every parameter"):
        tool(anything)


def test_a_name_that_no_vendor_takes_is_refused_at_once() -> None:
    for function, name in ((lambda: None, ""), (double, "no good"), (double, "x" * 65)):
        with pytest.raises(TypeError, match="a tool's name is made of letters"):
            tool(name=name)(function)


def test_what_is_no_function_is_refused_at_once() -> None:
    things: tuple[Any, ...] = (weather, partial(double, 1), Place, "read")
    for thing in things:
        with pytest.raises(TypeError, match="@tool goes on a function"):
            tool(thing)


def test_name_and_description_may_be_given() -> None:
    @tool(name="greet", description="Say hello.")
    def f() -> str:
        return "hi"

    assert (f.spec.name, f.spec.description) == ("greet", "Say hello.")


def text(output: ToolOutput) -> str:
    (part,) = output.content
    assert isinstance(part, Text)
    return part.text


class Trip(pydantic.BaseModel):
    """Where to, and how long."""

    city: str
    days: int = pydantic.Field(default=3, ge=1, description="At least one.")
    stops: list["Stop"] = []


class Stop(pydantic.BaseModel):
    name: str


class Branch(pydantic.BaseModel):
    branches: list["Branch"] = []


def test_a_pydantic_model_is_all_arguments_or_one_of_them() -> None:
    def book(trip: Trip) -> str:
        return f"{type(trip).__name__} {trip.city} {trip.days} {[stop.name for stop in trip.stops]}"

    def compare(trips: list[Trip], best: Trip | None = None) -> str:
        return f"{[trip.city for trip in trips]} {best}"

    args = {"city": "Rome", "days": 2, "stops": [{"name": "Ostia"}]}
    assert text(run(book, args)) == "Trip Rome 2 ['Ostia']"
    assert text(run(compare, {"trips": [args]})) == "['Rome'] None"
    described = tool(book).spec.schema
    assert described["properties"]["days"]["description"] == "At least one."
    assert described["properties"]["stops"]["items"]["required"] == ["name"]
    assert tool(compare).spec.schema["properties"]["trips"]["items"] == described
    assert "$ref" not in str(described)


def test_arguments_that_a_model_refuses_are_told_to_the_language_model() -> None:
    def book(trip: Trip) -> str:
        raise AssertionError

    refused = run(book, {"city": "Rome", "days": 0})
    assert refused.is_error
    assert text(refused) == "invalid args: Input should be greater than or equal to 1 (days)"


def test_a_model_that_is_returned_is_data() -> None:
    def one() -> Stop:
        return Stop(name="Ostia")

    def several() -> list[Stop]:
        return [one()]

    assert text(run(one, {})) == '{"name":"Ostia"}'
    assert text(run(several, {})) == '[{"name":"Ostia"}]'


def test_a_type_that_refers_to_itself_is_refused_when_the_tool_is_made() -> None:
    def grow(tree: Branch) -> None: ...

    def plant(tree: Branch, where: str) -> None: ...

    for function in (grow, plant):
        with pytest.raises(TypeError, match="Branch refers to itself"):
            tool(function)
