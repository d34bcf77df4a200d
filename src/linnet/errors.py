"""The exceptions that linnet raises, with a code for programs and a sentence for people.

LinnetError                one sentence for the person at the keyboard
  ConfigError              a flag, a variable or a file that cannot be used
    UnknownModel
    UnknownProvider
    MissingKey
    Contradiction          flags that do not go together
  Busy                     a prompt is already running
  NotRunning               nothing runs that could be told anything
  Closed                   the runtime was closed
  BadInput                 a command whose arguments make no sense
  BadOutput                an answer that does not have the form that was asked for
  NothingToCompact
  CalledOff                an extension cancelled it; nothing has changed
  LimitReached             a prompt took as much as it may: steps, money, time
  SessionError             a session file that cannot be used, or no longer
    SessionInUse           another process has it
    LogUnavailable         where it is kept cannot be reached just now: worth another try
    LogRefused             somebody else owns it by now: whoever wrote to it must stop
  ProviderError
    ProviderRejected       bad key, bad request: trying again is useless
      ContextOverflow      the conversation no longer fits the model
      ModelRefused         the model, or a filter in front of it, will not answer
    ProviderUnavailable    worth another try
  ClientError              what a client of an agent on a pipe meets
    AgentGone              the agent has ended, or cannot be talked to any more
    Refused                the agent answered that it will not
    RunFailed              it tried, and did not succeed
    BadAnswer              it answered something else than the protocol says
    TimedOut               it did not answer in time; a TimeoutError too
Cancelled                  an abort reached whatever was blocking
ToolFailed                 for the model only, as the tool's result
"""

from collections.abc import Iterable
from typing import ClassVar


class LinnetError(Exception):
    """The base of all errors whose message is a sentence for people."""

    code: ClassVar[str] = "internal"
    """One word for programs."""
    retryable: ClassVar[bool] = False
    """The same may work at another time."""
    status: int | None = None
    """That of a vendor's HTTP answer, if there was one."""


class ConfigError(LinnetError):
    code = "config"


class UnknownModel(ConfigError):
    code = "unknown_model"

    def __init__(self, name: str, provider: str, known: Iterable[str], elsewhere: Iterable[str] = ()) -> None:
        """`elsewhere` are other providers that have a model of this name."""
        self.name = name
        self.provider = provider
        others = ", ".join(elsewhere)
        hint = f"; it is a model of {others}" if others else _suggest(name, known)
        super().__init__(f'unknown model "{name}" (provider="{provider}"){hint}')


class UnknownProvider(ConfigError):
    code = "unknown_provider"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        known = list(known)
        hint = _suggest(name, known) or f"; choose one of {', '.join(known)}"
        super().__init__(f'unknown provider "{name}"{hint}')


class MissingKey(ConfigError):
    code = "missing_key"

    def __init__(
        self,
        provider: str,
        variable: str,
        others: Iterable[str] = (),
        problem: str = "",
        key: str = "--api-key",
        ways: Iterable[str] = (),
        beside: str = "",
    ) -> None:
        """`others` are variables that would choose another provider. `problem` says why the key that seems to be there
        cannot be used. `key` is the name of the flag or keyword that a key can be passed with. `ways` are what else can
        be done, and `beside` is a sentence on what it takes beside a credential.
        """
        others = list(others)
        more = " or that of another provider (see linnet auth)" if len(others) > 2 else ""
        another = (", " if more else " or ").join(others[:2]) + more
        hint = f". {another} would choose another provider" if another else ""
        todo = ", ".join((f"set {variable}", f"pass {key}", *ways, f"or keep one: linnet login {provider}"))
        why = f" ({problem})" if problem else ""
        super().__init__(f"no credential for {provider}{why}; {todo}{hint}{f'. {beside}' if beside else ''}")


class Contradiction(ConfigError):
    code = "contradiction"

    def __init__(self, *flags: str) -> None:
        self.flags = flags
        super().__init__(f"{' and '.join(flags)} do not go together; give one of them")


class Busy(LinnetError):
    code = "busy"

    def __init__(self) -> None:
        super().__init__("A prompt is already running; wait for its last event or abort it.")


class NotRunning(LinnetError):
    code = "not_running"

    def __init__(self) -> None:
        super().__init__("Nothing runs that could be told this; send it as a prompt.")


class Closed(LinnetError):
    code = "closed"

    def __init__(self, reason: str = "The runtime is closed.") -> None:
        super().__init__(reason)


class BadInput(LinnetError):
    code = "bad_input"


