"""A scripted model behind a real socket, and a conversation with it that never outlives its test."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from threading import Event, Thread

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.context.history import Sendable
from linnet.core.deltas import CallDelta, CallOpened, Delta, Stopped, TextDelta, ThinkingDelta, UsageReported
from linnet.core.messages import Text, Usage, UserMessage
from linnet.core.models import Model, Reasoning
from linnet.core.toolspec import ToolSpec
from linnet.errors import Cancelled, ProviderError
from linnet.providers import catalog
from linnet.providers.base import Provider, Request
from linnet.providers.factory import build
from linnet.providers.http.client import Timeouts
from linnet.testing.model_server import ModelServer

PATIENCE = 10.0
READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


class Heard:
    """Everything that one reply brought, and how it ended."""

    def __init__(self) -> None:
        self.batches: list[Sequence[Delta]] = []
        self.error: ProviderError | Cancelled | None = None

    @property
    def deltas(self) -> list[Delta]:
        return [delta for batch in self.batches for delta in batch]

    @property
    def text(self) -> str:
        return "".join(delta.text for delta in self.deltas if isinstance(delta, TextDelta))

    @property
    def thoughts(self) -> str:
        return "".join(delta.text for delta in self.deltas if isinstance(delta, ThinkingDelta))

    @property
    def calls(self) -> list[tuple[str, str]]:
        opened = [delta for delta in self.deltas if isinstance(delta, CallOpened)]
        grown = [delta for delta in self.deltas if isinstance(delta, CallDelta)]
        return [(call.name, "".join(part.text for part in grown if part.id == call.id)) for call in opened]

    @property
    def stop(self) -> str | None:
        last = self.deltas[-1] if self.deltas else None
        return last.reason if isinstance(last, Stopped) else None

    @property
    def usage(self) -> Usage:
        return [delta.usage for delta in self.deltas if isinstance(delta, UsageReported)][-1]


class Asking:
    """A request in a thread of its own, to be aborted from this one."""

    def __init__(self, provider: Provider, request: Request) -> None:
        self.cancel = CancelToken()
        self.heard = Heard()
        self.begun = Event()
        self._thread = Thread(target=self._run, args=(provider, request))
        self._thread.start()

    def abort(self) -> Heard:
        self.cancel.set()
        return self.end()

    def end(self) -> Heard:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        return self.heard

    def _run(self, provider: Provider, request: Request) -> None:
        try:
            for batch in provider.stream(request, self.cancel):
                self.heard.batches.append(batch)
                self.begun.set()
        except (ProviderError, Cancelled) as error:
            self.heard.error = error


class Conversation:
    """Talks to one vendor's API at one URL."""

    def __init__(self, vendor: str, url: str, attempts: int, key: str, timeouts: Timeouts | None) -> None:
        self.vendor = vendor
        self.provider = build(vendor, key, url, attempts=attempts, timeouts=timeouts)

    @property
    def model(self) -> Model:
        found = catalog.find(self.vendor, catalog.PROVIDERS[self.vendor].default_model)
        assert found
        return found

    def request(
        self, *messages: Sendable | str, tools: Sequence[ToolSpec] = (READ,), reasoning: Reasoning = "off"
    ) -> Request:
        said = [UserMessage((Text(m),), 0) if isinstance(m, str) else m for m in messages]
        return Request(self.model, "Be brief.", said, tools, reasoning)

    def start(self, *messages: Sendable | str) -> Asking:
        return Asking(self.provider, self.request(*messages))

    def ask(self, *messages: Sendable | str) -> Heard:
        return self.start(*messages).end()


Talk = Callable[..., Conversation]


@pytest.fixture(autouse=True)
def no_proxy_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def talk(server: ModelServer) -> Iterator[Talk]:
    """Opens conversations: with the scripted model, unless told another URL."""
    with ExitStack() as stack:

        def opened(
            vendor: str = "anthropic",
            url: str | None = None,
            attempts: int = 1,
            key: str = "test-key",
            timeouts: Timeouts | None = None,
        ) -> Conversation:
            conversation = Conversation(vendor, url or server.url, attempts, key, timeouts)
            stack.callback(conversation.provider.close)
            return conversation

        yield opened


@pytest.fixture(params=["anthropic", "openai", "azure-openai", "google", "bedrock"])
def conversation(request: pytest.FixtureRequest, talk: Talk) -> Conversation:
    """The same conversation through each API: at Azure, through OpenAI's Responses."""
    return talk(request.param)
