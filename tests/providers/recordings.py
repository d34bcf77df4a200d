"""Makes recordings of a model that does what a test says, and plays them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import to_builtins

from linnet.core.cancel import Cancel
from linnet.core.context.history import Sendable
from linnet.core.deltas import (
    Delta,
    PartClosed,
    ReplyOpened,
    Stopped,
    TextDelta,
)
from linnet.core.messages import AssistantMessage, Text, ToolCall, ToolResult, UserMessage
from linnet.core.models import Model, Prices, Reasoning
from linnet.core.toolspec import ToolSpec
from linnet.errors import (
    Cancelled,
    ProviderError,
    ProviderRejected,
)
from linnet.providers.base import Request
from linnet.providers.recorded.difference import Match
from linnet.providers.recorded.recorder import Recorder
from linnet.providers.recorded.recording import FORMAT, Header
from linnet.providers.recorded.replay import Replay, load

MODEL = Model("m-1", "acme", prices=Prices(2, 0.5), api="anthropic-messages")
KEY = "sk-live-0123456789abcdefghij"
DONE: list[Delta] = [ReplyOpened(), TextDelta("hello"), PartClosed(), Stopped("end")]
Play: TypeAlias = Sequence[Sequence[Delta] | Exception]


class Clock:
    """A cancel token whose sleeps take no time."""

    is_set = False

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.now = 0.0

    def check(self) -> None: ...

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def interrupting(self, action: Callable[[], None]) -> AbstractContextManager[None]:
        return nullcontext()


class Model1:
    """Each call to `stream` plays the next list: batches to yield, or errors to raise."""

    name = "acme"

    def __init__(self, *plays: Play) -> None:
        self.plays = list(plays)

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        for step in self.plays.pop(0):
            if isinstance(step, BaseException):
                raise step
            yield step

    def warm(self) -> None: ...
    def close(self) -> None: ...


def header(cwd: str = "/work/there") -> Header:
    return Header(FORMAT, "0", cwd, "/home/me/.linnet", to_builtins(MODEL))


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),), 1)


def asking(*messages: Sendable, system: str = "Be good.", reasoning: Reasoning = "off", tools: Any = ()) -> Request:
    return Request(MODEL, system, messages or (user("hi"),), tools, reasoning)


def heard(replies: Iterator[Sequence[Delta]]) -> tuple[list[list[Delta]], ProviderError | Cancelled | None]:
    batches: list[list[Delta]] = []
    try:
        for batch in replies:
            batches.append(list(batch))
    except (ProviderError, Cancelled) as error:
        return batches, error
    return batches, None


def record(file: Path, *calls: tuple[Request, Play], cwd: str = "/work/there", secrets: Sequence[str] = ()) -> Path:
    """A recording of these calls, one after the other."""
    recorder = Recorder(str(file), header(cwd), secrets)
    provider = recorder.around(Model1(*(play for _, play in calls)))
    for request, _ in calls:
        heard(provider.stream(request, Clock()))
    recorder.close()
    return file


def replay(file: Path, cwd: str = "/work/there", match: Match = "strict", *, paced: bool = False) -> Replay:
    return Replay(load(str(file)), cwd, "/home/me/.linnet", match, paced=paced)


def refusal(player: Replay, request: Request) -> str:
    batches, error = heard(player.stream(request, Clock()))
    assert batches == []
    assert type(error) is ProviderRejected
    return str(error)


LS = ToolSpec("ls", "List.", {})
SAID = (user("hi"), AssistantMessage((ToolCall("c1", "bash", {"command": "ls"}),), 5, "acme", "m-1"))


def result(text: str, *, is_error: bool = False) -> ToolResult:
    return ToolResult("c1", "bash", (Text(text),), 6, is_error=is_error)
