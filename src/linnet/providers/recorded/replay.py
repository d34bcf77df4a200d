"""The provider that plays a recording: it answers each request with the reply that was recorded for it."""

from collections.abc import Iterator, Sequence
from threading import Lock
from typing import NoReturn

from linnet.core.cancel import Cancel
from linnet.core.context.history import Sendable
from linnet.core.deltas import Delta
from linnet.errors import ProviderError, ProviderRejected
from linnet.files.reading import required
from linnet.providers.base import Request
from linnet.providers.recorded.difference import Match, differences
from linnet.providers.recorded.hidden import Hiding
from linnet.providers.recorded.moved import Moved
from linnet.providers.recorded.recording import Call, Ended, Message, Question, Recording, bare, parse, tool

LARGEST = 1 << 30  # Bytes.
PATIENCE = 60.0  # Seconds that a reply which was aborted waits to be aborted again.


def load(path: str) -> Recording:
    """Return the recording in a file. Raises ConfigError with the line that cannot be used."""
    return parse(required(path, LARGEST), path)


class Replay:
    """Implements Provider. Any thread may ask.

    A request is answered by the next call of the recording, or by one that overlapped with it there. One that asks
    something else is refused, with a sentence that says what is different, and takes no call.
    """

    name = "replay"

    def __init__(
        self, recording: Recording, cwd: str, home: str, match: Match = "strict", *, paced: bool = False
    ) -> None:
        """`cwd` and `home` are the folders that stand for those of the recording. `paced`: replies take the time that
        they took.
        """
        self.file = recording.file
        self._total = len(recording.calls)
        self._match = match
        self._paced = paced
        self._moved = Moved((recording.cwd, cwd), (recording.home, home))
        self._lock = Lock()
        self._left = list(recording.calls)
        self._questions = _Questions(recording, self._moved)
        self._sent: Sequence[Sendable] = ()  # With the last request that was answered.
        self._bare: list[Message] = []  # The same, as it is recorded.
        self._matched = 0  # The number of the call that answered it.
        self.problems: list[str] = []
        """What was asked and not answered, in words."""

    @property
    def unplayed(self) -> int:
        """Return how many calls of the recording nobody has asked for yet."""
        return len(self._left)

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        call = self._take(request)  # Before the first look at the abort, as one is recorded.
        at = 0
        for batch, deltas in zip(call.batches, self._moved.reply([each.deltas for each in call.batches]), strict=True):
            cancel.check()
            at = self._pace(batch.ms, at, cancel)
            yield deltas
        cancel.check()
        number, ended = call.number, call.ended
        if ended is None:
            self._refuse(f"the recording {self.file} ends in the middle of call {number}")
        self._pace(ended.ms, at, cancel)
        if ended.how == "failed":
            raise self._error(ended)
        if ended.how == "aborted":
            cancel.sleep(PATIENCE)
            self._refuse(f"call {number} of {self.file} was aborted here as it was recorded, and nobody aborts it now")

    def warm(self) -> None:
        pass

    def close(self) -> None:
        pass

    def _pace(self, ms: int, at: int, cancel: Cancel) -> int:
        """Wait until so many milliseconds have passed, of which `at` have already. Returns how many have then."""
        if self._paced and ms > at:
            cancel.sleep((ms - at) / 1000)
        return max(ms, at)

    def _take(self, request: Request) -> Call:
        """Return the call that answers a request, which no other will. Raises ProviderRejected."""
        with self._lock:
            if not self._left:
                total = self._total
                self._refuse(
                    f"the recording {self.file} is over: "
                    f"it has {total} call{'s'[: total != 1]}, and one more is asked for"
                )
            alike, now = self._question(request)
            following, found = self._left[0], list[str]()
            for call in self._candidates():
                known = min(alike, call.kept) if call.number == self._matched + 1 else 0
                words = differences(self._questions.of(call), now, self._match, known)
                if not words:
                    break
                found = found or words
            else:
                said = "; ".join(found)
                self._refuse(f"call {following.number} is not what was recorded in {self.file}: {said}")
            self._left = [each for each in self._left if each is not call and not _passed(each, call)]
            self._sent, self._bare, self._matched = list(request.messages), list(now.messages), call.number
            return call

    def _candidates(self) -> Iterator[Call]:
        """Yield the next call, and those that overlapped with it. One that was aborted may be left out: an abort that
        comes a little sooner finds that nothing was asked.
        """
        until: float | None = None
        for call in self._left:
            if until is not None and call.began >= until:
                return
            yield call
            if until is None and not _was_aborted(call):
                until = call.over

    def _question(self, request: Request) -> tuple[int, Question]:
        """Return how many messages of the request are those of the last one, and all that is asked."""
        alike = 0
        for before, now in zip(self._sent, request.messages, strict=False):
            if before is not now:
                break
            alike += 1
        messages = [*self._bare[:alike], *map(bare, request.messages[alike:])]
        tools = tuple([tool(spec) for spec in request.tools])
        return alike, Question(request.model, request.reasoning, request.system, tools, messages)

    def _error(self, ended: Ended) -> ProviderError:
        """Return the error with which the call ended."""
        kind = next((each for each in _kinds(ProviderError) if each.code == ended.code), ProviderRejected)
        provider, _, reason = self._moved.text(ended.sentence).partition(": ")
        error = kind(provider, reason)
        error.status = ended.status
        if hasattr(error, "retry_after"):
            error.retry_after = ended.retry_after
        return error

    def _refuse(self, reason: str) -> NoReturn:
        reason = Hiding().text(reason)
        self.problems.append(reason)
        raise ProviderRejected(self.name, reason)


class _Questions:
    """What was asked with each call, in the folders of now. Whoever goes through the calls in order does so in a time
    that grows with the file.
    """

    def __init__(self, recording: Recording, moved: Moved) -> None:
        self._calls = recording.calls
        self._moved = moved
        self._number = 0  # Of the call that the others are about.
        self._messages: list[Message] = []
        self._system = "", ""  # As it was recorded, and in the folders of now.

    def of(self, call: Call) -> Question:
        """Return what was asked with a call."""
        if call.number < self._number:
            self._number, self._messages = 0, []
        while self._number < call.number:
            each = self._calls[self._number]
            self._messages = [*self._messages[: each.kept], *map(self._moved.struct, each.added)]
            self._number += 1
        if call.system != self._system[0]:
            self._system = call.system, self._moved.text(call.system)
        return Question(call.model, call.reasoning, self._system[1], call.tools, self._messages)


def _was_aborted(call: Call) -> bool:
    return call.ended is not None and call.ended.how == "aborted"


def _passed(call: Call, taken: Call) -> bool:
    """Return whether a call was aborted before the one that is taken now began."""
    return _was_aborted(call) and call.over < taken.began


def _kinds(kind: type[ProviderError]) -> Iterator[type[ProviderError]]:
    """Yield a class and all that are made from it."""
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)
