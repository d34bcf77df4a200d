"""The clients for asyncio: the same names, awaited."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, assert_type

import pytest

from linnet.client import (
    AgentGone,
    AsyncPiClient,
    AsyncPiLegacyClient,
    AsyncZotClient,
    Refused,
    RunFailed,
    TimedOut,
    pi,
    zot,
)
from linnet.testing.model_server import ModelServer

Fake = Callable[[str], list[str]]
SOON = 20.0


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 60))


def test_a_prompt_is_iterated_over_up_to_its_end(work: Path, flags: list[str]) -> None:
    async def main() -> None:
        async with AsyncZotClient(args=flags, cwd=work, token="secret") as agent:
            events = [event async for event in agent.prompt("hi")]
            assert isinstance(events[-1], zot.Done)
            assert await agent.prompt("hi").text() == "Hello from the scripted model."
            assert assert_type(await agent.get_state(), zot.StateData).message_count == 4
            await agent.prompt("hi").wait()
            assert await agent.compact() == "SUMMARY: scripted"
            with pytest.raises(Refused):
                await agent.prompt(" ").accepted()
            with pytest.raises(Refused):
                await agent.prompt(" ").text()
            with pytest.raises(RunFailed):
                await agent.prompt("!fail 401 9").text()
        assert agent.exit_code == 0

    run(main())


def test_retries_are_part_of_the_run(work: Path, flags: list[str]) -> None:
    async def main() -> None:
        async with AsyncPiClient(args=[*flags, "--no-session", "--retry-delay", "0.05"], cwd=work) as agent:
            seen = [type(event).__name__ async for event in agent.prompt("!fail 529 2")]
            assert seen.count("AgentEnd") == 3
            await agent.steer("hi")
            await agent.wait_idle(timeout=SOON)
            assert await agent.get_last_assistant_text() == "Hello from the scripted model."
            agent.answer_ui("nobody", "asked")

    run(main())


def test_the_earlier_protocol(work: Path, flags: list[str]) -> None:
    async def main() -> None:
        async with AsyncPiLegacyClient(args=flags, cwd=work) as agent:
            assert await agent.prompt("hi").text() == "Hello from the scripted model."
            async for event in agent.prompt("!gate never"):
                if isinstance(event, pi.MessageUpdate):
                    agent.abort()
            assert [event async for event in agent.compact()]

    run(main())


def test_calls_of_many_tasks_are_answered_to_each(work: Path, flags: list[str]) -> None:
    async def main() -> None:
        async with AsyncZotClient(args=flags, cwd=work) as agent:
            texts = await asyncio.gather(*(agent.prompt(f"!text {count}").text() for count in range(1, 9)))
            assert [text.count("w") for text in texts] == list(range(1, 9))
            states = await asyncio.gather(*(agent.get_state() for _ in range(50)))
            assert {state.message_count for state in states} == {16}

    run(main())


def test_a_call_that_is_cancelled_leaves_the_client_usable(fake: Fake) -> None:
    async def main() -> None:
        command = fake("slow = hear(); say('got'); fast = hear(); answer(slow, s=1); answer(fast, f=1); hear()")
        async with AsyncZotClient(command) as agent:
            listening = agent.events()
            task = asyncio.create_task(agent.ask("slow"))
            await listening.next(timeout=SOON)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await agent.ask("fast", timeout=SOON) == {"f": 1}
            with pytest.raises(TimedOut):
                await listening.next(timeout=0.01)

    run(main())


def test_a_run_that_is_cancelled_goes_on_without_us(work: Path, flags: list[str], server: ModelServer) -> None:
    async def main() -> None:
        async with AsyncZotClient(args=flags, cwd=work) as agent:
            task = asyncio.create_task(agent.prompt("!gate door").text())
            await asyncio.to_thread(server.wait_for, requests=1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with pytest.raises(TimedOut):
                await agent.wait_idle(timeout=0.01)
            server.release("door")
            await agent.wait_idle(timeout=SOON)
            assert (await agent.get_state()).message_count == 2

    run(main())


def test_deadlines_pass(fake: Fake) -> None:
    async def main() -> None:
        async with AsyncZotClient(fake("answer(hear())\ntime.sleep(3600)"), patience=0.01) as agent:
            with pytest.raises(TimedOut, match="prompt"):
                await agent.prompt("hi", timeout=0.1).wait()
            with pytest.raises(TimedOut, match="ping"):
                await agent.ping(timeout=0.01)

    run(main())


def test_an_agent_that_dies_fails_everything_that_waits(fake: Fake) -> None:
    async def main() -> None:
        async with AsyncPiClient(fake("hear(); hear(); os.write(2, b'bye'); os._exit(7)")) as agent:
            listening = agent.events()
            waits = [agent.get_state(), agent.get_tree(), agent.wait_idle(), listening.next(), agent.prompt("x").wait()]
            for failure in await asyncio.gather(*waits, return_exceptions=True):
                if failure is not None:
                    assert isinstance(failure, AgentGone)
                    assert (failure.exit_code, failure.stderr_tail) == (7, "bye")
            with pytest.raises(AgentGone):
                await agent.abort()

    run(main())


def test_a_flood_is_taken_whole(fake: Fake) -> None:
    async def main() -> None:
        body = "answer(hear())\nfor n in range(20_000): say('text_delta', delta=str(n))\nsay('done')\nhear()"
        async with AsyncZotClient(fake(body), room=10_000) as agent:
            deltas = [e.delta async for e in agent.prompt("hi") if isinstance(e, zot.TextDelta)]
            assert deltas == [str(number) for number in range(20_000)]

    run(main())


def test_a_prompt_needs_a_loop(fake: Fake) -> None:
    agent = AsyncZotClient(fake("hear()"))
    with pytest.raises(RuntimeError, match="no running event loop"):
        agent.prompt("hi")
    asyncio.run(agent.close())
