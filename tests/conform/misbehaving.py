"""Agents that misbehave. `python -m` is not needed: it is run by its path, with its manner and, behind that, the real
agent's command, whose lines pass through a function that breaks one promise.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from threading import Thread
from typing import Any, TypeAlias

Frame: TypeAlias = dict[str, Any]
Line: TypeAlias = Frame | bytes
Manner: TypeAlias = Callable[[Frame], Iterable[Line]]


def without(*types: str) -> Manner:
    return lambda frame: [] if frame["type"] in types else [frame]


def twice(type: str) -> Manner:
    return lambda frame: [frame, frame] if frame["type"] == type else [frame]


def unanswered(command: str) -> Manner:
    return lambda frame: [] if frame.get("command") == command else [frame]


def changed(type: str, **fields: Any) -> Manner:
    return lambda frame: [{**frame, **fields}] if frame["type"] == type else [frame]


def answered(name: str, /, **fields: Any) -> Manner:
    return lambda frame: [{**frame, **fields}] if frame.get("command") == name else [frame]


def told(name: str, /, **fields: Any) -> Manner:
    """The data of a command has these values."""

    def change(frame: Frame) -> list[Line]:
        return [{**frame, "data": {**frame["data"], **fields}}] if frame.get("command") == name else [frame]

    return change


def lacking(type: str, *fields: str) -> Manner:
    def change(frame: Frame) -> list[Line]:
        return [{name: value for name, value in frame.items() if frame["type"] != type or name not in fields}]

    return change


def enveloped(frame: Frame) -> list[Line]:
    return [{"jsonrpc": "2.0", "params": frame}]


def separated(frame: Frame) -> list[Line]:
    """U+2028 ends lines."""
    return [json.dumps(frame).encode() + "\u2028".encode()]


def unescaped(frame: Frame) -> list[Line]:
    return [json.dumps(frame, ensure_ascii=False).encode() + b"\n"]


def spurious(frame: Frame) -> list[Line]:
    aborted = frame["type"] == "turn_end" and frame.get("stop") == "aborted"
    return [frame, {"type": "error", "message": "context canceled"}] if aborted else [frame]


def dying(frame: Frame) -> list[Line]:
    if frame["type"] == "text_delta":
        os._exit(1)
    return [frame]


def flooding(frame: Frame) -> list[Line]:
    if frame["type"] == "assistant_start":
        while True:
            os.write(1, b'{"type":"text_delta","delta":"more"}\n' * 1000)
    return [frame]


def late(frame: Frame) -> list[Line]:
    """The response to a prompt comes after its events."""
    if frame.get("command") == "prompt":
        late.held = frame  # type: ignore[attr-defined]
        return []
    return [frame, late.held] if frame["type"] == "done" else [frame]  # type: ignore[attr-defined]


def keeping(frame: Frame) -> list[Line]:
    """What is said is written to a file in its folder."""
    with open("kept.jsonl", "a") as file:
        file.write(json.dumps(frame) + "\n")
    return [frame]


def shown(frame: Frame) -> list[Line]:
    """Images have their data."""
    if frame["type"] != "user_message":
        return [frame]
    blocks = [{**block, "data": "iVBOR"} if block["type"] == "image" else block for block in frame["content"]]
    return [{**frame, "content": blocks}]


def plain(frame: Frame) -> list[Line]:
    return [frame]


MANNERS: dict[str, tuple[str, str, Manner]] = {
    "drops a response": ("zot", "zot.command.ping", unanswered("ping")),
    "doubles a terminator": ("zot", "zot.command.prompt.events", twice("done")),
    "answers with another id": ("zot", "zot.wire.response", answered("get_state", id="another")),
    "answers by another name": ("zot", "zot.wire.response", answered("get_state", command="state")),
    "ends lines with U+2028": ("zot", "zot.wire.lines", separated),
    "does not escape U+2028": ("zot", "zot.wire.line-separators", unescaped),
    "wraps frames": ("zot", "zot.wire.lines", enveloped),
    "numbers events": ("zot", "zot.wire.no-id-on-events", changed("text_delta", id="1")),
    "says end": ("zot", "zot.event.turn_end.end_turn", changed("turn_end", stop="end")),
    "says an error after an abort": ("zot", "zot.finding.spurious-error", spurious),
    "loses deltas": ("zot", "zot.event.text_delta", without("text_delta")),
    "changes deltas": ("zot", "zot.event.text_delta", changed("text_delta", delta="x")),
    "dies in the middle": ("zot", "zot.command.prompt.events", dying),
    "floods": ("zot", "zot.command.prompt.events", flooding),
    "answers a prompt late": ("zot", "zot.command.prompt.response", late),
    "is never busy": ("zot", "zot.commands.meanwhile", told("get_state", busy=False)),
    "keeps what is said": ("zot", "zot.flag.no-sessions", keeping),
    "says more": ("zot", "zot.events.fields", changed("done", reason="because")),
    "speaks version 2": ("zot", "zot.version.protocol", told("hello", protocol_version=2)),
    "does not add up": ("zot", "zot.event.usage", changed("usage", cumulative={"input": 1, "output": 1})),
    "shows data of images": ("zot", "zot.block.image", shown),
    "has no result": ("zot", "zot.event.tool_result", without("tool_result")),
    "never settles": ("pi-1", "pi.today.agent_settled", without("agent_settled")),
    "settles twice": ("pi-1", "pi.today.agent_settled", twice("agent_settled")),
    "says nothing of a prompt": ("pi-1", "pi.today.disposition", answered("prompt", data={})),
    "does not end messages": ("pi-1", "pi.event.message_start", without("message_end")),
    "does not end retries": ("pi-1", "pi.event.auto_retry_end", without("auto_retry_end")),
    "does not say that it retries": ("pi-1", "pi.today.agent_end.will-retry", lacking("agent_end", "willRetry")),
    "forgets what is queued": ("pi-1", "pi.command.get_state.pending", told("get_state", pendingMessageCount=0)),
    "repeats the message": ("pi-1", "pi.today.message_update.deltas", changed("message_update", message={})),
    "says nothing of a command": ("pi-1", "pi.command.bash", answered("bash", data=None)),
    "answers": ("pi-legacy", "pi_legacy.wire.silent", lambda frame: [frame, {"type": "response"}]),
    "begins twice": ("pi-legacy", "pi_legacy.flow.one-end", twice("agent_start")),
}
"""Each with the check that names it."""


def relay(manner: Manner, command: list[str]) -> int:
    """Run the real agent, with what it prints changed."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin
    assert child.stdout
    feeder = Thread(target=_feed, args=(child.stdin,), daemon=True)
    feeder.start()
    for line in child.stdout:
        for each in manner(json.loads(line)):
            data = each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n"
            while data:
                data = data[os.write(1, data) :]
    return child.wait()


