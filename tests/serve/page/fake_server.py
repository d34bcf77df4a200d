"""A server that the page can talk to: agents that do what a test says, over the HTTP of `linnet serve`.

It keeps every event with its number, replays from any of them, drops connections when it is told to, and writes down
the commands that it gets. It is not a model of the real one: agents do nothing by themselves.
"""

import json
import mimetypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import linnet.serve.page
from linnet.serve.page import CSP

FILES = Path(linnet.serve.page.__file__).parent
NOW = 1_794_823_200_000
TOKENS = {"drive-token": "drive", "watch-token": "watch"}

Json = dict[str, Any]


class FakeAgent:
    """An agent with a summary, messages, and lines of events. Changes are made through the server's methods."""

    def __init__(self, id: str, **summary: Any) -> None:
        self.id = id
        self.messages: list[Json] = []
        self.lines: list[tuple[int | None, Json]] = []  # A number stands on the last line of an event.
        self.seq = 0
        self.forgotten = 0  # Events up to this number are not kept.
        self.open: list[Json] = []
        self.state: Json = {"isStreaming": False, "isCompacting": False, "thinkingLevel": "off"}
        self.summary: Json = {
            "id": id,
            "state": "idle",
            "cwd": f"/src/{id}",
            "name": "",
            "model": "claude-sonnet-4-5",
            "provider": "anthropic",
            "dialect": "pi-1",
            "session_id": f"session-{id}",
            "session_file": None,
            "created": NOW,
            "changed": NOW,
            "since": NOW,
            "tool": None,
            "waiting": [],
            "prompts": 1,
            "tokens": {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0},
            "cost": 0,
            "last": "",
            "drivers": 0,
            "watchers": 1,
            "error": "",
            **summary,
        }

    def told(self) -> Json:
        return {**self.summary, "seq": self.seq}


