"""What is public: what completion shows, what type checkers see, what is in the package."""

import inspect
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import linnet
import linnet.client
from linnet import AsyncRun, AsyncRuntime, AsyncSessions, Config, LinnetError, Run, Runtime, Sessions, errors
from linnet.errors import ClientError

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "sdk.md").read_text()
TYPES = Path(__file__).with_name("types.txt")
PROPERTIES = ("file", "id", "name")  # Of sessions.
CONSUMER = """
import asyncio
from dataclasses import dataclass

from linnet import (
    AsyncRuntime,
    BashRun,
    Busy,
    Config,
    LinnetError,
    ProviderUnavailable,
    Result,
    Runtime,
    SessionInfo,
    State,
    Stats,
    events,
    frames,
)


@dataclass
class Bug:
    file: str
    line: int


def streamed(runtime: Runtime) -> Result[None]:
    run = runtime.prompt("hi", images=[b"..."])
    for event in run:
        match event:
            case events.TextDelta(delta):
                print(delta.upper())
            case events.RetryStart(attempt=attempt):
                print(attempt + 1)
            case events.CompactionEnd(summary=summary):
                print((summary or "").upper())
            case _:
                print(event.type)
    return run.result


def whole(runtime: Runtime) -> float:
    bug: Bug = runtime.run("find it", output=Bug).value
    bugs: list[Bug] = runtime.run("find all", output=list[Bug]).value
    anything: dict[str, int] = runtime.run("count", output={"type": "object"}).value
    nothing: Result[None] = runtime.run("hi")
    runtime.steer("x")
    runtime.set_thinking("high")
    runtime.set_steering_mode("all")
    state: State = runtime.state()
    stats: Stats = runtime.stats()
    ran: BashRun = runtime.bash("true")
    listed: list[SessionInfo] = list(runtime.sessions.listed())
    runtime.sessions.name = "mine"
    model: frames.ModelInfo | None = runtime.cycle_model()
    print(bug.line + bugs[0].line, anything, state.thinking, stats.messages, ran.exit_code, listed, model)
    return (nothing.cost or 0.0) + nothing.usage.cost_usd


async def main() -> None:
    async with AsyncRuntime(provider="scripted", tools=["read"], max_steps=3, cwd=".") as runtime:
        async with runtime.prompt("hi") as run:
            async for event in run:
                if isinstance(event, frames.ToolCall):
                    print(event.name, event.args)
        bug: Bug = (await runtime.run("find it", output=Bug)).value
        await runtime.sessions.set_name(bug.file)
        print(runtime.sessions.name.upper(), (await runtime.sessions.prompts())[0][1].upper())


try:
    with Runtime(Config(provider="scripted", reasoning="low")) as runtime:
        print(streamed(runtime).text, whole(runtime))
except Busy:
    pass
except ProviderUnavailable as error:
    print(error.retry_after, error.status, error.retryable)
except LinnetError as error:
    print(error.code.upper())
asyncio.run(main())
"""
MISTAKES = {
    "from linnet import Runtme": "has no attribute",
    'from linnet import Runtime\nRuntime(providr="x")': "Unexpected keyword argument",
    'from linnet import Runtime\nRuntime(max_steps="3")': "incompatible type",
    'from linnet import Runtime\nRuntime().set_thinking("much")': "incompatible type",
    'from linnet import Runtime\nx: int = Runtime().run("hi", output=str).value': "Incompatible types in assignment",
    "from linnet import Runtime\nRuntime().hear([])": "has no attribute",
}


def mypy(folder: Path, *programs: str) -> list[str]:
    """What mypy says of each of these programs, in a project that knows linnet only as it is installed."""
    names = [f"program_{index}.py" for index, _ in enumerate(programs)]
    for name, program in zip(names, programs, strict=True):
        (folder / name).write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={folder / 'cache'}", *names]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    return ["\n".join(line for line in lines if line.startswith(name)) for name in names]


