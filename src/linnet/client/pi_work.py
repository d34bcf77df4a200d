"""Follows what an agent does that speaks pi's protocol: runs, and what may follow them by itself. Pure."""

from typing import Any

from linnet.client.request import Request, a, nothing
from linnet.client.work import Begun, Ended
from linnet.errors import ClientError
from linnet.wire.incoming import Reply
from linnet.wire.pi.reading import incoming as pi
from linnet.wire.pi.reading import results

_SAID = ("prompt", "steer", "follow_up")  # Commands from which a run may follow.
_MOVES = ("compact", "new_session", "switch_session", "branch", "fork", "clone", "navigate")  # These end a run first.


class PiWork:
    """The Work of pi: busy from the moment something is sent that begins work until nothing follows from it any more.

    `agent_end` is not the end: a retry, a compaction or a queued message may follow. An agent that `settles` says
    `agent_settled` then: pi since 0.80.6. Of others no event tells, so they are asked while `_unsure` is set.
    `agent_end.willRetry` is no sign of either: pi had it before.
    """

    answers = True

    def __init__(self, *, settles: bool = False) -> None:
        """`settles` need not be known: the first `agent_settled` or `disposition` shows it."""
        self._settles = settles
        self._settling = False  # A run has ended, and `agent_settled` is to come.
        self._open: list[str] = []  # Prompts that have not ended.
        self._unanswered: set[str] = set()  # Of _SAID and _MOVES.
        self._owed = False  # A prompt was accepted, and its run has not begun.
        self._running = False
        self._retrying = False
        self._compacting = False
        self._unsure = False  # Something may follow by itself, and only the agent can tell.

    @property
    def is_idle(self) -> bool:
        return not (self._is_busy or self._unsure)

    @property
    def question(self) -> Request[Any] | None:
        return Request("get_state", nothing) if self._unsure and not self._is_busy else None

    def sent(self, id: str, request: Request[Any]) -> list[Begun | Ended]:
        if request.name in _SAID or request.name in _MOVES:
            self._unanswered.add(id)
        if request.name != "prompt":
            return []
        self._open.append(id)
        return [Begun(id)]

    def answered(self, id: str, request: Request[Any], reply: Reply) -> list[Begun | Ended]:
        if request.name == "abort" and self._owed:
            self._owed, self._unsure = False, True  # The run that was to begin may never do so.
        if id not in self._unanswered:
            return []
        self._unanswered.remove(id)
        if not reply.success:
            if id in self._open:
                self._open.remove(id)
        elif request.name in _MOVES:
            # Whatever ran was ended first. Some versions of pi do that without a word.
            self._owed = self._running = self._retrying = self._compacting = self._settling = False
            self._unsure = True
        elif not (self._running or self._retrying):
            self._expect(request, reply)
        return self._ended()

    def heard(self, event: object) -> list[Begun | Ended]:
        if isinstance(event, pi.MessageUpdate):
            return []  # By far the most common.
        match event:
            case pi.AgentStart():
                self._owed, self._running, self._unsure, self._settling = False, True, False, False
            case pi.AgentEnd():
                self._running, self._settling, self._unsure = False, self._settles, not self._settles
            case pi.AgentSettled():
                # While something runs this is about something else, or the run broke off: better ask.
                self._unsure = self._running or self._owed
                self._running = self._retrying = self._compacting = self._owed = self._settling = False
                self._settles = True
            case pi.AutoRetryStart():
                self._retrying = True
            case pi.AutoRetryEnd():
                self._retrying, self._unsure = False, True
            case pi.AutoCompactionStart() | pi.CompactionStart():
                self._compacting = True
            case pi.AutoCompactionEnd() | pi.CompactionEnd():
                self._compacting, self._unsure = False, True
                self._owed = self._owed or event.will_retry
            case _:
                return []
        return self._ended()

    def learned(self, reply: Reply) -> list[Begun | Ended]:
        """Take in the state that was asked for. An agent that does not know the question is taken to be idle."""
        try:
            state = _state.result(reply)
        except ClientError:
            state = results.State()
        if not (state.is_streaming or state.is_compacting):
            self._unsure = False
        return self._ended()

    @property
    def _is_busy(self) -> bool:
        runs = self._owed or self._running or self._retrying or self._compacting or self._settling
        return runs or bool(self._unanswered)

    def _expect(self, request: Request[Any], reply: Reply) -> None:
        """Decide whether a run follows from what was said to an agent that does not run."""
        try:
            disposition = _accepted.result(reply).disposition
        except ClientError:
            disposition = None
        self._settles = self._settles or disposition is not None
        if disposition == "started":
            self._owed = True
        elif disposition is not None or request.name != "prompt" or str(request.fields["message"]).startswith("/"):
            self._unsure = True  # Handled by an extension, perhaps; or queued, which some versions leave at that.
        else:
            self._owed = True

    def _ended(self) -> list[Begun | Ended]:
        if not self.is_idle:
            return []
        over: list[Begun | Ended] = [Ended(id) for id in self._open]
        self._open.clear()
        return over


class LegacyWork:
    """The Work of pi's earlier protocol, which has no answers, and in which a run ends with `agent_end`: nothing tells
    what follows by itself.
    """

    answers = False
    question = None

    def __init__(self) -> None:
        self._open: list[str] = []
        self._running = False

    @property
    def is_idle(self) -> bool:
        return not self._open and not self._running

    def sent(self, id: str, request: Request[Any]) -> list[Begun | Ended]:
        if request.name not in ("prompt", "compact"):
            return []
        self._open.append(id)
        return [Begun(id)]

    def answered(self, id: str, request: Request[Any], reply: Reply) -> list[Begun | Ended]:
        return []

    def heard(self, event: object) -> list[Begun | Ended]:
        match event:
            case pi.AgentStart():
                self._running = True
            case pi.AgentEnd():
                self._running = False
                return self._end()
            case pi.Compacted(auto=False) | pi.Error() if not self._running:
                return self._end()
        return []

    def learned(self, reply: Reply) -> list[Begun | Ended]:
        return []

    def _end(self) -> list[Begun | Ended]:
        over: list[Begun | Ended] = [Ended(id) for id in self._open]
        self._open.clear()
        return over


_state = Request("get_state", a(results.State))
_accepted = Request("prompt", a(results.Accepted))
