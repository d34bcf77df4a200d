"""Sessions to export, and a check that every exported page has to pass."""

import base64
import re
import struct
import zlib
from collections.abc import Callable, Sequence
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest

from linnet.core import messages
from linnet.core.events import Compaction
from linnet.core.messages import Cost, Image, Text, Thinking, ToolCall, Usage
from linnet.core.text.timestamps import stamp
from linnet.export.page import page
from linnet.store.entries import (
    Compacted,
    Content,
    Custom,
    Entry,
    Labelled,
    ModelChanged,
    Moved,
    Named,
    Said,
    ThinkingChanged,
    Unknown,
)
from linnet.store.header import Header

START = 1_794_823_200_000
SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
VOID = {"meta", "input", "img", "br", "hr"}


class Session:
    """Grows entry by entry; `leaf` is the one that the next one follows."""

    def __init__(self, **header: Any) -> None:
        self.header = Header(**{"id": "5e551017", "timestamp": stamp(START), "cwd": "/src/kettle", **header})
        self.entries: list[Entry] = []
        self.leaf: str | None = None
        self.clock = START

    def add(self, content: Content, id: str = "", type: str = "message", line: bytes = b"", minutes: float = 1) -> str:
        self.clock += round(minutes * 60_000)
        id = id or f"{len(self.entries) + 0xA0:04x}"
        self.entries.append(Entry(id, self.leaf, stamp(self.clock), type, content, line))
        self.leaf = id
        return id

    def user(self, text: str, *images: Image, id: str = "") -> str:
        return self.add(Said(messages.UserMessage((Text(text), *images), self.clock)), id)

    def reply(self, *parts: str | messages.ReplyPart, id: str = "", stop: str = "end", error: str = "") -> str:
        content = tuple(Text(part) if isinstance(part, str) else part for part in parts)
        size = 40 + sum(len(part.text) for part in content if not isinstance(part, ToolCall))
        cost = Cost(size * 3e-6, size * 15e-6, 9e-4, 4e-4)
        usage = Usage(size * 2, size, 12_480 + len(self.entries) * 900, 310, cost)
        said = messages.AssistantMessage(content, self.clock, "anthropic", "claude-sonnet-4-5", usage, stop, error)  # type: ignore[arg-type]
        return self.add(Said(said), id, minutes=0.4)

    def result(self, call: ToolCall, text: str, *images: Image, id: str = "", **options: Any) -> str:
        said = messages.ToolResult(call.id, call.name, (Text(text), *images), self.clock, **options)
        return self.add(Said(said), id, minutes=0.1)

    def tool(self, name: str, args: dict[str, Any], text: str, *images: Image, **options: Any) -> str:
        """A reply that is nothing but this call, and its result."""
        call = ToolCall(f"call_{len(self.entries)}", name, args)
        self.reply(call, id=f"{options['id']}-call" if "id" in options else "", stop="tool_use")
        return self.result(call, text, *images, **options)

    def html(self) -> str:
        return "".join(page(self.header, self.entries, self.leaf))


def png(wide: int, high: int, colour: tuple[int, int, int]) -> Image:
    rows = b"".join(b"\0" + bytes(colour) * wide for _ in range(high))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0))
    data = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return Image("image/png", base64.b64encode(data).decode())


LIMITER = '''"""Lets so many requests through in so many seconds."""

import time
from collections import deque


class Limiter:
    """Invariant: `_seen` holds only what happened within the window."""

    def __init__(self, most: int, seconds: float, clock=time.time) -> None:
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._seen: deque[float] = deque()

    def allows(self) -> bool:
        now = self._clock()
        while self._seen and self._seen[0] <= now - self._seconds:
            self._seen.popleft()
        if len(self._seen) >= self._most:
            return False
        self._seen.append(now)
        return True
'''
DIFF = """@@ -9,6 +9,6 @@
     \"\"\"Invariant: `_seen` holds only what happened within the window.\"\"\"
{}
-    def __init__(self, most: int, seconds: float, clock=time.time) -> None:
+    def __init__(self, most: int, seconds: float, clock=time.monotonic) -> None:
         self._most = most
         self._seconds = seconds
         self._clock = clock
""".replace("{}", " ")
FAILURE = (
    "$ pytest -q --color=yes tests/test_limiter.py\n\n"
    + "".join(f"\x1b[32mtests/test_limiter.py::test_case_{n} PASSED\x1b[0m\n" for n in range(26))
    + "\x1b[31mtests/test_limiter.py::test_the_clock_jumps FAILED\x1b[0m\n"
    "\x1b[1m\x1b[31mE       assert False\x1b[0m\n"
    "\x1b[38;5;208mwarning\x1b[0m: \x1b[38;2;120;160;255mthe clock went back\x1b[0m by \x1b[7m 3600 s \x1b[0m\n"
    "collecting 10%\rcollecting 100%\n"
    "\x1b]8;;https://evil.example\x1b\\not a link\x1b]8;;\x1b\\\n"
    "\n[exit 1]  Took 0.8s"
)
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

