"""The loop that serves all connections looks at a client once, however much has happened to it."""

import socket
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
