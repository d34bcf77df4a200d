"""Tools and permissions of one's own, in one's own process."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet import AsyncRuntime, ConfigError, Context, Runtime, questions, tool

Script = Callable[..., str]


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

    with pytest.raises(ConfigError, match='"read" is there twice: from linnet itself and from a function'):
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
