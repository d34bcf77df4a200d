"""A session in this process with extensions, a scripted model, and everything that is heard of it."""

import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Condition
from typing import Any, TypeVar

import pytest

from linnet.core import commands
from linnet.core.cancel import Cancel
from linnet.core.deltas import Delta
from linnet.core.events import Event, HookFailed, QuestionAsked, Settled, ToolFinished
from linnet.core.messages import texts
from linnet.core.models import Model
from linnet.core.questions import Given
from linnet.errors import LinnetError
from linnet.providers.base import Provider, Request
from linnet.runtime.config.config import PI, Config
from linnet.runtime.listener import Listener
from linnet.runtime.requester import Requester
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.settings.settings import resolve

E = TypeVar("E")
PATIENCE = 10.0


class Recording(Resources):
    """`requests` are what the model was sent."""

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.requests: list[Request] = []

    def provider(self, model: Model, cancel: Cancel) -> Provider:
        return _Recorded(super().provider(model, cancel), self.requests)


class _Recorded:
    def __init__(self, inner: Provider, requests: list[Request]) -> None:
        self._inner = inner
        self._requests = requests

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        self._requests.append(request)
        return self._inner.stream(request, cancel)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Asked(Requester):
    """A command that was asked for."""

    def __init__(self, changed: Condition) -> None:
        self._changed = changed
        self.outcome: commands.Answer | LinnetError | None = None

    def finished(self, answer: commands.Answer) -> None:
        with self._changed:
            self.outcome = answer
            self._changed.notify_all()

    def refused(self, error: LinnetError) -> None:
        with self._changed:
            self.outcome = error
            self._changed.notify_all()


class Extended(Listener):
    """A session with extensions, and whoever drives it."""

    def __init__(
        self, folder: Path, sources: Sequence[str], turns: Sequence[Any], *, named: bool = True, **config: Any
    ) -> None:
        """`named`: or else they are found in the user's folder of extensions."""
        self._changed = Condition()
        self.events: list[Event] = []
        self.broken: LinnetError | None = None
        paths = []
        for at, source in enumerate(sources):
            paths.append((folder if named else folder / "home/extensions") / (f"ext{at}.py" if at else "ext.py"))
            paths[-1].parent.mkdir(parents=True, exist_ok=True)
            paths[-1].write_text(textwrap.dedent(source))
        self.path = str(paths[0]) if paths else ""
        script = folder / "script.json"
        script.write_text(json.dumps({"turns": list(turns) or [[{"text": "hello"}]], "loop": True}))
        chosen = {
            "cwd": folder,
            "script": script,
            "extensions": paths if named else [],
            "session_dir": folder / "sessions",
            "retry_delay": 0.01,
            **config,
        }
        settings = resolve(Config(**chosen), {"LINNET_HOME": str(folder / "home")}, PI)
        self.resources = Recording(settings)
        self.session = Session(self.resources, [self], answerable=True)

    def hear(self, events: Sequence[Event]) -> None:
        with self._changed:
            self.events += events
            self._changed.notify_all()

    def broke(self, error: LinnetError) -> None:
        with self._changed:
            self.broken = error
            self._changed.notify_all()

    def begin(self, command: commands.Command) -> Asked:
        asked = Asked(self._changed)
        self.session.submit(command, asked)
        return asked

    def wait(self, asked: Asked) -> Any:
        self.until(lambda: asked.outcome is not None)
        return asked.outcome

    def ask(self, command: commands.Command) -> Any:
        """Its answer, or the error that it was refused with."""
        return self.wait(self.begin(command))

    def until(self, is_so: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(is_so, PATIENCE), f"in vain; there was {self.events}"

    def until_heard(self, kind: type[E], count: int = 1) -> E:
        """The last of so many."""
        self.until(lambda: len(self.heard(kind)) >= count)
        return self.heard(kind)[count - 1]

    def heard(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def prompt(self, text: str = "go") -> Settled:
        """Once everything that it led to is over."""
        self.ask(commands.Prompt(text, slash="at_once"))
        return self.heard(Settled)[-1]

    def question(self, count: int = 1) -> QuestionAsked:
        return self.until_heard(QuestionAsked, count)

    def answer(self, question: QuestionAsked, **given: Any) -> None:
        self.ask(commands.AnswerQuestion(question.id, Given(**given)))

    @property
    def failures(self) -> list[tuple[str, str]]:
        return [(event.event, event.error) for event in self.heard(HookFailed)]

    @property
    def results(self) -> list[str]:
        return [texts(event.result.content) for event in self.heard(ToolFinished)]

    def close(self) -> None:
        self.session.close()


@pytest.fixture
def extended(tmp_path: Path) -> Iterator[Callable[..., Extended]]:
    opened: list[Extended] = []

    def start(*sources: str, turns: Sequence[Any] = (), **config: Any) -> Extended:
        opened.append(Extended(tmp_path, sources, turns, **config))
        return opened[-1]

    yield start
    for each in opened:
        each.close()
