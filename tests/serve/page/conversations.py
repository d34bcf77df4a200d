"""Messages, events and questions for the page, as pi-1 has them."""

import base64
import struct
import zlib
from typing import Any

from tests.serve.page.fake_server import NOW, FakeServer

Json = dict[str, Any]

DIFF = """@@ -9,6 +9,6 @@
     \"\"\"Invariant: `_seen` holds only what happened within the window.\"\"\"
{}
-    def __init__(self, most: int, seconds: float, clock=time.time) -> None:
+    def __init__(self, most: int, seconds: float, clock=time.monotonic) -> None:
         self._most = most
         self._seconds = seconds
         self._clock = clock
""".replace("{}", " ")
ANSWER = """The limiter asks `time.time`, which **jumps** when the system clock is set. Two things follow:

1. After a jump back, entries stay in the window for too long.
2. After a jump forward, all of them fall out at once.

| clock | jumps | for |
|:--|:-:|--:|
| `time.time` | yes | dates |
| `time.monotonic` | no | durations |

### The change

```python
def allows(self, now: float | None = None) -> bool:
    now = self._clock() if now is None else now  # a test can say when
    return len(self._seen) < self._most
```

> A duration is not the difference of two dates.

See [the manual](https://docs.example/time) or ~~guess~~ *ask*.
"""
OUTPUT = (
    "".join(f"\x1b[32mtests/test_limiter.py::test_case_{n} PASSED\x1b[0m\n" for n in range(26))
    + "\x1b[31mtests/test_limiter.py::test_the_clock_jumps FAILED\x1b[0m\n"
)


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def call(id: str, name: str, **args: Any) -> Json:
    return {"type": "toolCall", "id": id, "name": name, "arguments": args}


def user(words: str, *more: Json, time: int = NOW) -> Json:
    return {"role": "user", "content": [text(words), *more], "timestamp": time}


def reply(*parts: str | Json, time: int = NOW, **more: Any) -> Json:
    content = [text(part) if isinstance(part, str) else part for part in parts]
    usage = {"input": 2400, "output": 180, "cacheRead": 12_000, "cacheWrite": 0, "cost": {"total": 0.0134}}
    told = {"usage": usage, "stopReason": "stop", "timestamp": time, "durationMs": 4200}
    return {"role": "assistant", "content": content, "model": "claude-sonnet-4-5", **told, **more}


def result(id: str, name: str, words: str, *more: Json, **rest: Any) -> Json:
    told = {"isError": False, "timestamp": NOW, "durationMs": 830}
    return {"role": "toolResult", "toolCallId": id, "toolName": name, "content": [text(words), *more], **told, **rest}


def said(message: Json) -> Json:
    return {"type": "message_end", "message": message}


def update(type: str, at: int = 0, **told: Any) -> Json:
    return {"type": "message_update", "assistantMessageEvent": {"type": type, "contentIndex": at, **told}}


BEGINS: Json = {"type": "message_start", "message": {"role": "assistant", "content": [], "stopReason": "pending"}}


def permission(id: str, tool: str, args: Json, preview: str, **more: Any) -> Json:
    return {
        "id": id,
        "kind": "permission",
        "title": f"Allow {tool}?\n\n{preview}",
        "method": "select",
        "options": ["Allow once", "Allow for this session", "Deny"],
        "toolCallId": f"call-{id}",
        "permission": {"toolCallId": f"call-{id}", "toolName": tool, "args": args, "preview": preview},
        **more,
    }


def png(wide: int, high: int, colour: tuple[int, int, int]) -> Json:
    rows = b"".join(b"\0" + bytes(colour) * wide for _ in range(high))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0))
    data = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return {"type": "image", "mimeType": "image/png", "data": base64.b64encode(data).decode()}


