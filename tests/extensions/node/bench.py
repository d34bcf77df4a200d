"""Where the Node of the tests is, and how an agent with extensions for pi is driven."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame

DIALOGS: dict[str, Frame] = {
    "select": {},
    "confirm": {"confirmed": True},
    "input": {"value": "typed"},
    "editor": {"value": "edited"},
}


def node() -> str:
    """Return a Node that is new enough, or skip the test and say why; where CI is set, fail it."""
    found = Path(sys.prefix) / "bin" / "node24"
    if not found.exists():
        reason = "node24 is not installed: `make .venv/.node` does it, where there is npm"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    return str(found)


ENDS = ("agent_end", "agent_settled")


class Driven:
    """An agent with extensions, and a client that answers every dialog."""

    def __init__(self, agent: Agent, answers: Callable[[Frame], Frame | None] = lambda frame: None) -> None:
        self.agent = agent
        self._answers = answers
        self._asked = count()

    def until(self, wanted: Callable[[Frame], bool]) -> list[Frame]:
        """Return the frames up to the first that is wanted, and answer the dialogs among them."""
        frames: list[Frame] = []
        while True:
            frame = self.agent.read()
            if frame is None:
                raise EOFError(self.agent.stderr)
            frames.append(frame)
            if frame["type"] == "extension_ui_request" and frame["method"] in DIALOGS:
                chosen = {"value": frame["options"][0]} if frame["method"] == "select" else DIALOGS[frame["method"]]
                answer = self._answers(frame) or chosen
                self.agent.send({"type": "extension_ui_response", "id": frame["id"], **answer})
            if wanted(frame):
                return frames

    def ask(self, type: str, **fields: Any) -> list[Frame]:
        """Send a command, and return the frames up to its response, which is the last."""
        id = f"asked-{next(self._asked)}"  # Never that of a prompt whose command has not answered yet.
        self.agent.send({"id": id, "type": type, **fields})
        return self.until(lambda frame: frame["type"] == "response" and frame.get("id") == id)

    def say(self, line: str | Frame) -> None:
        """Send a prompt or a command, and read until it is answered and no run goes on; or until the agent is gone."""
        command = {"type": "prompt", "message": line} if isinstance(line, str) else line
        id = f"said-{next(self._asked)}"
        running = answered = False

        def over(frame: Frame) -> bool:
            nonlocal running, answered
            running = (running or frame["type"] == "agent_start") and frame["type"] not in ENDS
            answered = answered or (frame["type"] == "response" and frame.get("id") == id)
            return answered and not running

        with suppress(EOFError, BrokenPipeError):
            self.agent.send({**command, "id": id})
            self.until(over)
            while True:  # A command may have begun a run, and a run may go on.
                frames = self.ask("get_state")
                if frames[-1]["data"]["isStreaming"]:
                    self.until(lambda frame: frame["type"] in ENDS)
                elif not any(frame["type"] == "agent_start" for frame in frames):
                    return

    def finish(self) -> None:
        """Close its input, and read all that still comes."""
        with suppress(BrokenPipeError):
            self.agent.end()

    def run(self, message: str) -> list[Frame]:
        """Send a prompt, and return the frames up to the end of its run."""
        self.agent.send({"type": "prompt", "message": message})
        return self.until(lambda frame: frame["type"] == "agent_end")

    def command(self, message: str) -> list[str]:
        """Run a command of an extension's, and return what it notified of."""
        return notices(self.ask("prompt", message=message))


def notices(frames: list[Frame]) -> list[str]:
    """Return the messages that were shown."""
    return [frame["message"] for frame in frames if frame.get("method") == "notify"]


def results(frames: list[Frame]) -> list[tuple[str, bool, str]]:
    """Return the tools that ended, whether they failed, and what they said."""
    ended = [frame for frame in frames if frame["type"] == "tool_execution_end"]
    return [
        (frame["toolName"], frame["isError"], "".join(part.get("text", "") for part in frame["result"]["content"]))
        for frame in ended
    ]


def errors(frames: list[Frame]) -> list[tuple[str, str]]:
    """Return the events in which extensions failed, and why."""
    return [(frame["event"], frame["error"]) for frame in frames if frame["type"].endswith("_error")]
