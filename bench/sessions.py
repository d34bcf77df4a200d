"""Long sessions: how long one takes to open, to add to, and to make a page of."""

import json
import time
from dataclasses import replace
from pathlib import Path

from bench.measure import Running, repeated
from bench.peers import Peer

Row = tuple[str, str]
WORDS = "The quick brown fox jumps over the lazy dog. "


def rows(peer: Peer, folder: Path) -> list[Row]:
    """Every peer gets files of its own: some change them by opening them."""
    short = written(folder / f"{peer.name}-short.jsonl", 10)
    medium = written(folder / f"{peer.name}-medium.jsonl", 5_000)
    long = written(folder / f"{peer.name}-long.jsonl", 100_000)
    out = [("open 100,000 entries", f"{repeated(3, lambda: opened(peer, folder, long)) * 1e3:,.0f} ms")]
    with Running(on(peer, long), folder) as running:
        running.first_answer()
        out.append(("… memory", f"{running.memory():,.0f} MB"))
    for name, file in (("short", short), ("long", long)):
        with Running(on(peer, file), folder) as running:
            running.send(b'{"type":"get_session_stats"}\n')
            running.until(b'"response"')
            out.append((f"an entry, in a {name} session", f"{added(running) * 1e6:,.0f} µs"))
    page = folder / f"{peer.name}.html"
    with Running(on(peer, medium), folder) as running:
        running.first_answer()
        out.append(("a page of 5,000 entries", f"{exported(running, page):,.1f} s"))
    out.append(("… its size", f"{page.stat().st_size / 1e6:,.1f} MB"))
    return out + longest_rows(peer, folder)


def longest_rows(peer: Peer, folder: Path, count: int = 200_000) -> list[Row]:
    """One that nobody should have to wait for either."""
    longest = written(folder / f"{peer.name}-longest.jsonl", count)
    opening = repeated(3, lambda: opened(peer, folder, longest))
    with Running(on(peer, longest), folder) as running:
        running.first_answer()
        taken = exported(running, folder / f"{peer.name}-longest.html")
        most = running.memory("VmHWM")
    return [
        (f"open {count:,} entries", f"{opening:,.2f} s"),
        (f"a page of {count:,} entries", f"{taken:,.1f} s"),
        ("… most memory, of both", f"{most:,.0f} MB"),
    ]


def exported(running: Running, page: Path) -> float:
    """Seconds until a page is written."""
    started = time.perf_counter()
    running.send(json.dumps({"type": "export_html", "outputPath": str(page)}).encode() + b"\n")
    running.until(b'"response"')
    return time.perf_counter() - started


def on(peer: Peer, session: Path) -> Peer:
    command = [word for word in peer.command if word != "--no-session"]
    return replace(peer, command=[*command, "--session", str(session)])


def opened(peer: Peer, folder: Path, session: Path) -> float:
    started = time.perf_counter()
    with Running(on(peer, session), folder) as running:
        running.first_answer()
        return time.perf_counter() - started


def added(running: Running) -> float:
    """Seconds a command that adds one entry takes, until it is answered."""
    count = 500
    started = time.perf_counter()
    for index in range(count):
        level = ("low", "high")[index % 2]
        running.send(json.dumps({"type": "set_thinking_level", "level": level}).encode() + b"\n")
        running.until(b'"response"')
    return (time.perf_counter() - started) / count


def written(path: Path, count: int) -> Path:
    """Questions and answers, some of which run a command."""
    header = {"type": "session", "version": 3, "id": path.stem, "timestamp": "2026-01-01T12:00:00.000Z", "cwd": "/"}
    parent: str | None = None
    with path.open("w") as file:
        file.write(json.dumps(header, separators=(",", ":")) + "\n")
        for index in range(count):
            entry = {"type": "message", "id": f"{index:08x}", "parentId": parent, "timestamp": header["timestamp"]}
            file.write(json.dumps({**entry, "message": _message(index)}, separators=(",", ":")) + "\n")
            parent = f"{index:08x}"
    return path


def _message(index: int) -> dict[str, object]:
    time = 1_767_268_800_000 + index
    if index % 4 == 0:
        return {"role": "user", "content": [{"type": "text", "text": f"Question {index}. {WORDS}"}], "timestamp": time}
    if index % 4 == 2:
        output = [{"type": "text", "text": f"{index} passed\n" + WORDS * 2}]
        of = {"toolCallId": f"call_{index - 1}", "toolName": "bash"}
        return {"role": "toolResult", **of, "content": output, "isError": False, "timestamp": time}
    content: list[dict[str, object]] = [{"type": "text", "text": f"Answer {index}. {WORDS * 4}"}]
    if index % 4 == 1:
        call = {"id": f"call_{index}", "name": "bash", "arguments": {"command": "make test"}}
        content.append({"type": "toolCall", **call})
    cost = {"input": 0.003, "output": 0.0015, "cacheRead": 0, "cacheWrite": 0, "total": 0.0045}
    usage = {"input": 1000, "output": 100, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1100, "cost": cost}
    model = {"api": "anthropic-messages", "provider": "bench", "model": "scripted", "usage": usage}
    stop = "toolUse" if index % 4 == 1 else "stop"
    return {"role": "assistant", "content": content, **model, "stopReason": stop, "timestamp": time}
