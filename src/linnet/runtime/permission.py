"""Decides, before a tool runs, whether it may: by rules, by what was allowed before, or by asking."""

import os
from collections.abc import Sequence

from linnet.core.messages import ToolCall
from linnet.core.permissions import SEARCHING, Mode, Rule, by_mode, ruled, subject
from linnet.core.questions import Permit, Permitted
from linnet.errors import Cancelled
from linnet.runtime.config import Callback
from linnet.runtime.questions import Questions
from linnet.tools.context import ToolContext
from linnet.tools.foreign import Foreign
from linnet.tools.preview import preview

DENIED = (
    "Denied: this call to {} is not allowed here. Do not try to get around that; say what you would have done, or do "
    "without."
)
NOT_ALLOWED = "Denied by the user: {}"
NO_ANSWER = "Denied: nobody allowed this call to {}."


class Called:
    """A function of the program's own that decides. One that fails denies; an abort does not wait for it."""

    def __init__(self, callback: Callback, foreign: Foreign) -> None:
        self._callback = callback
        self._foreign = foreign

    def refusal(self, call: ToolCall, context: ToolContext) -> str:
        try:
            answer = self._foreign.call(self._callback, context.cancel, call, preview(call, context))
        except Cancelled:
            context.cancel.check()
            return NOT_ALLOWED.format("the permission callback was cancelled")
        except Exception as fault:
            return NOT_ALLOWED.format(f"the permission callback failed: {type(fault).__name__}: {fault}")
        if answer is True:
            return ""
        if isinstance(answer, str):
            return NOT_ALLOWED.format(answer or "no reason was given")
        return NO_ANSWER.format(call.name)


class Permissions:
    """A gate in front of all tools. Invariants: it asks before anything happens; no answer is no.

    Rules come first. Where none fits, or one says so, it is `called` that decides, or else the mode.
    """

    def __init__(
        self,
        mode: Mode,
        rules: Sequence[Rule],
        questions: Questions,
        called: Called | None = None,
        timeout: float | None = None,
    ) -> None:
        self._mode = mode
        self._rules = tuple(rules)
        self._questions = questions
        self._called = called
        self._timeout = timeout
        self._allowed: set[tuple[str, str]] = set()

    def forget(self) -> None:
        """What was allowed for a session is not allowed in another."""
        self._allowed = set()

    def refusal(self, call: ToolCall, context: ToolContext) -> str:
        rule = ruled(call, self._rules, _path(call, context)) if self._rules else None
        verdict = rule or ("ask" if self._called is not None else by_mode(call, self._mode))
        if verdict == "allow" or (verdict == "ask" and self._key(call) in self._allowed):
            return ""
        if verdict == "deny":
            return DENIED.format(call.name)
        return self._asked(call, context) if self._called is None else self._called.refusal(call, context)

    def _asked(self, call: ToolCall, context: ToolContext) -> str:
        title = f"Allow {call.name}?"
        reply = self._questions.ask(Permit(call, title, preview(call, context)), context.cancel, self._timeout)
        if not isinstance(reply, Permitted):
            return NO_ANSWER.format(call.name)
        if not reply.yes:
            return NOT_ALLOWED.format(reply.reason or "no reason was given")
        if reply.always:
            self._allowed.add(self._key(call))
        return ""

    @staticmethod
    def _key(call: ToolCall) -> tuple[str, str]:
        """What a yes for the session covers: the same command, or the same tool."""
        return call.name, subject(call) if call.name == "bash" else ""


def _path(call: ToolCall, context: ToolContext) -> str:
    """The path a call is about, with links followed; relative to the working folder where it lies inside."""
    given = subject(call) or ("." if call.name in SEARCHING else "")
    if not given or call.name == "bash":
        return ""
    full = os.path.realpath(os.path.join(context.cwd, os.path.expanduser(given)))
    root = os.path.realpath(context.cwd)
    return os.path.relpath(full, root) if os.path.commonpath([full, root]) == root else full