class BadOutput(LinnetError):
    code = "bad_output"


class NothingToCompact(LinnetError):
    code = "nothing_to_compact"


class CalledOff(LinnetError):
    code = "called_off"

    def __init__(self) -> None:
        super().__init__("An extension called it off; nothing has changed.")


class LimitReached(LinnetError):
    code = "limit_reached"

    def __init__(self, limit: str, sentence: str) -> None:
        self.limit = limit  # The field of the configuration that set it: `max_steps`, `max_cost` or `max_seconds`.
        super().__init__(sentence)


class SessionError(LinnetError):
    code = "session"


class SessionInUse(SessionError):
    code = "session_in_use"

    def __init__(self, path: str, holder: int) -> None:
        self.holder = holder
        who = f"process {holder}" if holder else "another process"
        super().__init__(f"{path} is in use by {who}; end that one first, or work on a copy")


class LogUnavailable(SessionError):
    """Nobody knows whether the lines were written. Ask the log for its head before you try again."""

    code = "log_unavailable"
    retryable = True


class LogRefused(SessionError):
    code = "log_refused"

    def __init__(self, key: str, reason: str = "it has another owner by now") -> None:
        self.key = key
        super().__init__(f"the session {key} cannot be written to any more: {reason}; this agent has ended")


class ProviderError(LinnetError):
    code = "provider"

    def __init__(self, provider: str, reason: str, status: int | None = None) -> None:
        super().__init__(f"{provider}: {reason}")
        self.status = status


class ProviderRejected(ProviderError):
    code = "provider_rejected"


class ContextOverflow(ProviderRejected):
    code = "context_overflow"


class ModelRefused(ProviderRejected):
    code = "model_refused"


class ProviderUnavailable(ProviderError):
    code = "provider_unavailable"
    retryable = True

    def __init__(self, provider: str, reason: str, retry_after: float | None = None, status: int | None = None) -> None:
        super().__init__(provider, reason, status)
        self.retry_after = retry_after


class ClientError(LinnetError):
    code = "client"


class AgentGone(ClientError):
    code = "agent_gone"

    def __init__(self, exit_code: int | None, stderr_tail: str = "", reason: str = "") -> None:
        self.exit_code = exit_code  # Negative for a signal, and None while the process is still there.
        self.stderr_tail = stderr_tail
        self.reason = reason or "the agent has ended"
        ended = "" if exit_code is None else f" (signal {-exit_code})" if exit_code < 0 else f" (exit code {exit_code})"
        said = stderr_tail.strip()[-2000:]
        super().__init__(f"{self.reason}{ended}" + (f"; its last words were:\n{said}" if said else ""))

    def again(self) -> "AgentGone":
        """Return an equal error, to be raised. Raising the same one twice keeps alive all it was raised through."""
        return AgentGone(self.exit_code, self.stderr_tail, self.reason)


class Refused(ClientError):
    code = "refused"

    def __init__(self, command: str, reason: str) -> None:
        self.command = command
        self.reason = reason
        super().__init__(f"{command}: {reason}")


class RunFailed(ClientError):
    code = "run_failed"

    def __init__(self, reason: str, text: str = "") -> None:
        self.reason = reason
        self.text = text  # What was said before it failed.
        super().__init__(reason)


class BadAnswer(ClientError):
    code = "bad_answer"

    def __init__(self, command: str, reason: str, data: bytes) -> None:
        self.command = command
        self.data = data  # What came instead, as JSON.
        super().__init__(f"{command}: the answer is not what the protocol says: {reason}")


class TimedOut(ClientError, TimeoutError):
    code = "timed_out"

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(f"{what}: nothing came within {seconds:g} s")


class Cancelled(Exception):
    """Somebody aborted what was going on."""


class ToolFailed(Exception):
    """A tool could not do what it was called for; the sentence is for the model to read."""


class ToolNotRun(ToolFailed):
    """A call was answered without running anything: nobody has the tool, or its arguments do not fit."""


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return the known word that was probably meant; empty if none is near."""
    from difflib import get_close_matches  # 1 ms that only a typo should pay for

    known = list(known)
    for each in known:
        if sorted(each) == sorted(word):
            return each  # Two letters have changed places, which is what fingers do most.
    return next(iter(get_close_matches(word, list(known), n=1, cutoff=likeness)), "")


def _suggest(name: str, known: Iterable[str]) -> str:
    near = nearest(name, known)
    return f'; did you mean "{near}"?' if near else ""
