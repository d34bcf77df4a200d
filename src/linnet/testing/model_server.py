"""A scripted model behind a real socket: Anthropic Messages, OpenAI Chat Completions, OpenAI Responses and Google's
generateContent, streamed, on loopback.

In a test:

    with ModelServer() as server:
        ...  # base URL: server.url
        assert server.requests[0].body["model"] == "claude-sonnet-4-5"

As a program: `python -m linnet.testing.model_server [--port 0] [--log FILE]` prints `listening PORT`, and appends every
request to FILE as a line of JSON. `GET /_release/NAME` opens a gate from outside. With `-- COMMAND…` it prints nothing:
it runs the command with the variables that lead linnet's providers here, and ends with it.

The newest user text decides what the model does. If it starts with `!`, its first line is a directive:

    !text N [MS]          N deltas `w0 w1 …`, as fast as the socket takes them, or MS milliseconds apart
    !think                a thought, then text
    !tool NAME JSON       one tool call; after its result, text
    !tools JSON           a list of [name, args]: that many calls in one message; then text
    !loop N NAME JSON     N messages with one call each; then text
    !thinkloop N NAME JSON the same, with a thought before each call and before the text
    !seq JSON             a list of steps: ["text", T], ["think", T], ["sleep", MS], ["tool", NAME, ARGS, PIECES],
                          ["stop", REASON], ["sse", NAME, EVENT]; after a tool's result, text
    !err CODE WORDS       every request of this prompt gets HTTP CODE with these words; `retry-after=S` among them is
                          the header
    !toolargs N           one `write` call whose arguments come in N deltas
    !toolnone             stops to call a tool, but calls none
    !lengthtool           runs out of tokens inside a call's arguments
    !droptool             the connection ends inside a call's arguments
    !thinkcut N           a signed thought, then a `write` call whose arguments come in N deltas and never end
    !thinklength          a signed thought, then a call inside which it runs out of tokens
    !length               runs out of tokens
    !refusal              refuses (OpenAI: says so in its `refusal` field)
    !filter               stopped by a content filter (Anthropic: refuses)
    !fail CODE K [WAIT]   the first K requests of this prompt get HTTP CODE, with Retry-After: WAIT; then `recovered`
    !overflow K           the first K get the vendor's words for a conversation that is too long; then `recovered`
    !flaky K              the first K are hung up on without an answer; then `recovered`
    !drop N               N deltas, then the connection ends
    !reset [N]            the connection is reset, at once or after N deltas
    !hang                 the reply opens, then silence
    !hanghead             not even that
    !slowhead MS          the head of the answer comes MS milliseconds late
    !gate NAME            one delta; the rest when `release(NAME)` is called
    !sseerror KIND        one delta, then an error event of that type
    !failed CODE          one delta, then a reply that says it has failed (Responses; others: an error event)
    !garbage              a malformed event between two deltas
    !split                odd text and a call, in writes of a few bytes that cut characters in half
    !crlf                 lines end with CRLF
    !utf8                 odd text, a delta for each character
    !cache                usage with cache tokens

At `/model/ID/converse-stream` it is Bedrock, and checks signatures, with the keys in
`linnet.testing.bedrock.rules`.

Anything else is answered `Hello from the scripted model.` in two deltas, and a request to summarise (no tools, `summar`
in the system prompt or the newest text) with `SUMMARY: scripted`; if what is to be summarised says `HOLD SUMMARY NAME`,
when `release(NAME)` is called, and if it says `FAIL SUMMARY K`, after K that failed with 529. `summaries` has a
directive for each of those that are asked for next; an empty one is for the usual answer. A request that the real API
would refuse is refused with status 400: calls without results, results without calls, empty text, roles out of
order, a reply that ends in a thought, a thought of another model's or without its neighbours. So is a missing key, with
status 401, and the key `bad-key`.
"""

import argparse
import os
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from threading import Condition, Event, Lock, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from msgspec import DecodeError, Struct
from msgspec.json import decode, encode

from linnet.testing.bedrock.wire import STREAM_HEAD, BedrockWire, is_converse, planned
from linnet.testing.model_apis import api_of, as_asked, wire_of
from linnet.testing.model_http import Gone, head, read_request, refusal_of, refuse, tls_of, wait
from linnet.testing.model_script import Cut, Flood, Gate, Hang, Pause, Plan, Raw, plan
from linnet.testing.model_wire import (
    Wire,
    flooded,
    framed,
)
from linnet.testing.vendors.gemini_rules import unwrapped

