"""Tools and permissions of one's own, in one's own process."""

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from linnet import AsyncContext, AsyncRuntime, Config, ConfigError, Context, Runtime, ToolFailed, questions, tool

Script = Callable[..., str]
TOUCH = [{"call": "bash", "args": {"command": "touch ran"}}]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    def write(*turns: Any) -> str:
        path = tmp_path / "script.json"
        path.write_text(json.dumps({"turns": [*turns, [{"text": "done"}]]}))
        return str(path)

    return write


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
async def slowly(word: str, context: Context) -> str:
    """Say a word, after a while."""
    context.progress("…")
    await asyncio.sleep(0)
    return word.upper()


def results(messages: Any) -> list[str]:
    return [str(message) for message in messages]


def test_a_function_is_a_tool(script: Script, tmp_path: Path) -> None:
    calls = [
        {"call": "add", "args": {"a": 2}},
        {"call": "slowly", "args": {"word": "hi"}},
        {"call": "bash", "args": {}},
    ]
    with Runtime(script=script(calls), cwd=tmp_path, tools=[add, slowly]) as runtime:
        result = runtime.run("go")
        told = str(runtime.messages())
    assert result.text == "done"
    assert "'3'" in told or '"3"' in told or "text='3'" in told
    assert "HI" in told
    assert 'unknown tool "bash"' in told


def test_two_tools_of_one_name_are_refused(tmp_path: Path) -> None:
    @tool(name="read")
    def mine() -> str:
        return ""

    with pytest.raises(ConfigError, match=r'"read" is declared twice: by linnet itself and by the function .*mine'):
        Runtime(provider="scripted", cwd=tmp_path, tools=["read", mine])


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(("answer", "ran"), [(True, True), (False, False), ("not today", False), (None, False)])
def test_a_permission_callback_decides(
    script: Script, tmp_path: Path, is_async: bool, answer: bool | str | None, ran: bool
) -> None:
    asked: list[tuple[str, str]] = []

    def sync(call: Any, preview: str) -> bool | str | None:
        asked.append((call.name, preview))
        return answer

    async def waiting(call: Any, preview: str) -> bool | str | None:
        return sync(call, preview)

    turn = [{"call": "bash", "args": {"command": "touch ran"}}]
    with Runtime(script=script(turn), cwd=tmp_path, permission=waiting if is_async else sync) as runtime:
        runtime.run("go")
        told = str(runtime.messages())
    assert asked == [("bash", "touch ran")]
    assert (tmp_path / "ran").exists() is ran
    assert ("not today" in told) is (answer == "not today")


def test_a_callback_that_breaks_denies(script: Script, tmp_path: Path) -> None:
    def broken(call: Any, preview: str) -> bool:
        raise LookupError("oh")

    with Runtime(
        script=script([{"call": "bash", "args": {"command": "touch ran"}}]), cwd=tmp_path, permission=broken
    ) as runtime:
        assert runtime.run("go").text == "done"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("answer", "ran"), [("Allow once", True), (True, True), ("no, thanks", False), (None, False)])
def test_questions_come_to_a_callback(script: Script, tmp_path: Path, answer: Any, ran: bool) -> None:
    asked: list[Any] = []

    def on_question(question: Any) -> Any:
        asked.append(question)
        return answer

    turn = [{"call": "bash", "args": {"command": "touch ran"}}]
    with Runtime(script=script(turn), cwd=tmp_path, permission="ask", on_question=on_question) as runtime:
        runtime.run("go")
    assert isinstance(asked[0], questions.Permit)
    assert (tmp_path / "ran").exists() is ran


def test_without_a_callback_nobody_is_asked_and_nothing_runs(script: Script, tmp_path: Path) -> None:
    with Runtime(
        script=script([{"call": "bash", "args": {"command": "touch ran"}}]), cwd=tmp_path, permission="ask"
    ) as runtime:
        assert runtime.run("go").text == "done"
    assert not (tmp_path / "ran").exists()


def test_a_tool_asks_too(script: Script, tmp_path: Path) -> None:
    @tool
    def deploy(context: Context) -> str:
        """Deploy."""
        return f"{context.confirm('Sure?')} {context.select('Where?', ['here', 'there'])}"

    def on_question(question: Any) -> Any:
        return True if isinstance(question, questions.Confirm) else "there"

    with Runtime(script=script([{"call": "deploy"}]), cwd=tmp_path, tools=[deploy], on_question=on_question) as runtime:
        runtime.run("go")
        assert "True there" in str(runtime.messages())