class FakeServer:
    def __init__(self) -> None:
        self.agents: dict[str, FakeAgent] = {}
        self.about: Json = {"version": "0", "roots": ["/src"], "flags": ["--model"], "limits": {}}
        self.models: list[Json] = [{"id": "claude-sonnet-4-5", "provider": "anthropic", "name": "Sonnet"}]
        self.commands: list[tuple[str, Json]] = []
        self.keys: list[str] = []
        self.made: list[Json] = []
        self.closed: list[str] = []
        self.requests: list[str] = []
        self.answers: dict[str, Json] = {}  # By the type of a command: what its response has as data, or an error.
        self.refusing = 0  # So many streams are answered with 503.
        self.generation = 0  # Grows when all streams are dropped.
        self.changes: list[tuple[str, Json]] = []
        self.changed = threading.Condition()
        self.url = ""

    def add(self, id: str, **summary: Any) -> FakeAgent:
        agent = FakeAgent(id, **summary)
        with self.changed:
            self.agents[id] = agent
            self._tell(agent)
        return agent

    def remove(self, id: str) -> None:
        with self.changed:
            del self.agents[id]
            self.changes.append(("gone", {"id": id}))
            self.changed.notify_all()

    def change(self, id: str, **summary: Any) -> None:
        with self.changed:
            agent = self.agents[id]
            agent.summary.update(summary)
            self._tell(agent)

    def say(self, id: str, *lines: Json, whole: bool = True) -> None:
        """The lines of one event. Without `whole`, the last ones of it are still to come."""
        with self.changed:
            agent = self.agents[id]
            for at, line in enumerate(lines):
                last = whole and at == len(lines) - 1
                agent.seq += last
                agent.lines.append((agent.seq if last else None, line))
                if line["type"] == "message_end":
                    agent.messages.append(line["message"])
            self.changed.notify_all()

    def drop(self) -> None:
        """End all streams, as a network does."""
        with self.changed:
            self.generation += 1
            self.changed.notify_all()

    def forget(self, id: str) -> None:
        with self.changed:
            agent = self.agents[id]
            agent.forgotten = agent.seq
            agent.lines.clear()

    def snapshot(self, agent: FakeAgent, last: int | None, before: int | None) -> Json:
        total = len(agent.messages)
        end = total if before is None else min(before, total)
        first = 0 if last is None else max(0, end - last)
        return {
            "seq": agent.seq,
            "state": agent.state,
            "messages": agent.messages[first:end],
            "first": first,
            "total": total,
            "open": agent.open if end == total else [],
        }

    def _tell(self, agent: FakeAgent) -> None:
        self.changes.append(("agent", agent.told()))
        self.changed.notify_all()

    @contextmanager
    def serving(self) -> Iterator["FakeServer"]:
        fake = self

        class Bound(Handler):
            server_of_agents = fake

        class Listening(ThreadingHTTPServer):
            request_queue_size = (
                128  # A busy machine lets more than the usual five wait, and then they wait for seconds.
            )

        server = Listening(("127.0.0.1", 0), Bound)
        server.daemon_threads = True
        server.block_on_close = False
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.drop()
            server.shutdown()
            server.server_close()
            thread.join()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of_agents: FakeServer

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def handle(self) -> None:
        with suppress(ConnectionError, BrokenPipeError):
            super().handle()

    def do_GET(self) -> None:
        self.answer("GET")

    def do_POST(self) -> None:
        self.answer("POST")

    def do_DELETE(self) -> None:
        self.answer("DELETE")

    def answer(self, method: str) -> None:
        fake = self.server_of_agents
        address = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        parts = [unquote(part) for part in address.path.strip("/").split("/")]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fake.requests.append(f"{method} {self.path}")
        if parts[0] != "v1":
            self.file(address.path)
            return
        role = self.role()
        if role is None:
            self.send(401, {"error": {"code": "unauthorized", "message": "A token is needed."}})
            return
        asks = method == "GET" or parts == ["v1", "cookie"]
        if role == "watch" and not asks and not json.loads(body or b"{}").get("type", "").startswith("get_"):
            self.send(403, {"error": {"code": "forbidden", "message": "This token is for watching."}})
            return
        match [method, *parts[1:]]:
            case ["GET", "about"]:
                self.send(200, {**fake.about, "role": fake.about.get("role", role)})
            case ["POST", "cookie"]:
                self.send(204, None, {"Set-Cookie": f"linnet={self.token()}; HttpOnly; SameSite=Strict; Path=/"})
            case ["GET", "models"]:
                self.send(200, {"models": fake.models})
            case ["GET", "agents"]:
                with fake.changed:
                    self.send(200, {"agents": [agent.told() for agent in fake.agents.values()]})
            case ["POST", "agents"]:
                fake.made.append(json.loads(body))
                agent = fake.add(f"made{len(fake.made)}", cwd=fake.made[-1]["cwd"])
                self.send(201, {"agent": agent.told(), "remarks": []})
            case ["GET", "agents", "events"]:
                self.summaries()
            case ["GET", "agents", id, "events"] if id in fake.agents:
                self.events(fake.agents[id], query)
            case ["GET", "agents", id, "snapshot"] if id in fake.agents:
                last, before = (int(query[name]) if name in query else None for name in ("last", "before"))
                with fake.changed:
                    told = fake.snapshot(fake.agents[id], last, before)
                self.send(200, told)
            case ["POST", "agents", id, "commands"] if id in fake.agents:
                self.carry_out(id, json.loads(body))
            case ["DELETE", "agents", id] if id in fake.agents:
                fake.closed.append(id)
                fake.remove(id)
                self.send(204, None)
            case ["GET", "agents", id, "export"] if id in fake.agents:
                self.send(200, None)
            case _:
                self.send(404, {"error": {"code": "unknown", "message": "There is no such thing."}})

    def carry_out(self, id: str, told: Json) -> None:
        fake = self.server_of_agents
        fake.commands.append((id, told))
        fake.keys.append(self.headers.get("Idempotency-Key", ""))
        answer = fake.answers.get(told["type"], {})
        response: Json = {"type": "response", "command": told["type"], "success": "error" not in answer}
        response |= answer if "error" in answer else {"data": answer}
        self.send(200 if response["success"] else 400, response)
        if told["type"] == "extension_ui_response" and response["success"]:
            waiting = [one for one in fake.agents[id].summary["waiting"] if one["id"] != told["id"]]
            fake.change(id, waiting=waiting, state="waiting" if waiting else "working")

    def role(self) -> str | None:
        return TOKENS.get(self.token())

    def token(self) -> str:
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        cookies = dict(part.strip().partition("=")[::2] for part in self.headers.get("Cookie", "").split(";"))
        return given or cookies.get("linnet", "")

    def send(self, status: int, told: Json | None, headers: dict[str, str] | None = None) -> None:
        body = b"" if told is None else json.dumps(told).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def file(self, path: str) -> None:
        name = "index.html" if path == "/" else path.removeprefix("/page/")
        file = (FILES / name).resolve()
        if not file.is_relative_to(FILES) or not file.is_file() or file.suffix == ".py":
            self.send(404, {"error": {"code": "unknown", "message": "There is no such file."}})
            return
        body = file.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", mimetypes.guess_type(file.name)[0] or "application/octet-stream")
        self.send_header("Content-Security-Policy", CSP)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begun(self) -> bool:
        fake = self.server_of_agents
        if fake.refusing > 0:
            fake.refusing -= 1
            self.send(503, {"error": {"code": "busy", "message": "Not now."}})
            return False
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(b"retry: 100\n\n")
        return True

    def summaries(self) -> None:
        fake = self.server_of_agents
        if not self.begun():
            return
        with fake.changed:
            generation, at = fake.generation, len(fake.changes)
            told = [("agent", agent.told()) for agent in fake.agents.values()]
        while True:
            lines = [f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in told]
            self.wfile.write("".join(lines).encode())
            with fake.changed:
                fake.changed.wait_for(lambda at=at: fake.generation != generation or len(fake.changes) > at, 5)  # type: ignore[misc]
                if fake.generation != generation:
                    return
                told, at = fake.changes[at:], len(fake.changes)

    def events(self, agent: FakeAgent, query: dict[str, str]) -> None:
        fake = self.server_of_agents
        if not self.begun():
            return
        asked = self.headers.get("Last-Event-ID") or query.get("from")
        with fake.changed:
            generation = fake.generation
            seen = int(asked) if asked else agent.seq
            gap = seen < agent.forgotten
            numbers = [number for number, _ in agent.lines]
            at = numbers.index(seen) + 1 if seen in numbers else 0
        if gap:
            self.wfile.write(f'data: {{"type":"gap","after":{seen}}}\n\n'.encode())
        while True:
            with fake.changed:
                fake.changed.wait_for(lambda at=at: fake.generation != generation or len(agent.lines) > at, 5)  # type: ignore[misc]
                if fake.generation != generation:
                    return
                told, at = agent.lines[at:], len(agent.lines)
            lines = [
                (f"id: {number}\n" if number is not None else "") + f"data: {json.dumps(line)}\n\n"
                for number, line in told
            ]
            self.wfile.write("".join(lines).encode() or b": still here\n\n")
