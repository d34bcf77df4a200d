"""The loop that serves all connections looks at a client once, however much has happened to it."""

import socket
from contextlib import suppress
from typing import cast

from linnet.serve.agents.host import Host
from linnet.serve.unix.client import Client
from linnet.serve.unix.loop import Loop


class Looked(Client):
    """One that counts how often it is looked at, and is poked again the first time."""

    looks = 0

    def write(self) -> None:
        self.looks += 1
        if self.looks == 1:
            self._loop.poke(self)
            self._loop.after_turn(self._loop.stop)


def test_a_client_that_is_poked_many_times_is_looked_at_once_and_again_if_it_is_poked_meanwhile() -> None:
    host = cast("Host", None)  # Nobody asks for an agent.
    loop = Loop(host, None)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        client = Looked(ours, loop, host)
        client.connection = None
        for _ in range(1000):
            loop.poke(client)
        loop.run()
        assert client.looks == 2
    loop.close()


def test_a_list_of_agents_that_is_not_read_holds_up_the_questions_for_others() -> None:
    class Listing:
        asked = 0

        def summaries(self) -> list[object]:
            self.asked += 1
            return ["a" * 1_000_000]  # More than fits into the socket.

    host = Listing()
    loop = Loop(cast("Host", host), None)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        client = Client(ours, loop, cast("Host", host))
        theirs.sendall(b'{"type":"agents"}\n' * 100)
        for _ in range(100):
            client.read()
            client.write()
        assert host.asked <= 2  # One is being sent, one waits.
        theirs.setblocking(False)
        answers = 0
        while answers < 100:
            with suppress(BlockingIOError):
                answers += theirs.recv(1 << 20).count(b"\n")
            client.write()
        assert host.asked == 100
        client.close()
    loop.close()
