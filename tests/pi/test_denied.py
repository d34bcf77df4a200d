"""A thousand calls that were denied, with aborts, steering and the end of stdin at any moment: none of them has run.

Over both protocols, so that it can be seen what is the agent's doing and what a protocol's.
"""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linnet.testing.agent import Agent, Frame
from linnet.testing.model_server import ModelServer
from tests.suite.forked import ForkedAgent
from tests.suite.times import times

CALLS = 80  # Of each prompt.
DENIED = times(1000)
EXAMPLES = times(12)


class Words(NamedTuple):
    """What a protocol calls it. `said` are commands that say something more, or leave what there is."""

    flags: tuple[str, ...]
    question: str
    closed: str
    id: str
    answer: Callable[[str, str], Frame]
    ended: str
    said: dict[str, Frame]


PI = Words(
    ("--mode", "rpc", "--no-session"),
    "extension_ui_request",
    "extension_ui_closed",
    "id",
    lambda question, command: {"type": "extension_ui_response", "id": question},
    "agent_end",
    {
        "steer": {"type": "steer", "message": "go on"},
        "follow_up": {"type": "follow_up", "message": "go on"},
        "leave": {"type": "new_session"},
    },
)
ZOT = Words(
    ("rpc",),
    "question",
    "question_closed",
    "request_id",
    lambda question, command: {"type": "answer", "id": command, "request_id": question},
    "done",
    {
        "steer": {"type": "prompt", "message": "go on"},
        "follow_up": {"type": "prompt", "message": "go on"},
        "leave": {"type": "clear"},
    },
)
NO = ({"value": "Deny"}, {"value": "Deny", "reason": "no"}, {"confirmed": False}, {"cancelled": True})
YES = ({"value": "Allow once"}, {"confirmed": True})
# What is done about a question: several answers in one breath, of which the first that makes sense counts.
denials = st.sampled_from([[answer] for answer in NO])
replies: st.SearchStrategy[list[Frame]] = st.one_of(
    denials,
    st.sampled_from([[answer] for answer in YES]),
    st.tuples(st.sampled_from(NO), st.sampled_from(YES)).map(list),
    st.sampled_from(NO).map(lambda answer: [{"value": "nonsense"}, answer]),
    st.just([]),
)
moments = st.sampled_from(["abort", "steer", "follow_up", "get_state", "leave", "end"])
FRAMES = CALLS * 8  # So many there are, more or less: moments are anywhere among them.


class Client:
    """Answers questions as it is told to, and keeps account of what came back."""

    def __init__(self, agent: Agent, words: Words) -> None:
        self.agent = agent
        self.words = words
        self.ids = count()
        self.unanswered: dict[str, int] = {}
        self.answering: dict[str, str] = {}
        self.open: set[str] = set()
        self.asked: set[str] = set()
        self.allowed: set[str] = set()
        self.ended = False

    def send(self, *commands: Frame) -> None:
        """All in one write."""
        if self.ended:
            return
        for command in commands:
            command.setdefault("id", f"c{next(self.ids)}")
            self.unanswered[command["id"]] = self.unanswered.get(command["id"], 0) + 1
        self.agent.send(*commands)

    def read(self) -> Frame | None:
        frame = self.agent.read()
        if frame is None:
            return None
        words = self.words
        if frame["type"] == "response":
            self.unanswered[frame["id"]] -= 1
            if frame["command"] == words.answer("", "")["type"] and frame["success"]:
                self.open.remove(self.answering[frame["id"]])
        elif frame["type"] == words.question:
            self.open.add(frame[words.id])
        elif frame["type"] == words.closed:
            self.open.remove(frame[words.id])
        return frame

    def reply(self, question: Frame, answers: list[Frame]) -> None:
        """A yes that comes after a no is too late; what comes first that makes sense is what counts."""
        id, called = question[self.words.id], question["permission"]["args"]["command"].split()[1]
        self.asked.add(called)
        if not self.ended and answers and answers[0] in YES:
            self.allowed.add(called)
        commands = []
        for given_ in answers:
            command = {**self.words.answer(id, f"c{next(self.ids)}"), **given_}
            self.answering[command["id"]] = id
            commands.append(command)
        if commands:
            self.send(*commands)

    def do(self, what: str) -> None:
        if what == "end":
            self.ended = True
            self.agent._stdin.close()
        else:
            self.send(dict(self.words.said.get(what, {"type": what})))


@pytest.mark.drawn
@pytest.mark.parametrize("words", [PI, ZOT], ids=["pi", "zot"])
def test_nothing_that_was_denied_has_run(tmp_path: Path, server: ModelServer, words: Words) -> None:
    numbers = count()
    denied = ran = 0

    def play(denial: list[Frame], others: dict[int, list[Frame]], when: dict[int, str]) -> None:
        nonlocal denied, ran
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        model = ("--provider", "anthropic", "--base-url", server.url, "--api-key", "x", "--permission", "ask")
        with ForkedAgent(*words.flags, *model, cwd=folder) as agent:
            client = Client(agent, words)
            calls = [["bash", {"command": f"touch ran-{n}"}] for n in range(CALLS)]
            client.send({"type": "prompt", "message": f"!tools {json.dumps(calls)}"})
            talk(client, [others.get(n, denial) for n in range(CALLS)], when)
        left = {path.name for path in folder.iterdir() if path.name.startswith("ran-")}
        assert left <= client.allowed
        assert not client.open, "a question was neither answered nor withdrawn"
        assert set(client.unanswered.values()) <= {0}, "one response a command"
        denied += len(client.asked - client.allowed)
        ran += len(left)

    settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))(
        given(
            denials,
            st.dictionaries(st.integers(0, CALLS - 1), replies, max_size=4),
            st.dictionaries(st.integers(0, FRAMES), moments, max_size=3),
        )(play)
    )()
    for _ in range(DENIED // CALLS + 1):
        if denied < DENIED or not ran:  # How many were ended early is a matter of chance.
            play([NO[0]], {7: [YES[0]]}, {})
    assert denied >= DENIED
    assert ran, "what was allowed has run: one that was denied would have been seen"


def talk(client: Client, script: list[list[Frame]], when: dict[int, str]) -> None:
    """Until the process has ended."""
    for number in count():
        frame = client.read()
        if frame is None:
            return
        if (what := when.get(number)) and not client.ended:
            client.do(what)
        if frame["type"] == client.words.question:
            answers = script.pop(0) if script else list(NO[:1])
            client.reply(frame, answers)
            if not answers and not client.ended:
                client.do("abort")  # Nobody answers: then somebody loses patience.
        elif frame["type"] == client.words.ended and not client.ended and not client.open:
            client.do("end")
