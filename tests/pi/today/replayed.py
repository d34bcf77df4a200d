"""Sends an agent what a capture says was sent to pi, at the same points, and returns what it printed."""

import json
import re
import signal
from pathlib import Path
from typing import Any

from linnet.testing.agent import Agent
from tests.pi.today.compared import Frame, Joined, kind

CAPTURES = Path(__file__).parent / "captures"
PATIENCE = 10.0
SHORTENED = re.compile(r"(?s)(.*?)(..)…\[(\d+) chars\]…(.*)")


def load(name: str) -> list[Frame]:
    """Return the lines of a capture. What was cut out of a prompt is back: its last two characters, again and again."""
    lines = (CAPTURES / f"{name}.jsonl").read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def printed(capture: list[Frame]) -> list[Frame]:
    """Return the frames that pi printed."""
    return [entry["out"] for entry in capture if "out" in entry]


def whole(value: Any) -> Any:
    """Return a command with the middle of its long texts back."""
    match value:
        case dict():
            return {name: whole(item) for name, item in value.items()}
        case str() if found := SHORTENED.fullmatch(value):
            begin, unit, count, end = found.groups()
            return begin + unit * (int(count) // 2 + 1) + end
        case _:
            return value


class Replay:
    """One agent that is sent the lines of a capture.

    A line goes out when the frame that it followed there has come here as often as it had there, and all answers have.
    `late` are those whose frame did not come: what differs tells why.
    """

    def __init__(self, agent: Agent, capture: list[Frame], patience: float = PATIENCE) -> None:
        self.agent = agent
        self.late: list[Any] = []
        self._capture = capture
        self._patience = patience
        self._ours = Joined()
        self._told = Told(capture)

    def run(self) -> list[Frame]:
        """Send everything, and return the frames that came."""
        before = Joined()
        for entry in self._capture:
            if "out" in entry:
                before.add(entry["out"])
            elif "in" in entry:
                self._wait(before, entry["in"])
                self._send(entry["in"])
        try:
            while self._read():
                pass
        except TimeoutError:
            self.late.append("the end")
        return self.agent.seen

    def _wait(self, theirs: Joined, line: Any) -> None:
        if not theirs.frames:
            return
        last = next(frame for frame in reversed(theirs.frames) if frame["type"] != "tool_execution_update")
        wanted = {each: count for each, count in theirs.counts.items() if each[0] in ("response", "agent_settled")}
        wanted[kind(last)] = theirs.counts[kind(last)]
        try:
            while any(self._ours.counts[each] < count for each, count in wanted.items()) and self._read():
                pass
        except TimeoutError:
            self.late.append(line)

    def _read(self) -> bool:
        frame = self.agent.read(self._patience)
        if frame is not None:
            self._ours.add(frame)
        return frame is not None

    def _send(self, line: Any) -> None:
        try:
            match line:
                case {"raw": "<EOF>"}:
                    self.agent.end_input()
                case {"signal": name}:
                    self.agent.signal(signal.Signals[name])
                case {"lines": lines}:
                    self.agent.send_bytes(b"".join(map(self._bytes, lines)))
                case _:
                    self.agent.send_bytes(self._bytes(line))
        except (BrokenPipeError, ValueError):
            self.late.append(line)

    def _bytes(self, line: Any) -> bytes:
        if isinstance(line, str):
            return line.encode() + b"\n"
        return json.dumps(self._told.ours(whole(line), self.agent.seen)).encode() + b"\n"


class Told:
    """A command names an entry or a session by what it was told; ours is the one that was told in the same place."""

    NAMES = ("entryId", "since", "sessionPath", "parentSession")

    def __init__(self, capture: list[Frame]) -> None:
        self._theirs = list(_ids(printed(capture)))

    def ours(self, command: Any, seen: list[Frame]) -> Any:
        """Return the command with our names in it."""
        if not isinstance(command, dict):
            return command
        known = list(_ids(seen))
        found = {
            name: known[self._theirs.index(value)]
            for name, value in command.items()
            if name in self.NAMES and value in self._theirs and self._theirs.index(value) < len(known)
        }
        return {**command, **found}


def _ids(frames: list[Frame]) -> list[str]:
    out: list[str] = []
    for frame in frames:
        data = frame.get("data")
        if frame.get("command") in ("get_fork_messages", "get_entries") and isinstance(data, dict):
            listed = data.get("messages", data.get("entries")) or []
            out += [str(item.get("entryId", item.get("id"))) for item in listed if isinstance(item, dict)]
        if frame.get("command") == "get_state" and isinstance(data, dict):
            out.append(data.get("sessionFile", ""))
    return out