def _feed(stdin: Any) -> None:
    while data := os.read(0, 1 << 16):
        stdin.write(data)
        stdin.flush()
    stdin.close()


def hang() -> None:
    """Take no notice of anything that can be ignored."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(60)


def leave_children() -> None:
    """Leave a process in a session of its own, which holds stdout, and exit."""
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    hang()


def main(manner: str, command: list[str]) -> None:
    match manner:
        case "silent":
            hang()
        case "deaf":
            os.close(0)
            hang()
        case "flood":
            while True:
                os.write(1, b"x" * (1 << 16))
        case "flood of lines":
            while True:
                os.write(1, b"{}\n" * 20_000)
        case "flood of stderr":
            while True:
                os.write(2, b"x" * (1 << 16))
        case "garbage":
            os.write(1, b"\x00\xff[[[[{\n\n" + b"[" * 100_000 + b"\n")
            hang()
        case "echo":
            while line := sys.stdin.buffer.readline():
                os.write(1, line)
        case "latin-1":
            while sys.stdin.buffer.readline():
                os.write(1, b'{"type":"caf\xe9"}\n')
        case "dead":
            os._exit(3)
        case "children":
            leave_children()
        case "nothing wrong":
            sys.exit(relay(plain, command))
        case _:
            sys.exit(relay(MANNERS[manner][2], command))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
