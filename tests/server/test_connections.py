"""Many clients in one process: each with its own sessions and folder, and none in the way of another."""

import json
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from linnet.concurrency.cancel import CancelToken
from linnet.core.events import Event, SessionFailed
from linnet.core.questions import Confirm, Reply
from linnet.errors import BadInput, Closed
from linnet.runtime.config.config import PI, ZOT, Config
from linnet.runtime.listener import Listener
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.session_factory import SessionFactory
from linnet.server.connection import Connection
from linnet.server.serve import Server
from linnet.server.stdio import Stdio
from linnet.wire.dialect import Asked, Buffers, Dialect, Encoder, Rejected
from linnet.wire.jsonl import Overlong
from linnet.wire.pi.dialect import Pi
from linnet.wire.zot.dialect import Zot

SAYS_WHERE = {"turns": [[{"call": "bash", "args": {"command": "pwd"}}], [{"text": "there"}]]}


class Client:
    """The other end of a connection. `exit` is for the server's side to close."""

    def __init__(self) -> None:
        source, writing = os.pipe()
        reading, sink = os.pipe()
        self.server_side = Stdio(source, sink)
        self._writing: int | None = writing
        self._reading = open(reading, "rb")  # noqa: SIM115 (closed by `close`)

    def send(self, **command: Any) -> None:
        assert self._writing is not None
        os.write(self._writing, json.dumps(command).encode() + b"\n")

    def until(self, type: str) -> list[dict[str, Any]]:
        frames = []
        for line in self._reading:
            frames.append(json.loads(line))
            if frames[-1]["type"] == type:
                return frames
        raise AssertionError(f"no {type} in {frames}")

    def end(self) -> list[dict[str, Any]]:
        """End the input, and return the rest."""
        self.end_input()
        return [json.loads(line) for line in self._reading]

    def end_input(self) -> None:
        if self._writing is not None:
            os.close(self._writing)
            self._writing = None

    def close(self) -> None:
        self.end_input()
        self._reading.close()


class Served:
    """A server in a thread. `code` is what it returned."""

    def __init__(self, home: Path) -> None:
        self.server = Server()
        self._environ = {"LINNET_HOME": str(home), "PATH": os.environ["PATH"]}
        self._thread = threading.Thread(target=self._run)
        self.clients: list[Client] = []
        self.code = -1

    def factory(self, cwd: Path, *below: Config, **asked: Any) -> SessionFactory:
        script = cwd / "script.json"
        script.write_text(json.dumps(SAYS_WHERE))
        return SessionFactory(Config(cwd=cwd, script=script, **asked), self._environ, *below)

    def connect(self, dialect: Dialect, open_session: Callable[[Listener], Session]) -> Client:
        client = Client()
        self.server.connect(dialect, client.server_side, open_session)
        self.clients.append(client)
        return client

    def zot(self, cwd: Path) -> Client:
        factory = self.factory(cwd, ZOT)
        return self.connect(Zot(show_thinking=False), lambda listener: factory.open(factory.first(), [listener]))

    def pi(self, cwd: Path) -> Client:
        factory = self.factory(cwd, PI)
        return self.connect(Pi(), lambda listener: factory.open(factory.first(), [listener]))

    def start(self) -> None:
        self._thread.start()

    def join(self) -> int:
        if self._thread.ident is not None:
            self._thread.join()
        return self.code

    def _run(self) -> None:
        self.code = self.server.run()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path / "home")
    yield made
    for client in made.clients:
        client.close()
    made.join()


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = [tmp_path / name for name in ("one", "two")]
    for folder in made:
        folder.mkdir()
    return made


class Naming(Zot):
    """zot's protocol, in which every line says which session it is about."""

    def decode(self, line: bytes | Overlong) -> Asked | Rejected:
        asked = super().decode(line)
        assert isinstance(line, bytes)
        return replace(asked, session=json.loads(line).get("session", "")) if isinstance(asked, Asked) else asked

    def encoder(self, session: str = "") -> Encoder:
        return NamingEncoder(super().encoder(session), session)


class NamingEncoder:
    def __init__(self, inner: Encoder, session: str) -> None:
        self._inner = inner
        self._session = session

    def encode(self, events: Sequence[Event]) -> Iterable[Buffers]:
        for buffers in self._inner.encode(events):
            for line in b"".join(buffers).splitlines():
                yield [json.dumps({**json.loads(line), "session": self._session}).encode() + b"\n"]

    def skip(self, events: Iterable[Event]) -> None:
        self._inner.skip(events)


def where(frames: list[dict[str, Any]]) -> str:
    """What `pwd` printed."""
    [result] = [frame for frame in frames if frame["type"] == "tool_result"]
    return str(result["content"][0]["text"]).splitlines()[2]


def test_each_client_is_served_in_its_own_folder_and_protocol(served: Served, folders: list[Path]) -> None:
    one, two = served.zot(folders[0]), served.pi(folders[1])
    served.start()
    one.send(type="prompt", message="where?")
    two.send(type="prompt", message="where?")
    assert where(one.until("done")) == str(folders[0])
    ended = two.until("agent_end")[-1]
    [result] = [each for each in ended["messages"] if each["role"] == "toolResult"]
    assert result["content"][0]["text"].strip() == str(folders[1])
    assert one.end() == two.end() == []
    assert served.join() == 0


