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
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from linnet.client import AgentGone, Image, Refused, Run, ZotClient, zot

# A tool that is run here, and not by the agent. With --ask, the model is offered it.
ASK_USER = {
    "name": "ask_user",
    "description": "Ask the person who is at the keyboard.",
    "parameters": {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]},
}
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


def first_line(content: Sequence[zot.TextBlock | zot.ImageBlock]) -> str:
    text = next((block.text for block in content if isinstance(block, zot.TextBlock)), "[image]")
    return text.partition("\n")[0]


def read_image(path: Path) -> Image:
    mime_type, _ = mimetypes.guess_type(path.name)
    return Image(mime_type or "", base64.b64encode(path.read_bytes()).decode())


class Answer:
    """What has been shown of a run, and how it went."""

    def __init__(self, agent: ZotClient, screen: Screen) -> None:
        self._agent = agent
        self._screen = screen
        self.done = False
        self.problem = ""
        self.usage: zot.Tokens | None = None

    def show(self, run: Run[zot.Event]) -> None:
        for event in run:
            match event:
                case zot.TextDelta(delta):
                    self._screen.say(delta)
                case zot.ToolCall(name=name, args=args):
                    shown = json.dumps(args, ensure_ascii=False, separators=(",", ":"))
                    self._screen.note(f"→ {name} {shown[:100]}")
                case zot.ToolProgress(text=text):
                    self._screen.progress(text)
                case zot.ToolResult(is_error=is_error, content=content):
                    self._screen.note(("✗ " if is_error else "✓ ") + first_line(content))
                case zot.Question() | zot.ToolRequest():
                    try:
                        self._answer(event)
                    except Refused as refused:  # It came too late: nobody waits for it any more.
                        self._screen.note(f"client: {refused}")
                case zot.Usage(cumulative=cumulative):
                    self.usage = cumulative
                case zot.TurnEnd(stop, error):  # One model call. What counts is how the last one went.
                    self.problem = error or STOPPED.get(stop, "")
                case zot.Error(message):
                    self.problem = message
                case zot.Done():
                    self.done = True
                case _:
                    pass  # News we do not need. The protocol only grows, so ignore what you do not know.

    def _answer(self, question: zot.Question | zot.ToolRequest) -> None:
        """The agent waits for this. No answer is a no, but only we know that none will come."""
        if isinstance(question, zot.ToolRequest):
            reply = self._screen.ask(f"? {question.args.get('question')}")
            content = "Nobody is here to answer." if reply is None else reply
            self._agent.tool_response(question.request_id, content, is_error=reply is None)
            return
        options = question.options or ()
        shown = question.permission.preview if question.permission else question.message
        listed = [f"  {number} {option}" for number, option in enumerate(options, 1)]
        reply = self._screen.ask("\n".join([f"? {question.title}", *([shown] if shown else []), *listed]))
        if reply is None:
            self._agent.answer(question.request_id)
        elif question.method == "confirm":
            self._agent.answer(question.request_id, confirmed=reply.lower() in ("y", "yes"))
        elif question.method == "select":
            chosen = options[int(reply) - 1] if reply.isdecimal() and 0 < int(reply) <= len(options) else None
            self._agent.answer(question.request_id, chosen)
        else:
            self._agent.answer(question.request_id, reply)


def run(agent: ZotClient, message: str, images: list[Image], screen: Screen, *, asks: bool) -> int:
    answer = Answer(agent, screen)
    interrupted = False
    try:
        if token := os.environ.get("ZOTCORE_RPC_TOKEN"):
            agent.hello(token)
        if asks:
            agent.set_tools([ASK_USER])
        prompt = agent.prompt(message, images)
        try:
            answer.show(prompt)
        except KeyboardInterrupt:
            interrupted = True
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # A second Ctrl-C ends us, which closes the agent's pipes.
            agent.tell("abort")
            answer.show(prompt)
    except Refused as refused:
        answer.problem = str(refused)
    except AgentGone:
        answer.problem = answer.problem or "the agent ended before it was done"

    screen.end_line()
    if answer.problem:
        screen.note(f"client: {answer.problem}")
    if answer.usage:
        more = "" if answer.usage.cost_known else " + ?"  # Not every price is known.
        screen.note(f"{answer.usage.input} tokens in, {answer.usage.output} out, ${answer.usage.cost_usd:.4f}{more}")
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
            agent = ZotClient(command, show_stderr=True)
        except OSError as error:
            screen.note(f"client: {error.filename}: {error.strerror}")
            return 1
        with agent:
            return run(agent, args.prompt, images, screen, asks=args.ask)
    return 130


if __name__ == "__main__":
    sys.exit(main())
