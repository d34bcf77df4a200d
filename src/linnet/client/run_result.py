"""Folds the events of a run into its result: the words of the agent, a value, and why it failed. Pure."""

from typing import Any

from linnet.wire.pi.reading import incoming as pi
from linnet.wire.zot import frames


class RunResult:
    """Folds the events of a run into its result so far."""

    def __init__(self) -> None:
        self.failure = ""
        """Why it failed; empty if all went well."""
        self.value: Any = None
        """The answer in the form that was asked for."""
        self.no_value = "the agent was not asked for a value, or knows of none: give output_schema"
        """Why there is no value; empty if there is one."""
        self._replies: list[list[str]] = []

    @property
    def text(self) -> str:
        """What the agent said: its replies, with an empty line between two."""
        return "\n\n".join(text for reply in self._replies if (text := "".join(reply)))

    def add(self, event: object) -> None:
        """Take in the next event."""
        raise NotImplementedError

    def _read(self, value: Any, error: str) -> None:
        self.value, self.no_value = (None, error) if error else (value, "")

    def _reply(self) -> None:
        self._replies.append([])

    def _said(self, text: str) -> None:
        if not self._replies:
            self._reply()
        self._replies[-1].append(text)


class ZotRunResult(RunResult):
    """The result of a run in zot's protocol."""

    def add(self, event: object) -> None:
        match event:
            case frames.TextDelta(delta):
                self._said(delta)
            case frames.AssistantStart():
                self._reply()
            case frames.TurnEnd(stop, error):  # What counts is how the last one went.
                why = error if isinstance(error, str) else f"the run ended with {stop}"
                self.failure = why if stop in ("error", "aborted") else ""
            case frames.Error(message):
                self.failure = message
            case frames.Output(value, error):
                self._read(value, error or "")
            case _:
                pass


class PiRunResult(RunResult):
    """The result of a run in pi's protocol."""

    def add(self, event: object) -> None:
        match event:
            case pi.MessageUpdate(pi.TextDelta(delta)):
                self._said(delta)
            case pi.MessageStart():
                self._reply()
            case pi.MessageEnd(message) if message.role == "assistant":
                failed = message.stop_reason in ("error", "aborted")
                self.failure = (message.error_message or f"the run ended with {message.stop_reason}") if failed else ""
            case pi.AgentEnd(error_message=reason) if reason:
                self.failure = reason
            case pi.Error(error):
                self.failure = error
            case pi.Output(value, error):
                self._read(value, error)
            case _:
                pass