def rich() -> list[Json]:
    """A bit of everything that a conversation has."""
    tool = "toolUse"
    return [
        {
            "role": "system",
            "content": "",
            "sections": {"preamble": "You are a coding agent.", "cwd": "/src/kettle"},
            "toolsAdded": [{"name": "bash"}, {"name": "read"}],
            "timestamp": NOW,
        },
        user("The rate limiter lets nobody through after the clock is set back.\n\n  1. write a test\n  2. fix it"),
        reply(
            {"type": "thinking", "thinking": "Could be **time zones**. Or the clock itself."},
            "I will look at the code, and run what is there.",
            call("c1", "bash", command="pytest -q tests/test_limiter.py"),
            call("c2", "read", path="kettle/limiter.py", limit=40),
            stopReason=tool,
        ),
        result("c1", "bash", OUTPUT, isError=True, details={"exitCode": 1}),
        result("c2", "read", "import time\n\nclass Limiter:\n    pass\n"),
        reply(ANSWER, time=NOW + 60_000),
        reply(
            call("c3", "edit", path="kettle/limiter.py", edits=[{"oldText": "time.time", "newText": "time.monotonic"}]),
            time=NOW + 120_000,
            stopReason=tool,
        ),
        result("c3", "edit", "Edited kettle/limiter.py", details={"diff": DIFF}),
        reply("All 27 tests pass.", time=NOW + 200_000),
        user("What does it look like?", png(320, 120, (13, 103, 108)), time=NOW + 400_000),
        {
            "role": "bashExecution",
            "command": "git log --oneline -2",
            "output": "\x1b[33mb9fed8c\x1b[m Read\n",
            "exitCode": 0,
        },
        reply("I cannot reach it.", stopReason="error", errorMessage="overloaded_error: later", time=NOW + 500_000),
        {"role": "compactionSummary", "summary": "## So far\n\nThe limiter uses `time.monotonic`.", "tokensBefore": 9},
        {"role": "custom", "customType": "reminder", "display": True, "content": [text("It is late.")]},
        {"role": "custom", "customType": "secret", "display": False, "content": [text("for the model alone")]},
        reply("The limiter is fixed; the dashboard is not looked at yet.", time=NOW + 900_000),
    ]


def workplace(server: FakeServer) -> None:
    """Agents in every state."""
    kettle = server.add(
        "kettle",
        name="The limiter and the clock",
        state="waiting",
        waiting=[permission("q1", "edit", {"path": "kettle/limiter.py"}, DIFF)],
        tokens={"input": 90_000, "output": 12_000, "cache_read": 800_000, "cache_write": 20_000},
        cost=1.42,
        last="I will replace the clock; here is the change.",
        since=NOW - 5_000,
    )
    kettle.messages = rich()
    server.add(
        "docs",
        state="waiting",
        waiting=[permission("q2", "bash", {"command": "npm publish --access public"}, "npm publish --access public")],
        cost=0.21,
        last="Everything is built. Now it can be published.",
        since=NOW,
    )
    server.add(
        "site",
        state="tool",
        tool={"name": "bash", "title": "npm test -- --watch=false", "since": NOW},
        tokens={"input": 4_000, "output": 900, "cache_read": 0, "cache_write": 0},
        cost=0.034,
        last="Let me run the tests first.",
    )
    server.add("parser", state="working", last="The grammar has two ambiguities, both in expressions.")
    server.add("tools", state="idle", last="Done. All 27 tests pass.", cost=0.5)
    server.add("broken", state="idle", last="", error="anthropic: http 401: the key is not valid")
    server.add("old", state="asleep", last="See you tomorrow.")


def long(count: int) -> list[Json]:
    """As many messages, as they come in a year's work."""
    made: list[Json] = []
    turn = 0
    while len(made) < count:
        turn += 1
        time = NOW + turn * 60_000
        made += [
            user(f"Turn {turn}: rename `Limiter{turn}` and make the tests pass.", time=time),
            reply(
                {"type": "thinking", "thinking": f"Step {turn}. " * 20},
                f"I will look at file {turn}.",
                call(f"c{turn}", "bash", command=f"pytest -q tests/test_{turn}.py"),
                time=time,
            ),
            result(f"c{turn}", "bash", OUTPUT),
            reply(ANSWER.replace("limiter", f"limiter {turn}"), time=time),
        ]
    return made[:count]
