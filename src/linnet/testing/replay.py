"""Replays what was sent to another program: sends linnet the same lines at the same points, to compare both outputs.

A capture is a file of JSON lines: `argv` first, then in order what was sent (`in`), printed (`out`, `err`), and `exit`.
An `in` that is no command has the line as it was in `raw`; `<EOF>` there is the end of stdin.
"""

import json
from collections.abc import Callable, Container, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from linnet.testing.agent import Agent

Frame = dict[str, Any]
Frames: TypeAlias = Callable[[list[Frame]], list[Frame]]
PATIENCE = 10.0


class Difference(NamedTuple):
    """A deliberate difference from the other program."""

    reason: str
    expected: Frames  # Turns what the other program printed into what linnet prints instead.


class Joined:
    """Frames in which each run of pieces is one frame; other frames that fall into the run follow it."""

    def __init__(self, takes: Callable[[Frame, Frame], bool], falls: Iterable[str], frames: Iterable[Frame]) -> None:
        """`takes` adds a frame to the one before, if it is the next piece of the same, and returns whether it was.
        `falls` are the types of frames that may fall into a run.
        """
        self.frames: list[Frame] = []
        self._takes = takes
        self._falls = frozenset(falls)
        self._last: Frame = {"type": ""}  # Of those that do not fall anywhere.
        for frame in frames:
            self.add(frame)

    def add(self, frame: Frame) -> None:
        """Add the next frame."""
        if self._takes(self._last, frame):
            return
        self.frames.append(json.loads(json.dumps(frame)))
        if frame["type"] not in self._falls:
            self._last = self.frames[-1]


def load(path: Path) -> list[Frame]:
    """Return the lines of a capture."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def printed(capture: list[Frame]) -> list[Frame]:
    """Return the frames that the other program printed."""
    return [entry["out"] for entry in capture if "out" in entry]


def changed(*, when: Frame, to: Frame) -> Frames:
    """Return what gives frames that have all of `when` the fields of `to`; a field that is None there is left out."""

    def change(frame: Frame) -> Frame:
        if not when.items() <= frame.items():
            return frame
        return {key: value for key, value in {**frame, **to}.items() if value is not None}

    return lambda frames: [change(frame) for frame in frames]


def replaced(old: str, new: str) -> Frames:
    """Return what replaces a text in all frames."""
    return lambda frames: [json.loads(json.dumps(frame).replace(old, new)) for frame in frames]


def replay(
    agent: Agent,
    capture: list[Frame],
    expected: Frames,
    joined: Callable[[list[Frame]], Joined],
    uncounted: Container[str] = (),
    said: Callable[[Any], Any] = lambda line: line,
) -> None:
    """Send each line of a capture when as much has come as had before it there. Raises TimeoutError if it does not.

    `uncounted` are the types of frames that only linnet prints. `said` puts what we were answered into a line that has
    what the other program was answered, such as an id.
    """
    theirs: list[Frame] = []
    ours = joined([])

    def read() -> bool:
        frame = agent.read(PATIENCE)
        if frame is not None and frame["type"] not in uncounted:
            ours.add(frame)
        return frame is not None

    for entry in capture:
        if "out" in entry:
            theirs.append(entry["out"])
        elif "in" in entry:
            while len(ours.frames) < len(joined(expected(theirs)).frames) and read():
                pass
            if entry["in"] == {"raw": "<EOF>"}:
                agent.end()
            else:
                agent.send_bytes(_sent(said(entry["in"])))
    while agent.read(PATIENCE) is not None:
        pass


def _sent(line: Any) -> bytes:
    raw = line.get("raw") if isinstance(line, dict) else None
    if raw is None:
        return json.dumps(line).encode() + b"\n"
    return str(raw).removesuffix(" (no newline)").encode()