@pytest.fixture(scope="module")
def said_by_mypy(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """One run for all programs: most of what it takes is linnet itself."""
    return mypy(tmp_path_factory.mktemp("mypy"), CONSUMER, revealing(), *MISTAKES)


@pytest.mark.foreign
@pytest.mark.xdist_group("mypy")  # One worker, so that mypy runs once.
@pytest.mark.timeout(180)
def test_a_project_that_uses_it_is_checked_strictly(said_by_mypy: list[str]) -> None:
    right, _, *wrong = said_by_mypy
    assert right == ""
    for said, expected in zip(wrong, MISTAKES.values(), strict=True):
        assert expected in said


@pytest.mark.foreign
@pytest.mark.xdist_group("mypy")  # One worker, so that mypy runs once.
@pytest.mark.timeout(180)
def test_every_method_of_both_faces_has_its_type(said_by_mypy: list[str]) -> None:
    """`types.txt` says it for those that block; those that are awaited have the same, with a coroutine around it."""
    names = revealed_names()
    found = re.findall(r'Revealed type is "(.*)"', said_by_mypy[1])
    assert len(found) == len(names)
    kinds = dict(zip(names, (re.sub(r"\b(?:\w+\.)+", "", kind) for kind in found), strict=True))
    expected = dict(line.split(": ", 1) for line in TYPES.read_text().splitlines())
    assert {name: kind for name, kind in kinds.items() if ".Async" not in name} == expected
    for name, kind in expected.items():
        assert kinds[name.replace(".", ".Async", 1)] == awaited(name, kind), name


def revealed_names() -> list[str]:
    """Names of all that is public on both faces, of the SDK and of the clients."""
    faces = [(linnet, "Runtime"), (linnet, "Sessions")]
    faces += [(linnet.client, kind) for kind in ("ZotClient", "PiClient", "PiLegacyClient", "Run", "Events")]
    both = [(module, prefix + kind) for module, kind in faces for prefix in ("", "Async")]
    return [
        f"{module.__name__.split('.')[-1]}.{kind}.{name}"
        for module, kind in both
        for name in sorted(public(getattr(module, kind)))
    ]


def revealing() -> str:
    lines = ["import linnet", "from linnet import client"]
    for name in revealed_names():
        kind, _, method = name.rpartition(".")
        kind += "[client.zot.Event]" if kind.endswith(("Run", "Events")) else ""
        lines.append(f"def _{len(lines)}(it: {kind}) -> None: reveal_type(it.{method})")
    return "\n".join(lines)


def awaited(name: str, kind: str) -> str:
    """What is not a method, or needs no waiting, is the same on both faces."""
    if not kind.startswith(("def ", "Overload(")) or name.endswith((".tell", ".answer_ui", "LegacyClient.abort")):
        return "AsyncSessions" if kind == "Sessions" else kind
    if name in ("client.Run.close", "client.Events.close"):
        return kind
    if re.search(r"-> (Run|Events)\b", kind):
        return re.sub(r"-> (Run|Events)\b", r"-> Async\1", kind)
    if kind.startswith("Overload("):
        return re.sub(r"-> (Result\[\w+\])", r"-> Coroutine[Any, Any, \1]", kind)
    before, _, result = kind.partition(" -> ")
    return f"{before} -> Coroutine[Any, Any, {result or 'None'}]"


def test_the_wheel_says_that_it_is_typed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    assert "linnet/py.typed" in zipfile.ZipFile(wheel).namelist()


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_the_module_shows_what_is_public_and_only_that() -> None:
    assert dir(linnet) == sorted(linnet.__all__)
    for name in linnet.__all__:
        assert getattr(linnet, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'Runtme'"):
        _ = linnet.Runtme  # type: ignore[attr-defined]


def test_both_faces_have_the_same_names() -> None:
    assert public(Runtime) == public(AsyncRuntime)
    assert public(Sessions) == public(AsyncSessions)
    assert public(Run) - {"close"} == public(AsyncRun) - {"aclose"} == {"result"}


def signature(function: Any) -> list[tuple[str, Any, Any]]:
    return [(each.name, each.kind, each.default) for each in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize(("sync", "other"), [(Runtime, AsyncRuntime), (Sessions, AsyncSessions)])
def test_both_faces_take_the_same_arguments(sync: type, other: type) -> None:
    for name in public(sync):
        mine, theirs = getattr(sync, name), getattr(other, name)
        if callable(mine):
            assert signature(mine) == signature(theirs), name


@pytest.mark.parametrize("kind", [Runtime, AsyncRuntime, Sessions, AsyncSessions, Run, AsyncRun])
def test_help_says_what_every_method_does_and_whether_it_is_awaited(kind: type) -> None:
    for name in public(kind):
        method = getattr(kind, name)
        assert inspect.getdoc(method), name
        is_awaited = kind.__name__.startswith("Async") and name not in ("prompt", "result", "sessions", *PROPERTIES)
        assert inspect.iscoroutinefunction(method) is is_awaited, name
        if callable(method):
            assert "Steps" not in str(inspect.signature(method)), name


def test_every_field_of_a_config_is_a_keyword() -> None:
    """Who is asked is said in fewer words: `permission` is a mode or the callback, `on_question` answers the rest."""
    keywords = [name for name, kind, _ in signature(Runtime) if kind is inspect.Parameter.KEYWORD_ONLY]
    same = [name for name in keywords if name != "on_question"]
    assert same == [name for name in Config.__struct_fields__ if name != "permission_callback"]
    assert signature(Runtime) == signature(AsyncRuntime)
    config: dict[str, Any] = {name: object() for name in same} | {"rules": [object()], "permission": "ask"}
    made = Runtime.__new__(Runtime)
    made._set_up = lambda: None  # type: ignore[method-assign]
    made.__init__(**config)  # type: ignore[misc]
    assert {name: getattr(made._config, name) for name in same} == config
    made.__init__(permission=lambda call, preview: True)  # type: ignore[misc]
    assert made._config.permission_callback is not None


def test_every_method_and_every_keyword_is_documented() -> None:
    for name in public(Runtime) | public(Sessions) | set(Config.__struct_fields__):
        assert re.search(rf"`(?:\w+\.)*{name}\b", DOCS), name


def test_every_error_can_be_imported_and_is_documented() -> None:
    kinds = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}
    ours = {name for name, kind in kinds.items() if issubclass(kind, LinnetError) and not issubclass(kind, ClientError)}
    assert ours <= set(linnet.__all__)
    assert {name for name, kind in kinds.items() if issubclass(kind, ClientError)} <= set(linnet.client.__all__)
    for name in ours:
        assert f"`{name}`" in DOCS, name


def test_every_error_has_a_code_of_its_own() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, LinnetError)]
    codes = [kind.code for kind in kinds]
    assert len(set(codes)) == len(codes)


def test_importing_it_loads_nothing() -> None:
    heavy = ("linnet.", "msgspec", "asyncio", "typing")
    program = f"import sys, linnet; print([name for name in sys.modules if name.startswith({heavy})])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
