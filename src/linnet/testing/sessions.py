"""Drives a conversation in the pi protocol, and reads the file it is kept in, for tests that look at both."""

import json
from pathlib import Path

from linnet.testing.agent import Agent, Frame


def run(agent: Agent, message: str) -> list[Frame]:
    """Send a prompt and return its frames up to `agent_end`."""
    agent.send({"id": "p", "type": "prompt", "message": message})
    return agent.until("agent_end")


def state(agent: Agent) -> Frame:
    """Return the answer to `get_state`."""
    data: Frame = agent.ask("get_state")["data"]
    return data


def file_of(agent: Agent) -> Path:
    """Return the file of the session."""
    return Path(state(agent)["sessionFile"])


def lines(file: Path) -> list[Frame]:
    """Return the lines of a file of a session."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]
