"""Follows whether what was asked of an agent is over. Pure: times come with the events."""

from typing import Any, Final

from msgspec import Struct

from linnet.monitor.watch import recognised
from linnet.monitor.words import DialectName, fields

# Without `agent_settled`, `agent_end` is the end unless a retry or a compaction follows. That follows at once.
QUIET: Final = 0.3
_UNANSWERED: Final = frozenset(("extension_ui_response",))
_AGAIN: Final = frozenset(("agent_start", "turn_start", "auto_retry_start"))
_COMPACTS: Final = frozenset(("auto_compaction_start", "compaction_start"))


class Pending(Struct):
    """What is not over yet: every line that is sent wants an answer, every prompt and compaction an end besides.

    In zot's words each has one of its own. In pi's, several prompts may share a run, a compaction ends with its answer,
    and a run is over with `agent_settled`, or with an `agent_end` that nothing follows.
    """

    dialect: DialectName | None = None
    _answers: int = 0  # That are to come.
    _ends: int = 0  # That are to come, in zot's protocol.
    _settles: bool = False  # Whether it is known that `agent_settled` is told.
    _running: bool = False
    _compacting: bool = False
    _expected: bool = False  # Whether a run is to begin.
    _ended: float | None = None  # When a run ended that may not be over.

    def said(self, line: bytes) -> None:
        """Take in a line that was sent."""
        if not line.strip():
            return
        type = fields(line).get("type")
        self._answers += type not in _UNANSWERED
        self._ends += type in ("prompt", "compact")

    def heard(self, at: float, line: bytes) -> None:
        """Take in a line that the agent printed."""
        said = fields(line)
        type = said.get("type")
        if not isinstance(type, str):
            return
        self.dialect = self.dialect or recognised(type)
        if type == "response":
            self._answered(said)
        elif type in ("done", "compact_done"):
            self._ends = max(0, self._ends - 1)
        elif self.dialect != "zot":
            self._followed(at, type, said)

    def over(self, now: float) -> bool:
        """Return whether everything is over."""
        if self._answers > 0 or self._running or self._compacting or self._expected:
            return False
        if self.dialect == "pi":
            return self.quiet_until <= now
        return self._ends <= 0

    @property
    def quiet_until(self) -> float:
        """Until when nothing may follow for the last run to be over."""
        return 0.0 if self._ended is None else self._ended + QUIET

    def _followed(self, at: float, type: str, said: dict[str, Any]) -> None:
        """Take in an event of pi's. `agent_end.willRetry` is no sign that `agent_settled` comes: pi had it before."""
        if type in _AGAIN:
            self._running, self._expected, self._ended = True, False, None
        elif type in _COMPACTS:
            self._compacting, self._expected, self._ended = True, False, None
        elif type == "agent_end":
            self._running, self._ended = self._settles, None if self._settles else at
        elif type == "agent_settled":
            self._settles, self._running, self._compacting = True, False, False
            self._expected, self._ended = False, None
        elif type in ("compaction_end", "auto_compaction_end"):
            self._compacting, self._expected, self._ended = False, said.get("willRetry") is True, at
        elif type == "auto_retry_end" and said.get("success") is not True:
            self._running, self._ended = self._settles, at

    def _answered(self, said: dict[str, Any]) -> None:
        """Take in a response."""
        self._answers = max(0, self._answers - 1)
        command, data = said.get("command"), said.get("data")
        if said.get("success") is not True:
            self._ends = max(0, self._ends - (command in ("prompt", "compact")))
            return
        disposition = data.get("disposition") if isinstance(data, dict) else None
        if disposition is not None:
            self.dialect, self._settles = "pi", True
        if command in ("prompt", "compact"):
            started = isinstance(data, dict) and data.get("started") is True
            self.dialect = self.dialect or ("zot" if started else "pi")
            if started:
                self._ends = max(1, self._ends)
        if self.dialect == "pi" and (disposition or ("started" if command == "prompt" else "")) == "started":
            self._expected = not self._running
