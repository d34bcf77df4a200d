"""Agents that are opened by requests with a name: one that is sent again opens no second one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from linnet.serve.http.bodies import AgentOpened
from linnet.serve.http.replies import Problem

MOST: Final = 1000


def reused() -> Problem:
    """Return why a request with the name of another one is refused."""
    return Problem(409, "reused", "Another agent was asked for with this Idempotency-Key.")


class Openings:
    """The answers to the last requests that had a name, and those that are under way. Used by the loop only. What comes
    later, or after a restart, the host finds by what is written down with the agent.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, asyncio.Future[AgentOpened]]] = {}

    async def once(self, key: str, digest: str, open: Callable[[], Awaitable[AgentOpened]]) -> AgentOpened:
        """Open an agent, unless a request of this name has: then wait for what came of that. One that failed is
        forgotten. Raises Problem if the request of this name said something else, and whatever `open` raises.
        """
        if not key:
            return await open()
        if key in self._known:
            said, opening = self._known[key]
            if said != digest:
                raise reused()
        else:
            opening = asyncio.ensure_future(open())
            self._known[key] = digest, opening
            opening.add_done_callback(lambda done: self._forget_failed(key, done))
            while len(self._known) > MOST:
                del self._known[next(iter(self._known))]
        return await asyncio.shield(opening)  # Another request may wait for it when this one's client goes.

    def _forget_failed(self, key: str, done: "asyncio.Future[AgentOpened]") -> None:
        if done.cancelled() or done.exception() is not None:
            self._known.pop(key, None)