See [the manual](https://docs.example/time) or ~~guess~~ ask.
"""


def rich() -> Session:
    """A bit of everything: three branches from one fork, two from another, and a summary of each kind."""
    made = Session(parent_session="2026-11-15T20-42-55_0b1e.jsonl")
    made.add(ModelChanged("anthropic", "claude-sonnet-4-5"), "model", "model_change")
    made.add(ThinkingChanged("medium"), "thinking", "thinking_level_change", minutes=0)
    made.add(Named("The limiter and the clock"), "named", "session_info", minutes=0)
    first = made.user(
        "The rate limiter lets nobody through after the clock is set back.\n\n"
        "  1. look at `kettle/limiter.py`\n  2. write a test\n  3. fix it",
        id="ask",
    )
    made.reply("Which of the two limiters do you mean?", id="which")
    made.user("Never mind, I was wrong.", id="wrong")
    made.leaf = first
    made.reply(
        Thinking("Could be **time zones**. Or the clock itself.\n\nI will look."), "I will look at the code.", id="look"
    )
    made.reply("", id="lost", stop="aborted")
    made.leaf = "look"
    made.tool("read", {"path": "kettle/limiter.py"}, LIMITER, id="read")
    made.add(Labelled("read", "the cause"), "label", "label")
    made.reply(Thinking("A monotonic clock."), ANSWER, id="answer")
    made.tool("bash", {"command": "pytest -q --color=yes tests/test_limiter.py"}, FAILURE, is_error=True, id="fails")
    made.tool(
        "edit",
        {"path": "kettle/limiter.py", "edits": [{"oldText": "time.time)", "newText": "time.monotonic)"}]},
        DIFF,
        details={"diff": DIFF},
        id="edit",
    )
    both = (
        ToolCall("one", "bash", {"command": "pytest -q\ngit status --short", "timeout": 30}),
        ToolCall("two", "grep", {"pattern": "time\\.time", "path": "kettle"}),
    )
    made.reply("Now everything at once.", *both, id="both", stop="tool_use")
    made.result(
        both[0],
        "$ pytest -q\ngit status --short\n\n27 passed in 0.42s\n M kettle/limiter.py\n\n[exit 0]  Took 0.9s",
        id="passes",
    )
    made.result(both[1], '{"matches": []}', id="grep")
    fork = made.reply("All 27 tests pass. The limiter now asks a clock that cannot be set.", id="done")
    made.user("Write it down in the changelog, please.", id="changelog")
    made.tool(
        "write",
        {"path": "CHANGELOG.md", "content": "# Changelog\n\n- The limiter no longer cares about the *date*.\n"},
        "Successfully wrote 61 bytes to CHANGELOG.md",
        id="write",
    )
    made.reply("Done.", id="old-end")
    made.leaf = fork
    made.add(Moved(), "moved", "custom")
    made.add(
        Said(messages.BranchSummary("The user asked for a **changelog**; it was written.", "changelog", made.clock)),
        "left",
        "branch_summary",
    )
    made.user(
        "Show me what it looks like in the dashboard.",
        png(320, 120, (13, 103, 108)),
        Image("image/svg+xml", "PHN2Zz4="),
        id="shot",
    )
    made.add(
        Said(
            messages.BashRun(
                "git log --oneline -3",
                "\x1b[33mb9fed8c\x1b[m Read and write\n\x1b[33m3ebd0dd\x1b[m Say in one place\n",
                0,
                made.clock,
            )
        ),
        "log",
    )
    made.add(
        Said(messages.Note("reminder", (Text("The dashboard is rebuilt every night."),), made.clock)),
        "note",
        "custom_message",
    )
    made.add(
        Said(messages.Note("secret", (Text("for the model alone"),), made.clock, False)), "unseen", "custom_message"
    )
    made.reply("I cannot reach it from here.", id="cannot", stop="error", error="overloaded_error: try again later")
    summary = messages.Summary("## So far\n\nThe limiter uses `time.monotonic`.", 182_034, made.clock)
    made.add(
        Compacted(
            Compaction(
                summary, 2, "shot", ("kettle/limiter.py",), ("kettle/limiter.py", "CHANGELOG.md"), Usage(900, 120)
            )
        ),
        "compacted",
        "compaction",
    )
    made.add(Custom("todo.list", {"open": ["dashboard"]}), "todo", "custom")
    made.add(Unknown(), "future", "telepathy", b'{"type":"telepathy","id":"future","strength":9}')
    made.clock += 86_400_000
    made.user("Good morning. Where were we?", id="morning")
    made.reply("The limiter is fixed; the dashboard is not looked at yet.", id="end")
    made.add(Labelled("done", "green"), "label2", "label")
    return made


HOSTILE = (
    "</script><script>window.pwned=1</script><!-- ]]> --><img src=x onerror=window.pwned=1>"
    "<svg/onload=window.pwned=1><a href=javascript:window.pwned=1 style=position:fixed onclick=window.pwned=1>x</a>"
    "\"'`</style><style>*{display:none}</style></pre></details></article></template></textarea></title>"
    "<base href=https://evil.example><iframe srcdoc='<script>parent.pwned=1</script>'></iframe>"
    "[link](javascript:window.pwned=1) ![image](https://evil.example/x.png) <https://ok.example> "
    "\u202egnp.exe\u2066 \u2028 \u2029 \x00 \x1b[31m \x1b]0;title\x07 \ud800 &lt;script&gt; {{x}} ${x}"
)


def hostile() -> Session:
    """The same words wherever words can be."""
    made = Session(id=HOSTILE, cwd=HOSTILE, parent_session=HOSTILE, timestamp=HOSTILE)
    made.add(Named(HOSTILE), HOSTILE, "session_info")
    made.add(ModelChanged(HOSTILE, HOSTILE), '"><script>window.pwned=1</script>', "model_change")
    made.add(ThinkingChanged(HOSTILE), " \u2028\ud800\x00", "thinking_level_change")
    made.user(HOSTILE, Image('image/png" onerror="window.pwned=1', 'iVBOR" onerror="window.pwned=1'), id="__proto__")
    made.add(Labelled("__proto__", HOSTILE), "l", "label")
    tools = ("bash", "read", "write", "edit", HOSTILE)
    args = {
        "command": HOSTILE,
        "path": f"{HOSTILE}.html",
        "content": HOSTILE,
        "oldText": HOSTILE,
        "newText": HOSTILE,
        HOSTILE: HOSTILE,
    }
    for name in tools:
        made.reply(Thinking(HOSTILE), HOSTILE, ToolCall(HOSTILE, name, args), id=f"{name}{HOSTILE}", stop="tool_use")
        call = ToolCall(HOSTILE, name, args)
        made.result(
            call,
            HOSTILE,
            Image("image/svg+xml", "PHN2Zz4=", HOSTILE),
            details={"diff": f"@@ -1 +1 @@\n-{HOSTILE}\n+{HOSTILE}"},
        )
    made.reply(ToolCall("u", "bash", {}, HOSTILE), id="constructor", stop="error", error=HOSTILE)
    made.result(ToolCall("nobody", HOSTILE, {}), HOSTILE, is_error=True)
    made.reply(
        f"# {HOSTILE}\n\n| {HOSTILE} | b |\n|---|--:|\n| 1 | {HOSTILE} |\n\n"
        f"```{HOSTILE}\n{HOSTILE}\n```\n\n- {HOSTILE}\n\n    {HOSTILE}"
    )
    made.add(Said(messages.BashRun(HOSTILE, HOSTILE, 1, 0, truncated=True, full_output_path=HOSTILE)))
    made.add(Said(messages.BranchSummary(HOSTILE, "__proto__", 0)))
    made.add(Said(messages.Summary(HOSTILE, 1, 0)))
    made.add(Said(messages.Note(HOSTILE, (Text(HOSTILE),), 0)))
    made.add(Compacted(Compaction(messages.Summary(HOSTILE, 1, 0), 0, "", (HOSTILE,), (HOSTILE,), Usage())))
    made.add(Custom(HOSTILE, {HOSTILE: [HOSTILE]}), type="custom")
    made.add(Unknown(), type=HOSTILE, line=HOSTILE.encode("utf-8", "replace"))
    fork = made.leaf
    made.user(HOSTILE, id="a b/c#d%20?")
    made.leaf = fork
    made.user("the other way", id="hasOwnProperty")
    return made


def long(count: int) -> Session:
    """As many entries, as they come in a day's work. Every twentieth turn was tried twice."""
    made = Session()
    turn = 0
    while len(made.entries) < count:
        turn += 1
        start = made.leaf
        for attempt in range(1 + (turn % 20 == 0)):
            made.leaf = start
            made.user(f"Turn {turn}, attempt {attempt}: rename `Limiter{turn}` and make the tests pass.")
            made.reply(Thinking(f"Step {turn}. " * 30), f"I will look at file {turn}.")
            made.tool("read", {"path": f"kettle/limiter{turn}.py"}, LIMITER.replace("Limiter", f"Limiter{turn}") * 2)
            made.tool("bash", {"command": f"pytest -q tests/test_{turn}.py"}, FAILURE.replace("case", f"case{turn}"))
            made.tool("edit", {"path": f"kettle/limiter{turn}.py", "edits": []}, DIFF, details={"diff": DIFF})
            made.reply(ANSWER.replace("limiter", f"limiter {turn}"))
    return made


class Checker(HTMLParser):
    """Collects what a page is made of, and objects to what must not be in one."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.tags: list[str] = []
        self.text: list[str] = []
        self.policy = ""
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        assert len(told) == len(attrs), f"<{tag}> has an attribute twice"
        assert not [name for name in told if name.startswith("on") or name in ("style", "srcdoc", "formaction")], told
        if "href" in told:
            assert re.match(r"#|https?://|mailto:", told["href"]), told["href"]
            assert told["href"].startswith("#") or told["rel"] == "noopener noreferrer nofollow"
            self.targets += [told["href"][1:]] if told["href"].startswith("#e-") else []
        if "src" in told:
            assert re.fullmatch(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*", told["src"])
        if tag == "script" and told:
            assert told == {"type": "application/json", "id": "tree"}
        if tag == "meta" and told.get("http-equiv"):
            self.policy = told["content"]
        self.ids += [told["id"]] if "id" in told else []
        self.tags.append(tag)
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def close(self) -> None:
        super().close()
        assert not self._open


def checked(html: str) -> Checker:
    """Well-formed, inert but for its own script, and without a way out."""
    html.encode()
    found = Checker()
    found.feed(html)
    found.close()
    assert len(set(found.ids)) == len(found.ids)
    assert set(found.targets) <= set(found.ids)
    assert (found.tags.count("script"), found.tags.count("style")) == (2, 1)
    assert not {"iframe", "object", "embed", "link", "base", "form", "svg", "video", "audio"} & set(found.tags)
    style, script = (_sum(pattern.findall(html)) for pattern in (STYLE, SCRIPT))
    assert found.policy == (
        f"default-src 'none'; img-src data:; style-src '{style}'; script-src '{script}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return found


def _sum(found: Sequence[str]) -> str:
    (text,) = found
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()


@pytest.fixture(scope="session")
def check() -> Callable[[str], Checker]:
    return checked


@pytest.fixture
def session() -> Session:
    """An empty one, to be filled."""
    return Session()


@pytest.fixture(scope="session")
def rich_session() -> Session:
    return rich()


@pytest.fixture(scope="session")
def long_session() -> Session:
    return long(5_000)


@pytest.fixture(scope="session")
def hostile_session() -> Session:
    return hostile()
