"""Tools that the client declares and runs itself: a call is a question to it, and its answer is the result."""

from collections.abc import Sequence

from linnet.core.messages import Text, ToolCall
from linnet.core.questions import RunClientTool, ToolReturned
from linnet.core.toolspec import ToolSpec
from linnet.errors import ToolFailed
from linnet.runtime.settings.settings import LiveSettings
from linnet.runtime.tools.open_questions import OpenQuestions
from linnet.tools.context import ToolContext
from linnet.tools.functions.shorten import shortened
from linnet.tools.spec import ToolOutput, check_args, failed

NO_ANSWER = "The client did not answer: {} was not run to its end."


class ClientTools:
    """A Toolset. `declare` replaces all of its tools; a step that goes on keeps the specs that it began with."""

    def __init__(self, questions: OpenQuestions, live: LiveSettings) -> None:
        self._questions = questions
        self._live = live
        self._specs: tuple[ToolSpec, ...] = ()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self._specs

    def declare(self, specs: Sequence[ToolSpec]) -> None:
        """Have these tools instead of those there were."""
        self._specs = tuple(specs)

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        try:
            check_args(call)
        except ToolFailed as failure:
            return failed(failure)
        context.begin()
        timeout = self._live.now.question_timeout
        reply = self._questions.ask(RunClientTool(call), context.cancel, timeout, context.progress)
        if isinstance(reply, ToolReturned):
            return ToolOutput(shortened(reply.content), reply.is_error, reply.details)
        return ToolOutput((Text(NO_ANSWER.format(call.name)),), is_error=True)
