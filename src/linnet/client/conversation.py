"""The conversation with an agent without its pipes: commands to lines, and lines to answers, events and ends. Pure."""

from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from linnet.client.request import Request
from linnet.client.work import Begun, Ended, Work
from linnet.wire.incoming import BadLine, Incoming, Reply, UnknownEvent
from linnet.wire.jsonl import encode_lines

E = TypeVar("E")


class Heard(Struct, Generic[E], frozen=True, gc=False):
    """An event came."""

    event: E | UnknownEvent | BadLine
    line: bytes  # That it came as.


class Answered(Struct, frozen=True):
    """The answer to a command came."""

    id: str
    reply: Reply


class Idle(Struct, frozen=True):
    """Nothing runs any more, and nothing follows by itself."""


Output: TypeAlias = Heard[E] | Answered | Begun | Ended | Idle


class Conversation(Generic[E]):
    """The state of one conversation.

    Invariant: every command that is asked is answered at most once; an answer that nobody waits for is dropped.

    An answer without an id belongs to the oldest command of its name, since some versions of pi lose ids; one that
    belongs to no command is an event, so that nobody has to wonder where it went.
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        self._asked: dict[str, Request[Any]] = {}  # Not answered yet, by id, in the order they were sent.
        self._forgotten: set[str] = set()  # Those of them whose answers are dropped.
        self._question = ""  # The id of the question whether it is idle, if that is not answered yet.
        self._told_busy = False  # The agent answered that it is busy, and no event has come since.
        self._count = 0
        self._was_idle = True

    def ask(self, request: Request[Any]) -> tuple[str, bytes, list[Output[E]]]:
        """Return a command's id, its line, and what follows from sending it."""
        id = self._new_id()
        line = encode_lines([{"id": id, "type": request.name, **request.fields}])
        outputs: list[Output[E]] = [*self.work.sent(id, request)]
        if self.work.answers:
            self._asked[id] = request
        else:
            outputs.append(Answered(id, Reply(request.name, success=True)))
        self._was_idle = self.work.is_idle
        return id, line, outputs

    def tell(self, frame: dict[str, Any]) -> bytes:
        """Return the line of something that is not answered."""
        return encode_lines([frame])

    def forget(self, id: str) -> None:
        """Drop an answer that nobody waits for any more. What was asked for still happens."""
        if id in self._asked:
            self._forgotten.add(id)

    def take(self, incoming: Incoming[E]) -> list[Output[E]]:
        """Return what a line means: an answer, an event, the beginning or the end of work, in order."""
        said = incoming.said
        outputs: list[Output[E]]
        if isinstance(said, Reply):
            outputs = self._answered(said, incoming.line)
        else:
            self._told_busy = False
            heard, follows = Heard(said, incoming.line), self.work.heard(said)
            if not follows:
                outputs = [heard]
            elif isinstance(follows[0], Begun):  # By this very event.
                outputs = [*follows, heard]
            else:
                outputs = [heard, *follows]
        if self.work.is_idle != self._was_idle:
            self._was_idle = not self._was_idle
            if self._was_idle:
                outputs.append(Idle())
        return outputs

    def question(self, *, again: bool = False) -> bytes:
        """Return the line to send to learn whether the agent is idle; empty if there is no need.

        An agent that said it is busy is asked again after the next event, or when told to.
        """
        question = self.work.question
        if question is None or self._question or (self._told_busy and not again):
            return b""
        self._question = self._new_id()
        return encode_lines([{"id": self._question, "type": question.name}])

    @property
    def is_unsure(self) -> bool:
        """Whether the agent said that it is busy, with something that no event told of."""
        return self._told_busy and self.work.question is not None

    def _answered(self, reply: Reply, line: bytes) -> list[Output[E]]:
        """Return what an answer means."""
        if self._question and reply.id == self._question:
            self._question = ""
            outputs: list[Output[E]] = [*self.work.learned(reply)]
            self._told_busy = self.work.question is not None
            return outputs
        id = self._whose(reply)
        if id is None:
            return [Heard(UnknownEvent("response", _fields(reply)), line)]
        request = self._asked.pop(id)
        outputs = [*self.work.answered(id, request, reply)]
        if id in self._forgotten:
            self._forgotten.remove(id)
            return outputs
        return [Answered(id, reply), *outputs]

    def _whose(self, reply: Reply) -> str | None:
        """Return the id of the command that a reply answers; None if there is none."""
        if reply.id is not None:
            return reply.id if isinstance(reply.id, str) and reply.id in self._asked else None
        for id, request in self._asked.items():
            if request.name == reply.command:
                return id
        alone = len(self._asked) == 1 and reply.command in ("", "parse") and not reply.success
        return next(iter(self._asked)) if alone else None

    def _new_id(self) -> str:
        self._count += 1
        return f"linnet-{self._count}"


def _fields(reply: Reply) -> dict[str, Any]:
    """Return a reply as the object that it came as."""
    from msgspec.json import decode

    fields = {"type": "response", "id": reply.id, "command": reply.command, "success": reply.success}
    if bytes(reply.data):
        fields["data"] = decode(reply.data)
    return {**fields, "error": reply.error} if reply.error else fields
