#!/usr/bin/env python3
"""Drive linnet from Python: send one prompt, stream the answer.

client.py [--image FILE] [--ask] PROMPT [-- flags of linnet rpc]
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

# A tool that is run here, and not by the agent. With --ask, the model is offered it.
ASK_USER = {
    "name": "ask_user",
    "description": "Ask the person who is at the keyboard.",
    "parameters": {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]},
}
PATIENCE = 10  # Seconds that the agent has to end after its stdin has.
STOPPED = {"aborted": "the turn was aborted", "length": "the answer was cut at the model's output limit"}


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

    def ask(self, text: str) -> str | None:
        """A line that somebody types; None if nobody is there."""
        self.note(text)
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None

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


class Refused(Exception):
    """The agent has refused a command, and says why."""


class Gone(Exception):
    """The agent has ended."""


class Agent:
    """A process that is sent commands and prints frames, one JSON object a line."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)

    def send(self, **command: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Gone from None

    def frames(self) -> Iterator[dict[str, Any]]:
        """Lines end at LF and nowhere else, so they are read as bytes. A last one without LF was cut off."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith(b"\n"):
                yield json.loads(line)
        raise Gone

    def ask(self, **command: Any) -> None:
        """Send a command that is answered at once, before there is anything else to read. Raises Refused."""
        self.send(id=command["type"], **command)
        for frame in self.frames():
            if frame["type"] == "response" and frame.get("id") == command["type"]:
                if not frame["success"]:
                    raise Refused(f"{command['type']}: {frame.get('error')}")
                return

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()


def first_line(content: list[dict[str, Any]]) -> str:
    text: str = next((block["text"] for block in content if block["type"] == "text"), "[image]")
    return text.partition("\n")[0]


def read_image(path: Path) -> dict[str, str]:
    mime_type, _ = mimetypes.guess_type(path.name)
    return {"mime_type": mime_type or "", "data": base64.b64encode(path.read_bytes()).decode()}


class Answer:
    """What has been shown of a run, and how it went."""

    def __init__(self, agent: Agent, screen: Screen) -> None:
        self._agent = agent
        self._screen = screen
        self.done = False
        self.problem = ""
        self.usage: dict[str, Any] | None = None

    def show(self) -> None:
        for frame in self._agent.frames():
            match frame:
                case {"type": "response", "success": False, "command": command, "error": error}:
                    if command == "prompt":
                        raise Refused(f"prompt: {error}")
                    self._screen.note(f"client: {command}: {error}")  # It came too late: nobody waits for it any more.
                case {"type": "text_delta", "delta": delta}:
                    self._screen.say(delta)
                case {"type": "tool_call", "name": name, "args": args}:
                    shown = json.dumps(args, ensure_ascii=False, separators=(",", ":"))
                    self._screen.note(f"→ {name} {shown[:100]}")
                case {"type": "tool_progress", "text": text}:
                    self._screen.progress(text)
                case {"type": "tool_result", "is_error": is_error, "content": content}:
                    self._screen.note(("✗ " if is_error else "✓ ") + first_line(content))
                case {"type": "question"}:
                    self._answer(frame)
                case {"type": "tool_request", "request_id": id, "args": args}:
                    reply = self._screen.ask(f"? {args.get('question')}")
                    content = "Nobody is here to answer." if reply is None else reply
                    self._agent.send(type="tool_response", request_id=id, content=content, is_error=reply is None)
                case {"type": "usage", "cumulative": cumulative}:
                    self.usage = cumulative
                case {"type": "turn_end", "stop": stop}:  # One model call. What counts is how the last one went.
                    self.problem = frame.get("error") or STOPPED.get(stop, "")
                case {"type": "error", "message": message}:
                    self.problem = message
                case {"type": "done"}:
                    self.done = True
                    return
                case _:
                    pass  # News we do not need. The protocol only grows, so ignore what you do not know.

    def _answer(self, question: dict[str, Any]) -> None:
        """The agent waits for this. No answer is a no, but only we know that none will come."""
        options = question.get("options", [])
        permission = question.get("permission")
        shown = permission["preview"] if permission else question.get("message", "")
        listed = [f"  {number} {option}" for number, option in enumerate(options, 1)]
        reply = self._screen.ask("\n".join([f"? {question['title']}", *([shown] if shown else []), *listed]))
        said: dict[str, Any] = {"cancelled": True}
        if reply is not None and question["method"] == "confirm":
            said = {"confirmed": reply.lower() in ("y", "yes")}
        elif reply is not None and question["method"] == "select":
            if reply.isdecimal() and 0 < int(reply) <= len(options):
                said = {"value": options[int(reply) - 1]}
        elif reply is not None:
            said = {"value": reply}
        self._agent.send(type="answer", request_id=question["request_id"], **said)


def run(agent: Agent, message: str, images: list[dict[str, str]], screen: Screen, *, asks: bool) -> int:
    answer = Answer(agent, screen)
    interrupted = False
    try:
        if token := os.environ.get("ZOTCORE_RPC_TOKEN"):
            agent.ask(type="hello", token=token)
        if asks:
            agent.ask(type="set_tools", tools=[ASK_USER])
        agent.send(id="prompt", type="prompt", message=message, images=images)
        try:
            answer.show()
        except KeyboardInterrupt:
            interrupted = True
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # A second Ctrl-C ends us, which closes the agent's pipes.
            agent.send(type="abort")
            answer.show()
    except Refused as refused:
        answer.problem = str(refused)
    except Gone:
        answer.problem = answer.problem or "the agent ended before it was done"

    screen.end_line()
    if answer.problem:
        screen.note(f"client: {answer.problem}")
    if answer.usage:
        used = answer.usage
        more = "" if used.get("cost_known", True) else " + ?"  # Not every price is known.
        screen.note(f"{used['input']} tokens in, {used['output']} out, ${used['cost_usd']:.4f}{more}")
    return 130 if interrupted and answer.done else 1 if answer.problem else 0


def main() -> int:
    argv = sys.argv[1:]
    split = argv.index("--") if "--" in argv else len(argv)
    parser = argparse.ArgumentParser(usage="client.py [--image FILE] [--ask] PROMPT [-- flags of linnet rpc]")
    parser.add_argument("--image", type=Path)
    parser.add_argument("--ask", action="store_true", help="the model may ask you something")
    parser.add_argument("prompt")
    args = parser.parse_args(argv[:split])
    screen = Screen()
    command = [os.environ.get("LINNET", "linnet"), "rpc", *argv[split + 1 :]]
    with suppress(KeyboardInterrupt):  # Before there was anything to abort.
        try:
            images = [read_image(args.image)] if args.image else []
            agent = Agent(command)
        except OSError as error:
            screen.note(f"client: {error.filename}: {error.strerror}")
            return 1
        try:
            return run(agent, args.prompt, images, screen, asks=args.ask)
        finally:
            agent.close()
    return 130


if __name__ == "__main__":
    sys.exit(main())
