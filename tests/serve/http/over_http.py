"""Plain HTTP for tests: requests, and streams of events that can be left at any line."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, Literal, NamedTuple

from linnet.serve.agents.host import Host
from linnet.serve.http.http_server import HttpServer

SECONDS = 60  # Nothing is timed: a server that hangs fails the test.


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The code of an error."""
        assert self.json.keys() == {"error"}
        assert self.json["error"].keys() == {"code", "message"}
        return str(self.json["error"]["code"])


class Event(NamedTuple):
    """A message of a stream."""

    id: int | None
    name: str
    data: Any


class Stream:
    """A stream of events, read message by message. `raw` is everything so far."""

    def __init__(self, response: HTTPResponse) -> None:
        self.response = response
        self.raw = bytearray()

    def __iter__(self) -> Iterator[Event]:
        fields: dict[str, str] = {}
        while line := self.response.readline():
            self.raw += line
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if line != b"\n":
                fields[name] = value
                continue
            if "data" in fields:
                number = int(fields["id"]) if "id" in fields else None
                yield Event(number, fields.get("event", "message"), json.loads(fields["data"]))
            fields = {}

    def until(self, type: str) -> list[Event]:
        """Return the messages up to the first of this type."""
        seen = []
        for event in self:
            seen.append(event)
            if event.data.get("type") == type:
                return seen
        raise AssertionError(f"the stream ended before {type}: {seen}")


class Client:
    """Sends requests, each on a connection of its own, with the headers that it was made with."""

    def __init__(self, port: int, headers: Mapping[str, str] | None = None) -> None:
        self.port = port
        self.headers = {} if headers is None else headers

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method, path, sent, {**self.headers, **(headers or {})})
            response = connection.getresponse()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, None, headers)

    def post(self, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
        return self.ask("POST", path, body, headers)

    def open(self, cwd: Path, **more: Any) -> str:
        """Open an agent, and return its id."""
        reply = self.post("/v1/agents", {"cwd": str(cwd), **more})
        assert reply.status == 201, reply.body
        return str(reply.json["agent"]["id"])

    def command(self, agent: str, type: str, headers: Mapping[str, str] | None = None, **fields: Any) -> Reply:
        return self.post(f"/v1/agents/{agent}/commands", {"type": type, **fields}, headers)

    @contextmanager
    def stream(self, path: str, **headers: str) -> Iterator[Stream]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            spelled = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request("GET", path, None, {**self.headers, **spelled})
            response = connection.getresponse()
            assert response.status == 200, response.read()
            assert response.headers["content-type"].startswith("text/event-stream")
            yield Stream(response)
        finally:
            connection.close()


class Served(NamedTuple):
    """A server that runs, its state folder, and the folder that its agents work in."""

    host: Host
    server: HttpServer
    state: Path
    work: Path

    def token(self, role: str) -> str:
        return (self.state / f"{role}.token").read_text().strip()

    def client(self, role: Literal["drive", "watch", "nobody"]) -> Client:
        if role == "nobody":
            return Client(self.server.port)
        return Client(self.server.port, {"Authorization": f"Bearer {self.token(role)}"})
