"""All tools of a session as one, whenever the client declares some."""

from threading import Thread
from typing import Any

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.events import PermissionSet
from linnet.core.messages import Text, ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.errors import BadInput
from linnet.extensions.chain import Chain
from linnet.extensions.hooked import Hooked
from linnet.processes.process import Processes
from linnet.runtime.broadcast import Broadcast
from linnet.runtime.config.config import Config
from linnet.runtime.resources import Resources
from linnet.runtime.settings.settings import resolve
from linnet.runtime.state import SessionState
from linnet.runtime.tools import permission
from linnet.runtime.tools.open_questions import OpenQuestions
from linnet.runtime.tools.session_tools import SessionTools
from linnet.tools.context import ToolContext
from linnet.tools.registry import Registry
from linnet.tools.spec import ToolOutput

GREET = ToolSpec("greet", "Greets.", {"type": "object"})


class Slow(Resources):
    """While its tools are being loaded, the client declares some, and extensions have been."""

    session_tools: "SessionTools | None" = None
    chain: Chain | None = None

    @property
    def tools(self) -> Registry:
        session_tools, self.session_tools = self.session_tools, None
        if session_tools is not None and self.chain is not None:
            session_tools.extend(self.chain)
        elif session_tools is not None:
            session_tools.declare([GREET])
        return super().tools


@pytest.fixture
def session_tools() -> SessionTools:
    settings = resolve(Config(provider="scripted"), {})
    resources = Slow(settings)
    state = SessionState(settings.model, "off", auto_compaction=False, auto_retry=False)
    questions = OpenQuestions(Broadcast(state, [], lambda: "1"), lambda: "q")
    resources.session_tools = made = SessionTools(resources.live, resources, questions)
    return made


def names(session_tools: SessionTools) -> list[str]:
    return [spec.name for spec in session_tools.tools.specs]


def test_what_is_declared_while_tools_are_being_loaded_is_not_lost(session_tools: SessionTools) -> None:
    names(session_tools)  # A step that began before.
    assert "greet" in names(session_tools)


def test_extensions_that_come_while_tools_are_being_loaded_guard_every_call(session_tools: SessionTools) -> None:
    """The thread that makes ready what a first run needs does so while they are loaded."""
    assert isinstance(session_tools.resources, Slow)
    session_tools.resources.chain = Chain((), lambda *failed: None)
    assert not isinstance(session_tools.tools, Hooked)  # Of a step that began before.
    assert isinstance(session_tools.tools, Hooked)


def test_there_is_one_gate_whoever_asks_for_the_tools_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was allowed is forgotten by the one that is known, so no call may go through another."""
    settings = resolve(Config(provider="scripted", permission="ask"), {})
    resources = Resources(settings)
    state = SessionState(settings.model, "off", auto_compaction=False, auto_retry=False)
    session_tools = SessionTools(
        resources.live, resources, OpenQuestions(Broadcast(state, [], lambda: "1"), lambda: "q")
    )
    gates: list[permission.Permissions] = []
    other = Thread(target=lambda: session_tools.tools)

    class Slowly(permission.Permissions):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            gates.append(self)
            if len(gates) == 1:
                other.start()
                other.join(0.1)  # It waits for this one. If it did not, this is more time than it needs.

    monkeypatch.setattr(permission, "Permissions", Slowly)
    _ = session_tools.tools
    other.join()
    assert len(gates) == 1


def test_a_mode_that_is_set_while_the_gate_is_being_built_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that makes ready what a first run needs builds it, while a client sets the mode."""
    settings = resolve(Config(provider="scripted", permission="ask"), {})
    resources = Resources(settings)
    state = SessionState(settings.model, "off", auto_compaction=False, auto_retry=False)
    session_tools = SessionTools(
        resources.live, resources, OpenQuestions(Broadcast(state, [], lambda: "1"), lambda: "q")
    )
    gates: list[permission.Permissions] = []

    class Meanwhile(permission.Permissions):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            gates.append(self)
            session_tools.hear([PermissionSet("deny")])

    monkeypatch.setattr(permission, "Permissions", Meanwhile)
    _ = session_tools.tools
    assert [gate.mode for gate in gates] == ["deny"]
    assert session_tools.denies(ToolCall("1", "bash", {"command": "true"}))


def test_what_is_refused_changes_nothing(session_tools: SessionTools) -> None:
    session_tools.declare([GREET])
    with pytest.raises(BadInput, match='"bash" is declared twice: by linnet itself and by the client'):
        session_tools.declare([ToolSpec("bash", "", {})])
    with pytest.raises(BadInput, match='"other" is declared twice: by the client and by the client'):
        session_tools.declare([ToolSpec("other", "", {}), ToolSpec("other", "", {})])
    assert names(session_tools) == ["bash", "edit", "greet", "read", "write"]


def test_the_client_is_not_asked_to_run_what_the_model_did_not_write_to_its_end(session_tools: SessionTools) -> None:
    session_tools.declare([GREET])
    context = ToolContext("/", CancelToken(), lambda text: None, Processes())
    output = session_tools.tools.run(ToolCall("1", "greet", {}, '{"who": "yo'), context)
    assert output == ToolOutput((Text('invalid args: not a JSON object: {"who": "yo'),), is_error=True, ran=False)