def test_the_end_of_one_client_ends_its_sessions_and_no_other(served: Served, folders: list[Path]) -> None:
    one, two = (served.zot(folder) for folder in folders)
    served.start()
    one.send(type="ping", id="1")
    one.until("response")
    one.close()
    two.send(type="prompt", message="where?")
    assert where(two.until("done")) == str(folders[1])
    two.end()
    assert served.join() == 0


def test_a_client_may_come_while_others_are_served(served: Served, folders: list[Path]) -> None:
    one = served.zot(folders[0])
    served.start()
    one.send(type="ping", id="1")
    one.until("response")
    two = served.zot(folders[1])
    two.send(type="prompt", message="where?")
    assert where(two.until("done")) == str(folders[1])


def test_a_client_may_come_at_the_moment_at_which_another_goes(
    served: Served, folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may get the number of the other's descriptor, which is free from then on."""
    one, two = served.zot(folders[0]), Client()
    number, close = one.server_side.source, os.close
    served.clients.append(two)

    def closed(fd: int) -> None:
        close(fd)
        if fd == number and two.server_side.source != number:
            os.dup2(two.server_side.source, number)
            close(two.server_side.source)
            two.server_side = Stdio(number, two.server_side.sink)
            factory = served.factory(folders[1], ZOT)
            served.server.connect(Zot(), two.server_side, lambda listener: factory.open(factory.first(), [listener]))

    two.send(type="ping", id="1")
    two.end_input()
    monkeypatch.setattr(os, "close", closed)
    served.start()
    assert one.end() == []
    assert served.join() == 0
    os.set_blocking(two._reading.fileno(), False)  # If nothing was said, nobody ever will.
    assert b'"success":true' in (two._reading.read() or b"")


def test_a_client_that_does_not_read_is_in_nobodys_way(served: Served, folders: list[Path]) -> None:
    one, two = (served.zot(folder) for folder in folders)
    served.start()
    for number in range(2_000):  # More answers than the pipe holds.
        one.send(type="ping", id=str(number))
    two.send(type="prompt", message="where?")
    assert where(two.until("done")) == str(folders[1])
    assert len(one.end()) == 2_000


def outlets() -> int:
    return sum(each.name == "linnet-outlet" for each in threading.enumerate())


def test_clients_that_come_and_go_leave_nothing_behind(served: Served, folders: list[Path]) -> None:
    others = outlets()  # Of tests before this one.
    stays = served.zot(folders[0])
    served.start()
    descriptors: list[int] = []
    for _ in range(40):
        client = served.zot(folders[1])
        client.send(type="prompt", message="where?")
        client.until("done")
        client.end()
        client.close()
        stays.send(type="ping", id="1")  # Whoever is answered was served after the end of the other.
        stays.until("response")
        descriptors.append(len(os.listdir("/proc/self/fd")))
        assert outlets() <= others + 1
    # What is left behind stays: a file that a thread is just reading does not.
    assert min(descriptors[-10:]) <= max(descriptors[:10])


def test_one_client_drives_sessions_in_several_folders_at_once(served: Served, folders: list[Path]) -> None:
    factory = served.factory(folders[0], ZOT)
    client = Client()
    served.clients.append(client)
    connection = served.server.connect(
        Naming(), client.server_side, lambda listener: factory.open(factory.first(), [listener])
    )
    other = factory.new(Config(cwd=folders[1]))
    connection.open(lambda listener: factory.open(other, [listener]), "other")
    served.start()
    client.send(type="prompt", message="where?")
    client.send(type="prompt", message="where?", session="other")
    frames = client.until("done")
    frames += client.until("done")
    told = {name: [frame for frame in frames if frame.get("session") == name] for name in ("", "other")}
    assert [where(told[name]) for name in ("", "other")] == list(map(str, folders))

    connection.release("other")
    client.send(type="ping", id="2", session="other")
    client.send(type="ping", id="3")
    refused, answered = client.until("response")[-1], client.until("response")[-1]
    assert (refused["id"], refused["success"]) == ("2", False)
    assert "'other'" in refused["error"]
    assert (answered["id"], answered["success"]) == ("3", True)


def test_a_session_of_another_connection_is_not_reached(served: Served, folders: list[Path]) -> None:
    one = served.pi(folders[0])
    served.start()
    one.send(type="get_state", id="1")
    [state] = one.until("response")
    two = served.pi(folders[1])
    two.send(type="get_state", id="1")
    [other] = two.until("response")
    assert state["data"]["sessionId"] != other["data"]["sessionId"]
    assert state["data"]["sessionFile"] != other["data"]["sessionFile"]


class Late(Session):
    """A session with something to tell as it is closed: more than a pipe holds."""

    listener: Listener

    def close(self, timeout: float = 0.5) -> None:
        self.listener.hear([SessionFailed("x" * 200_000, "late")] * 2)
        super().close(timeout)


def test_what_a_session_tells_as_it_is_closed_is_told_whole(served: Served, folders: list[Path]) -> None:
    settings = served.factory(folders[0], ZOT).first()

    def open_session(listener: Listener) -> Session:
        session = Late(Resources(settings), [listener])
        session.listener = listener
        return session

    client = served.connect(Zot(), open_session)
    served.start()
    frames = client.end()
    assert [(frame["type"], len(frame["session_file"])) for frame in frames] == [("session_error", 200_000)] * 2


def test_a_client_that_goes_away_without_having_read_its_answers_takes_nobody_along(
    served: Served, folders: list[Path]
) -> None:
    factory = served.factory(folders[0], ZOT)
    ours, theirs = socket.socketpair()
    ours.sendall(b"never read")
    theirs.close()  # From here on to read from the other end is an error.
    stdio = Stdio(ours.fileno(), ours.detach())
    served.server.connect(Zot(show_thinking=False), stdio, lambda each: factory.open(factory.first(), [each]))
    stays = served.zot(folders[1])
    served.start()
    stays.send(type="ping", id="1")
    assert stays.until("response")[-1]["id"] == "1"
    stays.end()
    assert served.join() == 0


def test_what_cannot_be_made_ready_for_one_client_is_made_ready_for_others(
    served: Served, folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    warmed: list[Connection] = []
    ready = threading.Event()

    def warm(connection: Connection) -> None:
        warmed.append(connection)
        if len(warmed) == 1:
            raise OSError("no")
        ready.set()

    monkeypatch.setattr(Connection, "warm", warm)
    for folder in folders:
        served.zot(folder)
    served.start()
    ready.wait()
    assert len(warmed) == 2


@pytest.fixture
def connection(served: Served) -> Iterator[Connection]:
    """One that nobody serves."""
    client = Client()
    yield Connection(Naming(), client.server_side, lambda: None)
    client.close()


def test_a_session_that_is_opened_as_its_connection_ends_is_closed(
    served: Served, folders: list[Path], connection: Connection
) -> None:
    factory = served.factory(folders[0], ZOT)
    made: list[Session] = []

    def open_session(listener: Listener) -> Session:
        made.append(factory.open(factory.first(), [listener]))
        connection.close(0)  # By the thread that serves it.
        return made[0]

    with pytest.raises(Closed):
        connection.open(open_session)
    assert made[0].jobs.closed


def test_a_name_is_that_of_one_session_at_a_time(served: Served, folders: list[Path], connection: Connection) -> None:
    factory = served.factory(folders[0], ZOT)
    made: list[Session] = []

    def open_session(listener: Listener) -> Session:
        made.append(factory.open(factory.first(), [listener]))
        return made[-1]

    connection.open(open_session, "mine")
    with pytest.raises(BadInput, match="'mine'"):
        connection.open(open_session, "mine")
    assert [each.jobs.closed for each in made] == [False, True]
    connection.release("mine")
    connection.open(open_session, "mine")
    connection.close(0)
    assert [each.jobs.closed for each in made] == [True, True, True]


class Vanishing(dict[str, Session]):
    """Sessions of which the last is released as soon as somebody has seen that there is one."""

    def __len__(self) -> int:
        size = super().__len__()
        self.clear()
        return size


def test_a_line_that_makes_no_sense_is_answered_also_if_the_last_session_is_released_meanwhile(
    served: Served, folders: list[Path]
) -> None:
    client = served.zot(folders[0])
    [connection] = served.server._connections.values()
    assert isinstance(connection, Connection)
    session = connection._sessions[""]
    connection._sessions = Vanishing({"": session})
    client.send(type="no such command", id="1")
    connection.read()
    assert client.until("response")[-1]["success"] is False
    connection._sessions = {"": session}
    served.start()


def test_a_session_that_is_opened_when_the_input_has_ended_knows_that_nobody_will_answer(
    served: Served, folders: list[Path]
) -> None:
    factory = served.factory(folders[0], ZOT)
    client = Client()
    connection = Connection(Naming(), client.server_side, lambda: None)
    client.close()
    connection.read()
    session = connection.open(lambda each: factory.open(factory.first(), [each], answerable=True))
    asked: list[Reply | None] = []
    asking = threading.Thread(
        target=lambda: asked.append(session._questions.ask(Confirm("really?"), CancelToken())), daemon=True
    )
    asking.start()
    asking.join()
    connection.close(0)
    assert asked == [None]


def test_what_breaks_in_a_session_that_was_released_is_not_the_end_of_the_others(
    served: Served, folders: list[Path], connection: Connection
) -> None:
    factory = served.factory(folders[0], ZOT)
    listeners: list[Listener] = []

    def open_session(listener: Listener) -> Session:
        listeners.append(listener)
        return factory.open(factory.first(), [listener])

    for name in ("stays", "goes"):
        connection.open(open_session, name)
    connection.release("goes")
    listeners[1].broke(BadInput("its extensions could not be loaded"))  # In a thread that is late.
    assert connection.outcome(lambda: False) is None
    listeners[0].broke(BadInput("nor could these"))
    assert connection.outcome(lambda: False) == 1
