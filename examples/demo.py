"""What `make demo` runs: a real linnet with today's pi protocol on its pipes, shown as a person would like to see it.

The model is a script, so it needs no key and no network; the process, the protocol, the tools and the files are real.
"""

import json
import os
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from shutil import get_terminal_size
from tempfile import TemporaryDirectory
from threading import Timer
from time import perf_counter
from typing import Any

Frame = dict[str, Any]

LINNET = Path(sys.executable).with_name("linnet")
FLAGS = ["--mode", "rpc", "--dialect", "pi-1", "--provider", "scripted", "--no-session"]
PROMPT = "Write a small program, run it, and mend what is broken."
PATIENCE = 60  # Seconds for everything; it takes less than one.

WIDTH = min(get_terminal_size((100, 24)).columns, 100)
COLOUR = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


GONE = "the agent ended in the middle of the conversation"


class DemoFailed(Exception):
    pass


class Agent:
    """The process, what it was asked and what it answered. Frames are taken one at a time, in order."""

    def __init__(self, folder: Path) -> None:
        self.spawned = perf_counter()
        self.frames: Counter[str] = Counter()
        self.process = subprocess.Popen([LINNET, *FLAGS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
        assert self.process.stdin
        assert self.process.stdout
        self._stdin, self._stdout = self.process.stdin, self.process.stdout

    def send(self, **command: str) -> None:
        show_json("→ ", command, BOLD)
        try:
            self._stdin.write(json.dumps(command).encode() + b"\n")
            self._stdin.flush()
        except BrokenPipeError:
            raise DemoFailed(GONE) from None

    def take(self) -> Frame:
        line = self._stdout.readline()
        if not line.endswith(b"\n"):
            raise DemoFailed(GONE)
        frame: Frame = json.loads(line)
        self.frames[frame["type"]] += 1
        if frame["type"] == "response":
            show_json("← ", frame, DIM)
            if not frame["success"]:
                raise DemoFailed(f"{frame['command']} was refused: {frame['error']}")
        return frame

    def ask(self, **command: str) -> Frame:
        self.send(**command)
        while (answer := self.take())["type"] != "response":
            pass  # An event: what has changed is told before the answer.
        data: Frame = answer.get("data", {})
        return data

    def events(self) -> Iterator[Frame]:
        while True:
            frame = self.take()
            if frame["type"] == "agent_settled":  # Not `agent_end`: a retry may follow that.
                return
            yield frame

    def finish(self) -> None:
        """Without more input it ends by itself."""
        self._stdin.close()
        code = self.process.wait()
        if code:
            raise DemoFailed(f"the agent ended with exit code {code}")

    def close(self) -> None:
        self.process.kill()
        with suppress(BrokenPipeError), self.process:  # Which closes the pipes and waits.
            pass


BOLD, DIM, RED, GREEN, CYAN = "1", "2", "31", "32", "36"


def paint(text: str, colour: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if COLOUR and text else text


def show(margin: str, line: str, colour: str = "") -> None:
    """One line, cut where the screen ends."""
    room = WIDTH - len(margin)
    line = line.expandtabs(4)
    print((margin + paint(line if len(line) <= room else line[: room - 1] + "…", colour)).rstrip())


def show_json(margin: str, frame: Frame, colour: str) -> None:
    """All of it, folded after commas."""
    text = json.dumps(frame, ensure_ascii=False, separators=(", ", ":"))
    for line in textwrap.wrap(text, WIDTH - len(margin), break_on_hyphens=False):
        print(margin + paint(line, colour))
        margin = " " * len(margin)


def heading(text: str) -> None:
    print(f"\n{paint(text, BOLD)} {paint('─' * (WIDTH - len(text) - 1), DIM)}")


def in_short(call: Frame) -> str:
    """What a person needs to know of a call's arguments: the command or the path, and how much more there is."""
    args = dict(call["args"])
    first = args.pop("command", None) or args.pop("path", "")
    match args:
        case {"content": str(content)}:
            rest = f"({len(content.splitlines())} lines)"
        case {"edits": [*edits]}:
            rest = f"({len(edits)} replacement{'s' * (len(edits) != 1)})"
        case _:
            rest = " ".join(f"{name}={json.dumps(value)}" for name, value in args.items())
    return f"{first} {rest}".rstrip()


def show_result(call: Frame, result: Frame) -> None:
    mark, colour = ("✗", RED) if result["isError"] else ("✓", GREEN)
    print(f"\n  {paint(mark, colour)} {paint(call['toolName'], CYAN)} {in_short(call)}")
    text = "\n".join(block.get("text", "[image]") for block in result["result"]["content"])
    lines = text.removeprefix(f"$ {call['args'].get('command')}\n\n").rstrip("\n").split("\n")
    most = 10
    for line in lines[:most]:
        show("    │ ", line, DIM)
    if len(lines) > most:
        show("    │ ", f"… {len(lines) - most} more lines", DIM)


def show_run(agent: Agent) -> float:
    """The events of one prompt: words flow together, a call is shown with its result. Returns the seconds in tools."""
    words: list[str] = []
    calls: dict[str, Frame] = {}
    last: Frame = {}
    turns, in_tools, since = 0, 0.0, 0.0
    for event in agent.events():
        match event:
            case {"type": "turn_start"}:
                turns += 1
                print(f"\n{paint(f'step {turns}', DIM)}")
            case {"assistantMessageEvent": {"type": "text_delta", "delta": delta}}:
                words.append(delta)
            case {"type": "message_end", "message": {"role": "assistant"} as last}:
                print(textwrap.fill("".join(words), WIDTH, initial_indent="  ", subsequent_indent="  "))
                words.clear()
            case {"type": "tool_execution_start", "toolCallId": id}:
                since = since if calls else perf_counter()
                calls[id] = event
            case {"type": "tool_execution_end", "toolCallId": id}:
                show_result(calls.pop(id), event)
                in_tools += 0.0 if calls else perf_counter() - since
            case _:
                pass
    if last.get("stopReason") != "stop":
        raise DemoFailed(last.get("errorMessage") or f"the run ended with {last.get('stopReason')!r}")
    return in_tools


def show_folder(folder: Path) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not files:
        raise DemoFailed("the agent left no file behind")
    for path in files:
        print(f"  {paint(str(path.relative_to(folder)), CYAN)}")
        for line in path.read_text().splitlines():
            show("    │ ", line)


def demo(folder: Path) -> None:
    print(
        f"{paint('linnet', BOLD)}: a coding agent on a pipe. The process is real, the model a script: no key is needed."
    )

    heading("Spawn it, and ask how it is")
    print(f"$ cd {folder} && linnet {' '.join(FLAGS)}")
    agent = Agent(folder)
    watchdog = Timer(PATIENCE, agent.process.kill)
    watchdog.start()
    try:
        agent.ask(id="1", type="get_state")
        answered = perf_counter()
        agent.ask(id="2", type="set_thinking_level", level="low")

        heading("Give it work")
        asked = perf_counter()
        agent.ask(id="3", type="prompt", message=PROMPT)
        in_tools = show_run(agent)
        done = perf_counter()

        heading("What is in the folder now")
        show_folder(folder)

        heading("What it took")
        stats = agent.ask(id="4", type="get_session_stats")
        agent.finish()
    finally:
        watchdog.cancel()
        agent.close()
    tokens = stats["tokens"]
    counted = ", ".join(f"{count}\u00a0{name}" for name, count in agent.frames.most_common())
    rows = {
        "spawn to first answer": f"{(answered - agent.spawned) * 1000:.0f} ms",
        "prompt to settled": f"{(done - asked) * 1000:.0f} ms, {in_tools * 1000:.0f} of them in tools",
        "tokens": f"{tokens['input']} in, {tokens['output']} out, ${stats['cost']:.4f}",
        "frames": counted,
    }
    for name, value in rows.items():
        print(textwrap.fill(value, WIDTH, initial_indent=f"  {name:<23}", subsequent_indent=" " * 25))

    print(f"\n{paint('Embed it:', BOLD)} spawn it, write lines, read lines. docs/pi-1-protocol.md has them all")


def main() -> int:
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # A terminal without arrows gets question marks, not a traceback.
    try:
        with TemporaryDirectory(prefix="linnet-demo-") as folder:
            demo(Path(folder))
    except (DemoFailed, OSError) as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
