"""All tools of a session as one, whenever the client declares some."""

import pytest

from linnet.core.messages import Text, ToolCall
from linnet.core.toolspec import ToolSpec
from linnet.errors import BadInput
from linnet.runtime.broadcast import Broadcast
from linnet.runtime.cancel import CancelToken
from linnet.runtime.config import Config
from linnet.runtime.questions import Questions
from linnet.runtime.resources import Resources
from linnet.runtime.settings import resolve
from linnet.runtime.state import State
from linnet.runtime.toolbox import Toolbox
from linnet.tools.context import ToolContext
from linnet.tools.process import Processes
from linnet.tools.registry import Registry
from linnet.tools.spec import ToolOutput

GREET = ToolSpec("greet", "Greets.", {"type": "object"})


class Slow(Resources):
    """While its tools are being loaded, the client declares some."""

    toolbox: "Toolbox | None" = None

    @property
    def tools(self) -> Registry:
        toolbox, self.toolbox = self.toolbox, None
        if toolbox is not None:
            toolbox.declare([GREET])
        return super().tools


@pytest.fixture
def toolbox() -> Toolbox:
    settings = resolve(Config(provider="scripted"), {})
    resources = Slow(settings)
    state = State(settings.model, "off", auto_compaction=False, auto_retry=False)
    questions = Questions(Broadcast(state, [], lambda: "1"), lambda: "q")
    resources.toolbox = made = Toolbox(settings, resources, questions)
    return made


def names(toolbox: Toolbox) -> list[str]:
    return [spec.name for spec in toolbox.tools.specs]


def test_what_is_declared_while_tools_are_being_loaded_is_not_lost(toolbox: Toolbox) -> None:
    names(toolbox)  # A step that began before.
    assert "greet" in names(toolbox)


def test_what_is_refused_changes_nothing(toolbox: Toolbox) -> None:
    toolbox.declare([GREET])
    with pytest.raises(BadInput, match='"bash" is declared twice: by linnet itself and by the client'):
        toolbox.declare([ToolSpec("bash", "", {})])
    with pytest.raises(BadInput, match='"other" is declared twice: by the client and by the client'):
        toolbox.declare([ToolSpec("other", "", {}), ToolSpec("other", "", {})])
    assert names(toolbox) == ["bash", "edit", "greet", "read", "write"]


def test_the_client_is_not_asked_to_run_what_the_model_did_not_write_to_its_end(toolbox: Toolbox) -> None:
    toolbox.declare([GREET])
    context = ToolContext("/", CancelToken(), lambda text: None, Processes())
    output = toolbox.tools.run(ToolCall("1", "greet", {}, '{"who": "yo'), context)
    assert output == ToolOutput((Text('invalid args: not a JSON object: {"who": "yo'),), is_error=True)