def test_rules_are_said_in_words(script: Script, tmp_path: Path) -> None:
    turn = [{"call": "bash", "args": {"command": "touch ran"}}]
    with Runtime(script=script(turn), cwd=tmp_path, rules=["deny *", "allow bash:touch"]) as runtime:
        runtime.run("go")
    assert (tmp_path / "ran").exists()


def test_the_same_for_asyncio(script: Script, tmp_path: Path) -> None:
    async def permission(call: Any, preview: str) -> bool:
        return bool(call.name == "add")

    async def main() -> str:
        turn = [{"call": "add", "args": {"a": 40, "b": 2}}, {"call": "bash", "args": {"command": "touch ran"}}]
        async with AsyncRuntime(
            script=script(turn), cwd=tmp_path, tools=[add, "bash"], permission=permission
        ) as runtime:
            await runtime.run("go")
            return str(await runtime.messages())

    assert "42" in asyncio.run(main())
    assert not (tmp_path / "ran").exists()


def test_two_functions_of_one_name_are_refused_and_both_are_named(tmp_path: Path) -> None:
    @tool(name="add")
    def plus() -> str:
        return ""

    with pytest.raises(
        ConfigError, match=r'"add" is declared twice: by the function .*\.add and by the function .*plus'
    ):
        Runtime(provider="scripted", cwd=tmp_path, tools=[add, plus])


@pytest.mark.parametrize(
    ("command", "verdict"), [("touch ran", "asked"), ("touch it", "allowed"), ("touch no", "denied")]
)
def test_rules_come_before_the_callback(script: Script, tmp_path: Path, command: str, verdict: str) -> None:
    asked: list[str] = []

    def permission(call: Any, preview: str) -> bool:
        asked.append(preview)
        return True

    rules = ["allow bash:touch it", "deny bash:touch no", "ask bash:touch ran"]
    turn = [{"call": "bash", "args": {"command": command}}]
    with Runtime(script=script(turn), cwd=tmp_path, permission=permission, rules=rules) as runtime:
        runtime.run("go")
    assert asked == ([command] if verdict == "asked" else [])
    assert (tmp_path / command.split()[1]).exists() is (verdict != "denied")


def test_a_callback_of_a_config_may_be_async(script: Script, tmp_path: Path) -> None:
    async def permission(call: Any, preview: str) -> bool:
        return True

    with Runtime(Config(script=script(TOUCH), cwd=tmp_path, permission_callback=permission)) as runtime:
        runtime.run("go")
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_an_abort_does_not_wait_for_a_permission_callback(script: Script, tmp_path: Path, kind: str) -> None:
    release, returned = Event(), Event()

    def plain(call: Any, preview: str) -> bool:
        runtime.abort()
        release.wait()
        returned.set()
        return True

    async def waiting(call: Any, preview: str) -> bool:
        runtime.abort()
        try:
            await asyncio.sleep(61.5)
        finally:
            returned.set()
        return True

    runtime = Runtime(script=script(TOUCH), cwd=tmp_path, permission=plain if kind == "plain" else waiting)
    with runtime:
        assert runtime.run("go").stop == "aborted"
        release.set()
        assert returned.wait(30)
        assert runtime.run("and now?").text == "done"
    assert not (tmp_path / "ran").exists()


def test_an_abort_does_not_wait_for_a_tool_and_hears_no_more_of_it(script: Script, tmp_path: Path) -> None:
    release, returned = Event(), Event()

    @tool
    def stubborn(context: Context) -> str:
        """Looks at nothing."""
        context.progress("before")
        runtime.abort()
        release.wait()
        context.progress("after")
        returned.set()
        return "late"

    runtime = Runtime(script=script([{"call": "stubborn"}]), cwd=tmp_path, tools=[stubborn])
    with runtime:
        told = [str(event) for event in runtime.prompt("go")]
        release.set()
        assert returned.wait(30)
        told += [str(event) for event in runtime.prompt("and now?")]
        told.append(str(runtime.messages()))
    assert any("before" in each for each in told)
    assert not any("after" in each or "late" in each for each in told)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_that_would_leave_the_program_fails(script: Script, tmp_path: Path, is_async: bool) -> None:
    def leave() -> None:
        sys.exit("enough")

    async def leave_later() -> None:
        sys.exit("enough")

    made = tool(name="leave")(leave_later if is_async else leave)
    with Runtime(script=script([{"call": "leave"}]), cwd=tmp_path, tools=[made]) as runtime:
        assert runtime.run("go").text == "done"
        assert "SystemExit: enough" in str(runtime.messages())


