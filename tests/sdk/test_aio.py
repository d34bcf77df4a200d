"""The runtime in one's own event loop."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from linnet import AsyncRuntime, Busy, frames
from linnet.testing.model_server import ModelServer


def open_runtime(server: ModelServer, cwd: Path, **options: Any) -> AsyncRuntime:
    return AsyncRuntime(provider="anthropic", base_url=server.url, api_key="x", cwd=str(cwd), **options)


def test_the_same_names_awaited(server: ModelServer, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_runtime(server, tmp_path) as runtime:
            events = [event async for event in runtime.prompt("hi")]
            assert [event.type for event in events][-2:] == ["turn_end", "done"]
            assert (await runtime.state()).message_count == 2
            assert len(await runtime.messages()) == 2
            assert (await runtime.cost()).input > 0
            assert await runtime.list_models()
            await runtime.set_model("claude-opus-4-5")
            for _ in range(2):
                async for _ in runtime.prompt("hi"):
                    pass
            assert await runtime.compact() == "SUMMARY: scripted"
            await runtime.clear()
            assert await runtime.messages() == []

    asyncio.run(main())


def test_two_runtimes_interleave_in_one_loop(server: ModelServer, tmp_path: Path) -> None:
    async def run(name: str) -> list[str]:
        (tmp_path / name).mkdir()
        async with open_runtime(server, tmp_path / name) as runtime:
            return [event.type async for event in runtime.prompt("!text 5000")]

    async def main() -> None:
        a, b = await asyncio.gather(run("a"), run("b"))
        assert a == b
        assert a.count("text_delta") == 5000

    asyncio.run(main())


def test_abort_and_busy(server: ModelServer, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_runtime(server, tmp_path) as runtime:
            events = []
            async for event in runtime.prompt("!gate never"):
                events.append(event)
                if isinstance(event, frames.TextDelta):
                    with pytest.raises(Busy):
                        runtime.prompt("hi")
                    await runtime.abort()
            assert events[-2:] == [frames.TurnEnd("aborted"), frames.Done()]

    asyncio.run(main())


def test_cancelling_the_task_aborts_the_run(server: ModelServer, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_runtime(server, tmp_path) as runtime:

            async def consume(started: asyncio.Event) -> None:
                async for event in runtime.prompt("!gate never"):
                    if isinstance(event, frames.TextDelta):
                        started.set()

            started = asyncio.Event()
            task = asyncio.create_task(consume(started))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(server.wait_for, disconnects=1)

    asyncio.run(main())


def test_closing_a_run_early_waits_for_its_end(server: ModelServer, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_runtime(server, tmp_path) as runtime:
            run = runtime.prompt("!gate never")
            async for event in run:
                if isinstance(event, frames.TextDelta):
                    break
            await run.aclose()
            assert not (await runtime.state()).busy

    asyncio.run(main())
