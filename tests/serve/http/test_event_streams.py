"""Streams take turns, so that a loop with very many of them still has time for everything else."""

import asyncio

from linnet.serve.http.event_streams import Turns, Wakeup


def test_only_so_many_go_on_before_the_loop_sees_to_other_things() -> None:
    async def story() -> list[str]:
        turns, order = Turns(3), []

        async def stream(name: str) -> None:
            await turns.take()
            order.append(name)

        async def others() -> None:
            for _ in range(3):
                order.append("other")
                await asyncio.sleep(0)

        await asyncio.gather(*(stream(f"{number}") for number in range(8)), others())
        await stream("later")
        return order

    order = asyncio.run(story())

    assert [name for name in order if name != "other"] == [*map(str, range(8)), "later"]
    assert order.index("other") == 3
    longest = max(len(run.split()) for run in " ".join(order[:-1]).split("other"))
    assert longest <= 3


def test_who_waited_for_a_turn_and_is_gone_takes_nobodys_place() -> None:
    async def story() -> list[int]:
        turns, order = Turns(1), []

        async def stream(number: int) -> None:
            await turns.take()
            order.append(number)

        tasks = [asyncio.ensure_future(stream(number)) for number in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return order

    assert asyncio.run(story()) == [0, 3]


def test_a_wake_that_comes_before_the_look_is_not_lost_and_many_are_one() -> None:
    async def story() -> list[bool]:
        wakeup = Wakeup()
        for _ in range(3):
            wakeup()
        seen = [await wakeup.wait(60)]
        wakeup.clear()
        seen.append(await wakeup.wait(0.001))
        await asyncio.to_thread(wakeup)
        return [*seen, await wakeup.wait(60)]

    assert asyncio.run(story()) == [True, False, True]
