"""A thousand calls that were denied, with aborts, steering and the end of stdin at any moment: none of them has run."""

import json
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linnet.testing.agent import Agent, Frame
from linnet.testing.model_server import ModelServer

CALLS = 60  # Of each prompt.
EXAMPLES = 30
numbers = count()
# What is done about a question: most are denied, in one way or another.
denials = st.sampled_from(
    [{"value": "Deny"}, {"value": "Deny", "reason": "no"}, {"confirmed": False}, {"cancelled": True}]
)
moments = st.sampled_from(
    [
        {"value": "Deny"},
        {"value": "Deny", "reason": "no"},
        {"confirmed": False},
        {"cancelled": True},
        {"value": "nonsense"},
        "abort",
        "steer",
        "follow_up",
        "get_state",
        "abort, then deny",
        "deny twice",
        "new_session",
        "end",
    ]
)


class Client:
    """Answers questions as it is told to, and keeps account of what came back."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.ids = count()
        self.sent: dict[Any, int] = {}
        self.open: set[str] = set()
        self.ended = False

    def send(self, type: str, **fields: Any) -> None:
        id = fields.pop("id", None) or f"c{next(self.ids)}"
        self.sent[id] = self.sent.get(id, 0) + 1
        self.agent.send({"type": type, "id": id, **fields})

    def read(self) -> Frame | None:
        frame = self.agent.read()
        if frame is None:
            return None
        match frame["type"]:
            case "response":
                self.sent[frame["id"]] -= 1
                if frame["command"] == "extension_ui_response" and frame["success"]:
                    self.open.remove(frame["id"])
            case "extension_ui_request":
                self.open.add(frame["id"])
            case "extension_ui_closed":
                self.open.remove(frame["id"])
            case _:
                pass
        return frame

    def respond(self, id: str, what: Any) -> None:
        if isinstance(what, dict):
            self.send("extension_ui_response", id=id, **what)
        elif what == "abort, then deny":
            self.send("abort")
            self.send("extension_ui_response", id=id, value="Deny")
        elif what == "deny twice":
            self.send("extension_ui_response", id=id, value="Deny")
            self.send("extension_ui_response", id=id, value="Allow once")
        elif what in ("steer", "follow_up"):
            self.send(what, message="go on")
        elif what != "end":
            self.send(what)


def test_nothing_that_was_denied_has_run(tmp_path: Path, server: ModelServer) -> None:
    denied = 0

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(denials, st.dictionaries(st.integers(0, CALLS - 1), moments, max_size=3))
    def play(denial: Any, others: dict[int, Any]) -> None:
        nonlocal denied
        script = [others.get(n, denial) for n in range(CALLS)]
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        flags = (
            "--mode",
            "rpc",
            "--provider",
            "anthropic",
            "--base-url",
            server.url,
            "--api-key",
            "x",
            "--permission",
            "ask",
        )
        with Agent(*flags, "--no-session", cwd=folder) as agent:
            client = Client(agent)
            calls = [["bash", {"command": f"touch ran-{n}"}] for n in range(CALLS)]
            client.send("prompt", message=f"!tools {json.dumps(calls)}")
            denied += talk(client, script)
        left = [path.name for path in folder.iterdir() if path.name.startswith("ran-")]
        assert left == []
        assert not client.open, "a question was neither answered nor withdrawn"
        assert set(client.sent.values()) <= {0}, "one response a command"

    play()
    assert denied >= 1000, denied


def talk(client: Client, script: list[Any]) -> int:
    """Until the process has ended. Returns how many questions were asked."""
    questions = 0
    while (frame := client.read()) is not None:
        if frame["type"] == "extension_ui_request":
            questions += 1
            what = script.pop(0) if script else "end"
            if client.ended:
                continue
            client.respond(frame["id"], what)
            if not isinstance(what, dict) and what not in (
                "abort, then deny",
                "deny twice",
                "abort",
                "new_session",
                "end",
            ):
                client.send("extension_ui_response", id=frame["id"], value="Deny")
            if what == {"value": "nonsense"}:
                client.send("extension_ui_response", id=frame["id"], value="Deny")
            if what == "end":
                close(client)
        elif frame["type"] == "agent_end" and not client.ended and not client.open:
            close(client)
    return questions


def close(client: Client) -> None:
    client.ended = True
    client.agent._stdin.close()
