"""Whoever leaves a run, however that is done, leaves the runtime idle."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from linnet import AsyncRuntime, BadInput, Busy, Runtime, events
from linnet.testing.model_server import ModelServer

ENDLESS = "!gate never"
IN_BASH = '!tool bash {"command":"echo up; sleep 61.7"}'
Leave = Callable[[AsyncRuntime, str], Awaitable[None]]


def open_runtime(server: ModelServer, cwd: Path) -> AsyncRuntime:
    return AsyncRuntime(provider="anthropic", base_url=server.url, api_key="x", cwd=cwd)


async def by_timeout(runtime: AsyncRuntime, prompt: str) -> None:
    async def consume() -> None:
        async with asyncio.timeout(None) as limit:
            async for event in runtime.prompt(prompt):
                if begun(event):
                    limit.reschedule(asyncio.get_running_loop().time())

    with pytest.raises(TimeoutError):
        await consume()


async def by_timeout_of_a_held_run(runtime: AsyncRuntime, prompt: str) -> None:
    async def consume() -> None:
        async with asyncio.timeout(None) as limit, runtime.prompt(prompt) as run:
            async for event in run:
                if begun(event):
                    limit.reschedule(asyncio.get_running_loop().time())
                    await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await consume()


async def by_cancelling(runtime: AsyncRuntime, prompt: str) -> None:
    started = asyncio.Event()

    async def consume() -> None:
        async for event in runtime.prompt(prompt):
            if begun(event):
                started.set()

    task = asyncio.create_task(consume())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def by_cancelling_at_work(runtime: AsyncRuntime, prompt: str) -> None:
    """The task is not waiting for an event, but for something of its own."""
    started = asyncio.Event()

    async def consume() -> None:
        async for event in runtime.prompt(prompt):
            if begun(event):
                started.set()
                await asyncio.Event().wait()

    task = asyncio.create_task(consume())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def by_cancelling_run(runtime: AsyncRuntime, prompt: str) -> None:
    task = asyncio.create_task(runtime.run(prompt))
    while not (await runtime.state()).streaming:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def by_cancelling_at_once(runtime: AsyncRuntime, prompt: str) -> None:
    """Before a thread has had the time to begin."""
    task = asyncio.create_task(runtime.run(prompt))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def by_break(runtime: AsyncRuntime, prompt: str) -> None:
    async for event in runtime.prompt(prompt):
        if begun(event):
            break


async def by_letting_go(runtime: AsyncRuntime, prompt: str) -> None:
    runtime.prompt(prompt)


async def by_closing(runtime: AsyncRuntime, prompt: str) -> None:
    run = runtime.prompt(prompt)
    async for event in run:
        if begun(event):
            break
    await run.aclose()
    assert [event async for event in run] == []


async def by_an_error(runtime: AsyncRuntime, prompt: str) -> None:
    async def consume() -> None:
        async for event in runtime.prompt(prompt):
            if begun(event):
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await consume()


def begun(event: events.Event) -> bool:
    return isinstance(event, events.TextDelta | events.ToolProgress)


WAYS: list[Leave] = [
    by_timeout,
    by_timeout_of_a_held_run,
    by_cancelling,
    by_cancelling_at_work,
    by_cancelling_run,
    by_cancelling_at_once,
    by_break,
    by_letting_go,
    by_closing,
    by_an_error,
]


@pytest.mark.parametrize("prompt", [ENDLESS, IN_BASH], ids=["streaming", "in bash"])
@pytest.mark.parametrize("leave", WAYS, ids=lambda way: way.__name__)
def test_the_next_prompt_begins(server: ModelServer, tmp_path: Path, leave: Leave, prompt: str) -> None:
    async def main() -> None:
        async with open_runtime(server, tmp_path) as runtime:
            for _ in range(5):
                await leave(runtime, prompt)
                result = await runtime.run("hi")
                assert (result.stop, result.text) == ("end_turn", "Hello from the scripted model.")

    asyncio.run(main())


@pytest.mark.parametrize("leave", WAYS, ids=lambda way: way.__name__)
def test_nothing_runs_any_more(server: ModelServer, tmp_path: Path, leave: Leave) -> None:
    async def main() -> None:
        async with open_runtime(server, tmp_path) as runtime:
            await leave(runtime, ENDLESS)
            assert not (await runtime.state()).busy

    asyncio.run(main())


def test_who_still_holds_the_run_still_has_it(server: ModelServer, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_runtime(server, tmp_path) as runtime:
            run = runtime.prompt("!gate open")
            async for event in run:
                if begun(event):
                    break
            with pytest.raises(Busy):
                await runtime.run("hi")
            server.release("open")
            assert [event.type async for event in run][-1] == "done"
            assert run.result.stop == "end_turn"

    asyncio.run(main())


def test_an_abort_reaches_a_run_that_waits_for_one_that_was_left(server: ModelServer, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_runtime(server, tmp_path) as runtime:
            for _ in range(10):
                await by_break(runtime, IN_BASH)
                run = runtime.prompt(ENDLESS)
                await runtime.abort()
                assert [event async for event in run][-1] == events.Done()
                assert (run.result.stop, run.result.code) == ("aborted", "aborted")

    asyncio.run(main())


def test_cancelling_a_command_kills_it(server: ModelServer, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_runtime(server, tmp_path) as runtime:
            task = asyncio.create_task(runtime.bash("echo $$ > pid; sleep 61.8"))
            while not (tmp_path / "pid").exists():
                await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            ran = await runtime.bash("while kill -0 $(cat pid); do :; done 2>/dev/null; echo gone")
            assert ran.output == "gone\n"

    asyncio.run(main())


def test_a_loop_that_ends_takes_its_runs_along(server: ModelServer, tmp_path: Path) -> None:
    runtimes: list[AsyncRuntime] = []

    async def main() -> None:
        runtime = open_runtime(server, tmp_path)
        runtimes.append(runtime)
        run = runtime.prompt(ENDLESS)
        async for event in run:
            if begun(event):
                return

    asyncio.run(main())
    server.wait_for(disconnects=1)
    asyncio.run(runtimes[0].close())


def test_nothing_waits_for_the_session_in_the_loop(server: ModelServer, tmp_path: Path) -> None:
    """Whatever is asked while another thread holds the session's lock, the loop goes on."""

    async def main() -> None:
        async with open_runtime(server, tmp_path) as runtime:
            held, release = threading.Event(), threading.Event()

            def hold() -> None:
                with runtime._waits.session._broadcast.lock:
                    held.set()
                    release.wait()

            holder = threading.Thread(target=hold)
            holder.start()
            await asyncio.to_thread(held.wait)
            run = runtime.prompt("hi")
            asked = [
                asyncio.create_task(each)
                for each in (runtime.state(), runtime.sessions.new(), runtime.set_model("claude-opus-4-5"))
            ]
            for _ in range(100):
                await asyncio.sleep(0)
            assert runtime.sessions.id
            assert not any(task.done() for task in asked)
            release.set()
            await asyncio.gather(*asked)
            assert [event async for event in run][-1] == events.Done()
            holder.join()

    asyncio.run(main())


def test_in_a_program_of_one_thread_a_break_is_enough(server: ModelServer, tmp_path: Path) -> None:
    with Runtime(provider="anthropic", base_url=server.url, api_key="x", cwd=tmp_path) as runtime:
        for _ in range(5):
            for event in runtime.prompt(ENDLESS):
                if begun(event):
                    break
            assert not runtime.state().busy
            with runtime.prompt(ENDLESS) as run:
                next(run)
                with pytest.raises(BadInput, match="has not ended"):
                    _ = run.result
            assert runtime.run("hi").stop == "end_turn"
