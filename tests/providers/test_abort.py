"""An abort is felt at once, wherever the request happens to be blocked, and leaves nothing behind."""

import socket
import threading
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.errors import Cancelled
from linnet.testing.model_server import ModelServer
from tests.suite.hosts import deaf_host, mute_host

if TYPE_CHECKING:
    from tests.providers.conftest import Asking, Conversation, Talk

AT_ONCE = 5.0  # Typically under a millisecond. What nobody interrupts would take far longer, on any machine.


def dialling() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "linnet-dial"]


def aborted(asking: "Asking") -> None:
    before = monotonic()
    heard = asking.abort()
    assert monotonic() - before < AT_ONCE
    assert isinstance(heard.error, Cancelled)


def test_while_waiting_for_the_head(conversation: "Conversation", server: ModelServer) -> None:
    asking = conversation.start("!hanghead")
    server.wait_for(requests=1)
    aborted(asking)
    server.wait_for(disconnects=1)


def test_between_two_deltas(conversation: "Conversation", server: ModelServer) -> None:
    asking = conversation.start("!gate never")
    asking.begun.wait(10)
    aborted(asking)
    server.wait_for(disconnects=1)


def test_after_the_head_and_before_the_first_word(talk: "Talk", server: ModelServer) -> None:
    asking = talk().start("!hang")
    asking.begun.wait(10)
    aborted(asking)
    server.wait_for(disconnects=1)


def test_amid_a_flood(conversation: "Conversation", server: ModelServer) -> None:
    asking = conversation.start("!text 3000000")
    asking.begun.wait(10)
    aborted(asking)
    server.wait_for(disconnects=1)


def test_while_sending_a_request_that_nobody_reads(talk: "Talk") -> None:
    with mute_host() as (listener, port):
        asking = talk(url=f"http://127.0.0.1:{port}").start("x" * 20_000_000)
        connection, _ = listener.accept()
        with connection:
            connection.recv(1)
            aborted(asking)


def test_while_connecting(talk: "Talk") -> None:
    with deaf_host() as port:
        asking = talk(url=f"http://127.0.0.1:{port}").start("hi")
        while not dialling():
            pass
        aborted(asking)
        for thread in dialling():
            thread.join(10)  # It was told, too; it does not wait for its own timeout.
        assert not dialling()


def test_while_agreeing_on_tls(talk: "Talk") -> None:
    with mute_host() as (listener, port):
        asking = talk(url=f"https://127.0.0.1:{port}").start("hi")
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(1)  # The handshake has begun.
            aborted(asking)
            while connection.recv(65536):
                pass  # Ends only because the other side let go of its socket.


def test_while_looking_up_a_name(talk: "Talk", monkeypatch: pytest.MonkeyPatch) -> None:
    looking, answer = threading.Event(), threading.Event()

    def lookup(*_: object, **__: object) -> list[object]:
        looking.set()
        answer.wait(10)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 9))]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    asking = talk(url="http://model.test").start("hi")
    looking.wait(10)
    aborted(asking)
    answer.set()
    for thread in dialling():
        thread.join(10)
    assert not dialling()


def test_while_waiting_to_try_again(talk: "Talk", server: ModelServer) -> None:
    asking = talk(attempts=2).start("!fail 529 9 30")
    server.wait_for(requests=1)
    aborted(asking)
    assert len(server.requests) == 1


def test_before_it_began(conversation: "Conversation", server: ModelServer) -> None:
    cancel = CancelToken()
    cancel.set()
    with pytest.raises(Cancelled):
        list(conversation.provider.stream(conversation.request("hi"), cancel))
    assert not server.requests


def test_a_reply_that_is_dropped_closes_its_connection(conversation: "Conversation", server: ModelServer) -> None:
    stream = conversation.provider.stream(conversation.request("!gate never"), CancelToken())
    next(iter(stream))
    del stream
    server.wait_for(disconnects=1)


def test_the_next_request_after_an_abort_works(conversation: "Conversation", server: ModelServer) -> None:
    asking = conversation.start("!gate never")
    asking.begun.wait(10)
    aborted(asking)
    assert conversation.ask("hi").stop == "end"