def test_a_failure_of_a_tools_own_is_told_in_its_words(script: Script, tmp_path: Path) -> None:
    @tool
    def look() -> str:
        """Look."""
        raise ToolFailed("There is nothing to see.")

    with Runtime(script=script([{"call": "look"}]), cwd=tmp_path, tools=[look]) as runtime:
        runtime.run("go")
        assert "text='There is nothing to see.'" in str(runtime.messages())


def test_an_async_tool_awaits_what_it_asks(script: Script, tmp_path: Path) -> None:
    @tool
    async def deploy(context: AsyncContext) -> str:
        """Deploy."""
        answers = [await context.confirm("Sure?"), await context.select("Where?", ["a", "b"]), await context.input("?")]
        context.progress("deploying")
        return f"{answers} in {context.cwd} for {context.call_id}"

    @tool
    async def blocked(context: Context) -> str:
        """Would hold up its loop."""
        return str(context.confirm("Sure?"))

    async def on_question(question: Any) -> Any:
        return True if isinstance(question, questions.Confirm) else "b"

    async def main() -> str:
        calls = script([{"call": "deploy", "id": "c1"}, {"call": "blocked"}])
        options: Any = {"tools": [deploy, blocked], "on_question": on_question}
        async with AsyncRuntime(script=calls, cwd=tmp_path, **options) as runtime:
            await runtime.run("go")
            return str(await runtime.messages())

    told = asyncio.run(main())
    assert f"[True, 'b', 'b'] in {tmp_path.resolve()}" in told
    assert "in an async function, take an AsyncContext and await its answer" in told


def test_coroutines_run_in_the_programs_own_loop(script: Script, tmp_path: Path) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    @tool
    async def ask(context: AsyncContext) -> bool:
        """Ask."""
        loops.append(asyncio.get_running_loop())
        return await context.confirm("Sure?")

    async def permission(call: Any, preview: str) -> bool:
        loops.append(asyncio.get_running_loop())
        return True

    async def on_question(question: Any) -> bool:
        loops.append(asyncio.get_running_loop())
        return True

    async def main() -> None:
        options: Any = {"tools": [ask], "permission": permission, "on_question": on_question}
        async with AsyncRuntime(script=script([{"call": "ask"}]), cwd=tmp_path, **options) as runtime:
            assert (await runtime.run("go")).text == "done"
        assert loops == [asyncio.get_running_loop()] * 3

    asyncio.run(main())


def test_the_loop_goes_on_while_a_callback_waits_and_an_abort_cancels_it(script: Script, tmp_path: Path) -> None:
    async def main() -> None:
        asked, cancelled = asyncio.Event(), asyncio.Event()

        async def permission(call: Any, preview: str) -> bool:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            return True

        async with AsyncRuntime(script=script(TOUCH), cwd=tmp_path, permission=permission) as runtime:
            running = asyncio.create_task(runtime.run("go"))
            await asked.wait()
            await runtime.abort()
            assert (await running).stop == "aborted"
            await cancelled.wait()

    asyncio.run(main())
    assert not (tmp_path / "ran").exists()


def test_whoever_is_asked_in_a_coroutine_is_told_that_nobody_waits_any_more(script: Script, tmp_path: Path) -> None:
    asked, cancelled = Event(), Event()

    async def on_question(question: Any) -> bool:
        asked.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        cancelled.set()
        return True

    with Runtime(script=script(TOUCH), cwd=tmp_path, permission="ask", on_question=on_question) as runtime:
        run = runtime.prompt("go")
        assert asked.wait(20)
        runtime.abort()
        assert list(run)
        assert cancelled.wait(20)
    assert not (tmp_path / "ran").exists()


def test_the_state_says_what_is_waited_for(script: Script, tmp_path: Path) -> None:
    seen: list[Any] = []

    def on_question(question: Any) -> bool:
        seen.append(runtime.state().waiting_for)
        return False

    runtime = Runtime(script=script(TOUCH), cwd=tmp_path, permission="ask", on_question=on_question)
    with runtime:
        runtime.run("go")
        assert not runtime.state().waiting_for
    [[waiting]] = seen
    assert (waiting.kind, waiting.title) == ("permission", "Allow bash?")
    assert waiting.options == ("Allow once", "Allow for this session", "Deny")
    assert (waiting.permission.name, waiting.permission.preview) == ("bash", "touch ran")


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_deadline_that_is_none_is_refused(tmp_path: Path, seconds: float) -> None:
    with pytest.raises(ConfigError, match="question_timeout must be a number of seconds"):
        Runtime(provider="scripted", cwd=tmp_path, question_timeout=seconds)