if TYPE_CHECKING:
    from ssl import SSLContext

_AT_ONCE = 1024  # Events that are sent together, where they are not prepared.
_PREPARED = 64 * 1024 * 1024
_STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


class Recorded(Struct, frozen=True):
    """A request that came."""

    path: str
    headers: dict[str, str]  # By their names in lower case.
    body: Any


class ModelServer:
    """Listens while entered; leaving closes every connection and waits for its thread.

    `requests`, `connections` and `disconnects` only ever grow; `wait_for` blocks until they have.
    """

    def __init__(self, port: int = 0, log: str | None = None, certificate: str | None = None) -> None:
        """`log` is a file to append requests to. `certificate` is a file with a certificate and its key, for https."""
        self.requests: list[Recorded] = []
        self.connections = 0
        self.disconnects = 0  # Clients that hung up before their answer was complete.
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}"
        self._tls = tls_of(certificate) if certificate else None
        self._log = open(log, "ab", buffering=0) if log else None  # noqa: SIM115
        self._changed = Condition()
        self._prompts: Counter[str] = Counter()
        self.summaries: list[str] = []
        self._gates: set[str] = set()
        self._bells: dict[str, list[socket.socket]] = {}
        self._floods: dict[tuple[bytes, int], list[bytes]] = {}
        self._lock = Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[Thread] = []
        self._closing = False

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection, and wait for the threads."""
        with self._lock:
            self._closing = True
            connections = list(self._open)
        with socket.socket() as knock, suppress(OSError):  # Wakes the thread that accepts.
            knock.connect(("127.0.0.1", self.port))
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join(10)
        self._listener.close()
        if self._log:
            self._log.close()

    def release(self, name: str) -> None:
        """Open a gate, for the request that waits at it and for all that come later."""
        with self._lock:
            self._gates.add(name)
            bells = self._bells.pop(name, [])
        for bell in bells:
            with suppress(OSError):  # Whoever waited has just gone.
                bell.send(b"!")

    def wait_for(self, *, requests: int = 0, connections: int = 0, disconnects: int = 0, timeout: float = 10) -> None:
        """Block until the counts have been reached. Raises TimeoutError."""
        with self._changed:
            reached = self._changed.wait_for(
                lambda: (
                    len(self.requests) >= requests
                    and self.connections >= connections
                    and self.disconnects >= disconnects
                ),
                timeout,
            )
        if not reached:
            raise TimeoutError(f"{len(self.requests)} requests, {self.disconnects} disconnects")

    def _start(self, target: Any, *args: Any) -> None:
        thread = Thread(target=target, args=args, name="model-server", daemon=True)
        thread.start()
        self._threads = [*filter(Thread.is_alive, self._threads), thread]

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with self._lock:
                if self._closing:
                    connection.close()
                    return
                self._open.add(connection)
            with self._changed:
                self.connections += 1
                self._changed.notify_all()
            self._start(self._converse, connection)

    def _converse(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if self._tls is not None:
                connection = self._secured(connection, self._tls)
            with connection.makefile("rb") as stream:
                while self._answer_one(connection, stream):
                    pass
        except (Gone, OSError):
            self._note_gone()
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()

    def _secured(self, connection: socket.socket, tls: "SSLContext") -> socket.socket:
        """Return the connection with TLS. The first read shakes hands, and fails if the client refuses us."""
        secured = tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        with self._lock:
            self._open.discard(connection)
            self._open.add(secured)
        return secured

    def _note_gone(self) -> None:
        if self._closing:
            return
        with self._changed:
            self.disconnects += 1
            self._changed.notify_all()
        self._write_log({"t": time.time(), "gone": "the client hung up before its answer was complete"})

    def _write_log(self, entry: dict[str, Any]) -> None:
        if self._log:
            self._log.write(encode(entry) + b"\n")

    def _answer_one(self, connection: socket.socket, stream: BinaryIO) -> bool:
        """Read a request and answer it. Return whether the connection can be used again."""
        try:
            asked = read_request(stream)
        except OSError:
            return False
        if asked is None:
            return False
        method, path, headers, body = asked
        if method == "GET":
            answered = self._answer_get(connection, path)
        else:
            answered = self._answer(connection, path, headers, body)
        return answered and headers.get("connection", "").lower() != "close"

    def _answer(self, connection: socket.socket, path: str, headers: dict[str, str], raw: bytes) -> bool:
        api = api_of(path)
        try:
            body = decode(raw)
        except DecodeError:
            body = None
        with self._changed:
            self.requests.append(Recorded(path, headers, body))
            self._changed.notify_all()
        self._write_log({"t": time.time(), "path": path, "headers": headers, "body": body})
        if is_converse(path):
            converse = planned(path, headers, raw, body, self._count, time.time())
            if isinstance(converse, bytes):
                connection.sendall(converse)
                return True
            return self._play(connection, converse, BedrockWire(body, len(raw), cached=converse.cached), STREAM_HEAD)
        body = unwrapped(path, body)
        if refusal := refusal_of(api, path, headers, body):
            return refuse(connection, api, refusal)
        found = plan(api, as_asked(api, body), self._count, self._next_summary)
        if found.refusal:
            return refuse(connection, api, found.refusal)
        return self._play(connection, found, wire_of(api, path, body, len(raw), cached=found.cached))

    def _answer_get(self, connection: socket.socket, path: str) -> bool:
        if path.startswith("/_release/"):
            self.release(path.removeprefix("/_release/"))
        listing = encode({"object": "list", "data": [{"id": "scripted", "object": "model", "created": 1}]})
        connection.sendall(head(200, len(listing)) + listing)
        return True

    def _next_summary(self) -> str:
        with self._lock:
            return self.summaries.pop(0) if self.summaries else ""

    def _count(self, prompt: str) -> int:
        with self._lock:
            self._prompts[prompt] += 1
            return self._prompts[prompt] - 1

    def _play(self, connection: socket.socket, planned: Plan, wire: Wire, stream_head: bytes = _STREAM_HEAD) -> bool:
        """Do the steps of a plan. Return whether the connection can be used again. Raises Gone and OSError."""
        if planned.head_after:
            wait(connection, planned.head_after)
        pending: list[bytes] = []

        def flush() -> None:
            if pending:
                connection.sendall(b"".join(pending))
                pending.clear()

        def put(events: list[bytes]) -> None:
            for event in events:
                if planned.crlf:
                    event = event.replace(b"\n", b"\r\n")
                if planned.split:
                    flush()
                    for at in range(0, len(event), 3):
                        connection.sendall(framed(event[at : at + 3]))
                else:
                    pending.append(framed(event))

        if not planned.headless:
            pending.append(stream_head)
            put(wire.opening())
        for step in planned.steps:
            match step:
                case Flood(count):
                    events, template = wire.flood(count)
                    for event in events:
                        put([event])
                        if len(pending) >= _AT_ONCE:
                            flush()
                    flush()
                    for block in self._flood(template, count) if template else ():
                        connection.sendall(block)
                case Pause(seconds):
                    flush()
                    wait(connection, seconds)
                case Gate(name):
                    flush()
                    self._wait_at(connection, name)
                case Hang():
                    flush()
                    wait(connection, None)
                case Raw(data):
                    put([data])
                case Cut(reset):
                    flush()
                    if reset:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return False
                case _:
                    put(wire.events(step))
        pending.append(b"0\r\n\r\n")
        flush()
        return True

    def _flood(self, template: bytes, count: int) -> list[bytes]:
        """Return the blocks of a flood. They are kept, since benchmarks ask for the same one again and again."""
        key = (template, count)
        if key not in self._floods:
            blocks = flooded(template, count)
            if len(template) * count > _PREPARED or len(self._floods) >= 8:
                return blocks
            self._floods[key] = blocks
        return self._floods[key]

    def _wait_at(self, connection: socket.socket, name: str) -> None:
        """Wait until a gate is open. Raises Gone."""
        bell, ear = socket.socketpair()
        with bell, ear:
            with self._lock:
                if name in self._gates:
                    return
                self._bells.setdefault(name, []).append(bell)
            try:
                wait(connection, None, ear)
            finally:
                with self._lock, suppress(KeyError, ValueError):
                    self._bells[name].remove(bell)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="linnet.testing.model_server", description="A scripted model on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 lets the system choose")
    parser.add_argument("--log", help="append every request to this file, as lines of JSON")
    parser.add_argument("command", nargs="*", help="after --: run this on it, and end when it does")
    args = parser.parse_args(argv)
    from linnet.providers.provider_rows import PROVIDERS
    from linnet.runtime.models.accounts import base_url_variable

    with ModelServer(args.port, args.log) as server:
        if args.command:
            variables = {base_url_variable(name): server.url for name in PROVIDERS}
            sys.exit(subprocess.run(args.command, env={**os.environ, **variables}).returncode)
        sys.stdout.write(f"listening {server.port}\n")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            Event().wait()


if __name__ == "__main__":
    main()
