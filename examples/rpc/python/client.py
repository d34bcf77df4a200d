#!/usr/bin/env python3
"""Drive linnet from Python: send one prompt, stream the answer. Nothing but the standard library.

client.py [--image FILE] PROMPT [-- flags of linnet rpc]
"""

import argparse
import base64
import json
import mimetypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

Frame = dict[str, Any]
STOPPED = {"aborted": "the turn was aborted", "length": "the answer was cut at the model's output limit"}


class Agent:
    """A running `linnet rpc`: `send` it commands, iterate over the frames it prints."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # stderr is inherited: it is for people, and a pipe that nobody drains would block the agent.
            # A session of its own keeps the terminal's Ctrl-C from the agent. We ask it to abort instead.
            start_new_session=True,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

    def send(self, **command: Any) -> None:
        with suppress(BrokenPipeError, ValueError):  # It has died or was finished: whoever reads its frames will know.
            self._stdin.write(json.dumps(command).encode() + b"\n")
            self._stdin.flush()

    def __iter__(self) -> Iterator[Frame]:
        # Lines of bytes end at \n and nowhere else; lines of text would also end at a lone \r.
        with self._stdout:
            for line in self._stdout:
                if line.endswith(b"\n"):  # Else the agent died in mid-line.
                    yield json.loads(line)
        self.finish()
        self._process.wait()

    def finish(self) -> None:
        """Without more input the agent exits, its output ends, and so does the iteration."""
        with suppress(BrokenPipeError):
            self._stdin.close()


class Screen:
    """The answer goes to stdout as it comes, everything else to stderr, and never both on one line."""

    def __init__(self) -> None:
        self._out = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        self._err = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        self._unfinished: TextIO | None = None  # Where the line that was begun last has not ended yet.
        self._dim, self._plain = ("\x1b[2m", "\x1b[0m") if self._err.isatty() else ("", "")

    def say(self, text: str) -> None:
        self._write(self._out, text)

    def progress(self, text: str) -> None:
        self._write(self._err, text, self._dim, self._plain)

    def note(self, text: str) -> None:
        self.end_line()
        self._write(self._err, f"{text}\n")

    def end_line(self) -> None:
        if self._unfinished:
            print(file=self._unfinished, flush=True)
            self._unfinished = None

    def _write(self, to: TextIO, text: str, before: str = "", after: str = "") -> None:
        if text:
            if self._unfinished is not to:
                self.end_line()
            print(before, text, after, sep="", end="", file=to, flush=True)
            self._unfinished = None if text.endswith("\n") else to


def first_line(content: list[Frame]) -> str:
    text = next((block["text"] for block in content if block["type"] == "text"), "[image]")
    return str(text).partition("\n")[0]


def read_image(path: Path) -> dict[str, str]:
    mime_type, _ = mimetypes.guess_type(path.name)
    return {"mime_type": mime_type or "", "data": base64.b64encode(path.read_bytes()).decode()}


def run(agent: Agent, message: str, images: list[dict[str, str]], screen: Screen) -> int:
    # No need to wait for an answer in between: commands are taken in order, and a refusal shows up below.
    if token := os.environ.get("ZOTCORE_RPC_TOKEN"):
        agent.send(id="1", type="hello", token=token)
    agent.send(id="2", type="prompt", message=message, images=images)

    interrupted = False

    def abort(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # A second Ctrl-C ends us, which closes the agent's pipes.
        agent.send(id="3", type="abort")

    signal.signal(signal.SIGINT, abort)

    done, problem, usage = False, "", None
    for frame in agent:
        match frame["type"]:
            case "text_delta":
                screen.say(frame["delta"])
            case "tool_call":
                args = json.dumps(frame["args"], ensure_ascii=False, separators=(",", ":"))
                screen.note(f"→ {frame['name']} {args[:100]}")
            case "tool_progress":
                screen.progress(frame["text"])
            case "tool_result":
                screen.note(("✗ " if frame["is_error"] else "✓ ") + first_line(frame["content"]))
            case "usage":
                usage = frame["cumulative"]
            case "turn_end":  # One model call. What counts is how the last one went.
                problem = frame.get("error") or STOPPED.get(frame["stop"], "")
            case "error":
                problem = frame["message"]
            case "response" if not frame["success"]:
                problem = f"{frame['command']}: {frame['error']}"
                agent.finish()
            case "done":
                done = True
                agent.finish()
            case _:
                pass  # News we do not need. The protocol only grows, so ignore what you do not know.

    screen.end_line()
    if not done:
        problem = problem or "the agent ended before it was done"
    if problem:
        screen.note(f"client: {problem}")
    if usage:
        screen.note(f"{usage['input']} tokens in, {usage['output']} out, ${usage['cost_usd']:.4f}")
    return 130 if interrupted and done else 1 if problem else 0


def main() -> int:
    argv = sys.argv[1:]
    split = argv.index("--") if "--" in argv else len(argv)
    parser = argparse.ArgumentParser(usage="client.py [--image FILE] PROMPT [-- flags of linnet rpc]")
    parser.add_argument("--image", type=Path)
    parser.add_argument("prompt")
    args = parser.parse_args(argv[:split])
    screen = Screen()
    try:
        images = [read_image(args.image)] if args.image else []
        agent = Agent([os.environ.get("LINNET", "linnet"), "rpc", *argv[split + 1 :]])
    except OSError as error:
        screen.note(f"client: {error.filename}: {error.strerror}")
        return 1
    try:
        return run(agent, args.prompt, images, screen)
    except KeyboardInterrupt:  # Before there was anything to abort.
        return 130


if __name__ == "__main__":
    sys.exit(main())
