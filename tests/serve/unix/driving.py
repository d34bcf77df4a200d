"""A driver that names itself: what it has an agent do can be counted, and is said again until it is answered."""

import json
from collections.abc import Iterator
from random import Random
from uuid import UUID

from msgspec import Struct

from tests.serve.unix.crowd import Crowd, View, Watcher
from tests.serve.unix.tape import Frame


class Act(Struct):
    """A command, and what became of it."""

    kind: str
    mark: str
    """A word that nothing else has."""
    frame: Frame
    answer: Frame | None = None
    sent: int = 0
    """How often the server had been killed when it was sent first, and when it was answered."""
    answered: int = 0


class Driver(Watcher):
    """Invariant: a command is one of `acts`, and is repeated with the same id whenever this is attached, until it is
    answered.
    """

    role = "drive"

    def __init__(self, crowd: Crowd, view: View, count: int) -> None:
        super().__init__(crowd, view)
        self.client = str(UUID(int=crowd.chance.getrandbits(128)))
        self.acts: list[Act] = []
        self._left = count
        self._runs = False
        self._next = self._acts(crowd.chance)

    @property
    def is_through(self) -> bool:
        """Return whether all was sent, and answered."""
        return not self._left and all(act.answer is not None for act in self.acts)

    def begin(self) -> None:
        super().begin()
        for act in self.acts:
            if act.answer is None:
                self._say(act.frame)
        self._go_on()

    def hear(self, frame: Frame) -> None:
        super().hear(frame)
        match frame:
            case {"type": "response", "id": id}:
                for act in self.acts:
                    if act.frame["id"] == id and act.answer is None:
                        act.answer, act.answered = frame, self.crowd.kills
            case {"type": "agent_start" | "turn_start"}:
                self._runs = True
            case {"type": "agent_settled" | "done"}:
                self._runs = False
            case {"type": "extension_ui_request", "id": id, "options": [option, *_]}:
                self._answer({"type": "extension_ui_response", "id": id, "value": option})
            case {"type": "question", "request_id": id, "options": [option, *_]}:
                self._answer({"type": "answer", "id": f"answer-{id}", "request_id": id, "value": option})
            case _:
                return
        self._go_on()

    def _answer(self, frame: Frame) -> None:
        if all(act.frame["id"] != frame["id"] for act in self.acts):  # Or else the question was told again.
            self._do(Act("answer", "", frame))

    def _go_on(self) -> None:
        """Have the next thing done, when it is time for that."""
        if self._left and not any(act.answer is None and act.kind != "bash" for act in self.acts):
            act = next(self._next)
            if act is not None:
                self._left -= 1
                self._do(act)

    def _do(self, act: Act) -> None:
        act.sent = self.crowd.kills
        self.acts.append(act)
        self._say(act.frame)

    def _acts(self, chance: Random) -> Iterator[Act | None]:
        """Yield what comes next; None if that has to wait for the end of a run."""
        number = 0
        while True:
            kind = chance.choice(KINDS[self.view.dialect == "zot", self._runs])
            if kind == "wait":
                yield None
                continue
            number += 1
            mark = f"m{number}x{self.client[:8]}"
            yield Act(kind, mark, {"id": f"act-{number}", **_command(kind, mark, chance)})


KINDS: dict[tuple[bool, bool], tuple[str, ...]] = {
    (False, False): ("text", "text", "tool", "tool", "loop", "think", "bash", "name", "compact"),
    (False, True): ("steer", "follow_up", "bash", "name", "wait", "wait", "wait"),
    (True, False): ("text", "tool", "loop", "think", "compact"),
    (True, True): ("wait",),
}
"""What may come next, by whether the dialect is zot's and whether something runs."""


def effect(mark: str) -> str:
    """Return a shell command that can be seen to have run."""
    return f"echo {mark} >> effects; echo did {mark}"


def _command(kind: str, mark: str, chance: Random) -> Frame:
    match kind:
        case "text":
            return {"type": "prompt", "message": f"!text {chance.randint(5, 60)} 1\n{mark}"}
        case "think":
            return {"type": "prompt", "message": f"!think\n{mark}"}
        case "tool":
            return {"type": "prompt", "message": f"!tool bash {json.dumps({'command': effect(mark)})}\n{mark}"}
        case "loop":
            return {"type": "prompt", "message": f'!loop {chance.randint(2, 4)} read {{"path":"a.txt"}}\n{mark}'}
        case "steer" | "follow_up":
            return {"type": kind, "message": mark}
        case "bash":
            return {"type": "bash", "command": effect(mark)}
        case "name":
            return {"type": "set_session_name", "name": mark}
        case _:
            return {"type": "compact"}
