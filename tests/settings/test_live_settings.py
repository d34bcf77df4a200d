"""What holds can change while the agent lives: between jobs, for everybody at once."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.concurrency.cancel import CancelToken
from linnet.core import commands
from linnet.core.events import Event, ProjectTrustSet, Settled
from linnet.core.messages import ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.runtime.adoption import Adoption
from linnet.runtime.broadcast import Broadcast
from linnet.runtime.config.config import SDK, Config
from linnet.runtime.listener import Listener
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.settings.settings import LiveSettings, Settings, resolve
from linnet.runtime.state import SessionState
from linnet.runtime.tools.client_tools import NO_ANSWER
from linnet.runtime.tools.open_questions import OpenQuestions
from linnet.runtime.tools.session_tools import SessionTools
from linnet.tools.context import ToolContext
from tests.settings.conftest import Bench
from tests.settings.test_trust import SETTINGS, Answered

TOOL = ToolSpec("t", "T.", {"type": "object", "properties": {}})


@contextmanager
def opened(*turns: Any, listener: Listener | None = None) -> Iterator[Callable[[commands.Command], Any]]:
    """A session of which something can be asked; the model is scripted to take these turns."""
    with open("script.json", "w") as file:
        json.dump({"turns": turns}, file)
    settings = resolve(Config(script="script.json"), os.environ, SDK)
    session = Session(Resources(settings), [listener or Listener()], answerable=True)

    def ask(command: commands.Command) -> Any:
        answered = Answered()
        session.submit(command, answered)
        assert answered.over.wait(30), f"{command} was not answered"
        return answered.outcome

    try:
        yield ask
    finally:
        session.close()


@pytest.fixture
def planted(here: Bench) -> Bench:
    """There is something to trust. Whoever trusts it has the user's own files read again, too."""
    here.plant(SETTINGS, "{}")
    return here


def test_a_tool_of_the_clients_is_waited_for_as_the_settings_say_that_hold_now(planted: Bench) -> None:
    with opened([{"call": "t", "args": {}}], [{"text": "done"}]) as ask:
        assert ask(commands.SetTools((TOOL,)))
        planted.settings.write_text('{"question_timeout": 0.01}')
        assert ask(commands.Trust("once")) == commands.Ok()
        assert ask(commands.Prompt("go")).stop == "end"
        result = ask(commands.GetMessages()).messages[2]
        assert result.content[0].text == NO_ANSWER.format("t")


def test_children_get_no_key_that_the_settings_know_of_by_now(planted: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIRD_KEY", "secret")
    show = commands.Bash('echo "<$BIRD_KEY>"')
    with opened() as ask:
        assert ask(show).run.output == "<secret>\n"
        own = {"baseUrl": "http://127.0.0.1:1", "api": "openai-completions", "apiKey": "$BIRD_KEY", "models": []}
        (planted.home / "models.json").write_text(json.dumps({"providers": {"bird": own}}))
        assert ask(commands.Trust("once")) == commands.Ok()
        assert ask(show).run.output == "<>\n"


def test_a_sandbox_is_there_from_the_start_or_not_at_all(planted: Bench) -> None:
    with opened() as ask:
        planted.settings.write_text('{"sandbox": true}')
        assert ask(commands.Trust("once")) == commands.Ok()
        assert ask(commands.GetState()).sandbox is None


def test_a_change_is_told_once_to_everybody(planted: Bench) -> None:
    planted.plant(SETTINGS, '{"auto_compaction": false}')
    told: list[str] = []

    class Client(Listener):
        def hear(self, events: Sequence[Event]) -> None:
            told.extend(type(event).__name__ for event in events)

    with opened(listener=Client()) as ask:
        assert ask(commands.Trust("once")) == commands.Ok()
        assert told == ["AutoCompactionSet", "ProjectTrustSet"]
        assert ask(commands.Trust("never")) == commands.Ok()
        assert told[2:] == ["AutoCompactionSet", "ProjectTrustSet"]


def test_what_was_built_by_other_settings_is_built_again(here: Bench) -> None:
    server = {"command": "true"}

    def settings(word: str) -> Settings:
        asked = Config(provider="scripted", mcp_servers={"s": server}, permission_callback=lambda call, text: word)
        return resolve(asked, os.environ, SDK)

    resources = Resources(settings("first"))
    live, cancel = resources.live, CancelToken()
    state = SessionState(live.now.model, "off", auto_compaction=True, auto_retry=True)
    session_tools = SessionTools(live, resources, OpenQuestions(Broadcast(state, [], lambda: "1"), lambda: "q"))

    def built() -> list[object]:
        found = [resources.tools, resources.skills, resources.templates, resources.instruction_files, resources.servers]
        return [*found, resources.known_servers, resources.provider(live.now.model, cancel), session_tools.tools]

    def refusal() -> str:
        context = ToolContext(str(here.work), cancel, lambda text: None, resources.processes)
        return str(session_tools.tools.run(ToolCall("1", "read", {"path": "x"}), context).content)

    try:
        before = built()
        assert list(map(id, before)) == list(map(id, built()))
        assert "first" in refusal()
        live.now = settings("second")
        assert resources.known_servers is None
        assert not {*map(id, before)} & {*map(id, built())}
        assert "second" in refusal()
    finally:
        resources.close()


@given(st.lists(st.sampled_from(["offer", "begin", "end"])))
def test_what_was_offered_last_holds_when_no_job_is_active_and_not_before(steps: list[str]) -> None:
    first = resolve(Config(provider="scripted"), {})
    live = LiveSettings(first)
    changes: list[tuple[int, list[Event]]] = []

    def changed(before: Settings, events: list[Event]) -> None:
        assert before is not live.now
        changes.append((live.now.edition, events))

    adoption = Adoption(live, changed)
    active, expected, offered = False, first, first
    for step in steps:
        if step == "offer":
            offered = first.again()
            adoption.offer_locked(offered, active=active)
        else:
            active = step == "begin"
            if not active:
                adoption.hear([Settled("prompt", "end")])
        expected = expected if active else offered
        assert live.now is expected
    assert len(changes) == len({edition for edition, _ in changes})
    assert all(events == [ProjectTrustSet(False)] for _, events in changes)
