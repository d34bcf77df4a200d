"""Decides, before a tool call runs, whether it may: by rules, by what was allowed before, or by asking the client."""

import os
from collections.abc import Callable, Sequence

from linnet.concurrency.foreign import Foreign
from linnet.core.messages import ToolCall
from linnet.core.permissions.decision import CallPlace, Placed, decide, finds, leaves_out
from linnet.core.permissions.path_globs import Glob, anchored, anywhere
from linnet.core.permissions.rule import SEARCHING, SUBJECTS, Mode, Rule, subject
from linnet.core.questions import Permit, Permitted
from linnet.errors import Cancelled
from linnet.runtime.config.config import Callback
from linnet.runtime.tools.open_questions import OpenQuestions
from linnet.tools.context import ToolContext
from linnet.tools.preview import preview

DENIED = (
    "Denied: this call to {} is not allowed here. Do not try to get around that; say what you would have done, or do "
    "without."
)
NOT_ALLOWED = "Denied by the user: {}"
FOR_GOOD = "not in this session"
NO_ANSWER = "Denied: nobody allowed this call to {}."


class Called:
    """Has a function of the program decide. If it fails, the call is denied; an abort does not wait for it."""

    def __init__(self, callback: Callback, foreign: Foreign) -> None:
        self._callback = callback
        self._foreign = foreign

    def refusal(self, call: ToolCall, context: ToolContext) -> str:
        """Return why the call may not run; empty if it may. Raises Cancelled."""
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


class PlacedRules:
    """Rules with the folders that their patterns are about.

    Invariant: a rule that allows is about what its path led to when this was made, whatever links are made since; one
    that asks or denies is also about what the path leads to now.
    """

    def __init__(self, rules: Sequence[Rule], cwd: str) -> None:
        self._cwd = os.path.realpath(cwd)
        self._home = os.path.expanduser("~")
        self._then = [Placed(rule, self._globs(rule)) for rule in rules]

    def now(self) -> list[Placed]:
        """Return the rules, with links followed as they are now where that makes them stricter."""
        return [
            each if each.rule.verdict == "allow" or not each.globs else Placed(each.rule, _with_links(each.globs))
            for each in self._then
        ]

    def _globs(self, rule: Rule) -> tuple[Glob, ...]:
        """Return the patterns of paths that a rule is about; none if it is about no path."""
        if not rule.pattern or rule.tool == "bash":
            return ()
        strict = rule.verdict == "allow"
        pattern = rule.pattern if rule.pattern.startswith("~/") else os.path.expanduser(rule.pattern)
        found = [anchored(pattern, self._cwd, self._home, strict=strict)]
        if not strict and (everywhere := anywhere(rule.pattern, self._cwd)) is not None:
            found.append(everywhere)
        return _with_links(found)


class Permissions:
    """The gate in front of all tools. Invariants: it asks before anything happens; no answer means no.

    Rules come first. If none fits, or one says to ask, `called` decides if there is one, or else the mode.
    """

    def __init__(
        self,
        mode: Callable[[], Mode],
        rules: PlacedRules,
        questions: OpenQuestions,
        called: Called | None = None,
        timeout: float | None = None,
    ) -> None:
        self._mode = mode  # Asked for at every call: it may be set at any moment, in another thread.
        self._rules = rules
        self._questions = questions
        self._called = called
        self._timeout = timeout
        self._allowed: set[tuple[str, str, bool]] = set()  # What somebody allowed for the whole session.
        self._denied: dict[tuple[str, str, bool], str] = {}  # The same for what was denied, with the reason.

    @property
    def mode(self) -> Mode | None:
        """Return what decides where no rule does; None if that is a callback."""
        return self._mode() if self._called is None else None

    def forget(self) -> None:
        """Forget what was allowed and denied for the session: another one has begun."""
        self._allowed, self._denied = set(), {}

    def refusal(self, call: ToolCall, context: ToolContext, *, own: bool) -> str:
        """Return why the call may not run; empty if it may. `own`: the tool is linnet's. May ask, and wait for the
        answer. Raises Cancelled.
        """
        verdict = decide(call, self.mode, self._rules.now(), _place(call, context.cwd), own=own)
        if (reason := self._denied.get(self._key(call, own))) is not None:  # Said of it, whatever the mode has become.
            return NOT_ALLOWED.format(reason)
        if verdict == "allow" or (verdict == "ask" and self._key(call, own) in self._allowed):
            return ""
        if verdict == "deny":
            return DENIED.format(call.name)
        return self._asked(call, context, own) if self._called is None else self._called.refusal(call, context)

    def denies(self, call: ToolCall, cwd: str) -> bool:
        """Return whether this call of one of linnet's tools may not run, and nobody would be asked about it."""
        verdict = decide(call, self.mode, self._rules.now(), _place(call, cwd))
        return verdict == "deny" or self._key(call, own=True) in self._denied

    def finding(self, call: ToolCall) -> Callable[[str], bool] | None:
        """Return a function that says of each path whether a search may find it; None if it may find all."""
        if call.name not in SEARCHING:
            return None
        mode, rules = self.mode, self._rules.now()
        if not leaves_out(call, mode, rules):
            return None
        return lambda path: finds(call, mode, rules, CallPlace(path, os.path.realpath(path)))

    def _asked(self, call: ToolCall, context: ToolContext, own: bool) -> str:
        """Ask the client, and return why the call may not run; empty if it may. Raises Cancelled."""
        title = f"Allow {call.name}?"
        reply = self._questions.ask(Permit(call, title, preview(call, context)), context.cancel, self._timeout)
        if not isinstance(reply, Permitted):
            return NO_ANSWER.format(call.name)
        if not reply.yes:
            if reply.always:
                self._denied[self._key(call, own)] = reply.reason or FOR_GOOD
            return NOT_ALLOWED.format(reply.reason or (FOR_GOOD if reply.always else "no reason was given"))
        if reply.always:
            self._allowed.add(self._key(call, own))
        return ""

    @staticmethod
    def _key(call: ToolCall, own: bool) -> tuple[str, str, bool]:
        """Return what a yes for the whole session covers: the same command of `bash`, or any call of the same tool."""
        return call.name, subject(call) if call.name == "bash" else "", own


def _with_links(globs: Sequence[Glob]) -> tuple[Glob, ...]:
    """Return these patterns, and the same for what their folders lead to now."""
    real = (Glob(os.path.realpath(glob.folder), glob.rest, glob.strict) for glob in globs)
    return tuple(dict.fromkeys((*globs, *real)))


def _place(call: ToolCall, cwd: str) -> CallPlace | None:
    """Return the path that a call is about, and where it leads; None if it is about none, or if that cannot
    be a path.
    """
    given = subject(call) or ("." if call.name in SEARCHING else "")
    if not given or SUBJECTS.get(call.name) != "path":
        return None
    path = os.path.join(cwd, os.path.expanduser(given))
    try:
        return CallPlace(os.path.normpath(path), os.path.realpath(path))
    except (OSError, ValueError):
        return None
