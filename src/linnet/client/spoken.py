"""What a run came to, folded from its events: the words of the agent, and why it failed. Pure."""

from typing import Protocol

from linnet.wire.pi import incoming as pi
from linnet.wire.zot import frames


class Spoken(Protocol):
    """`text` is what the agent said, replies joined. `failure` is empty if all went well."""

    text: str
    failure: str

    def add(self, event: object) -> None: ...


class ZotSpoken:
    def __init__(self) -> None:
        self.text = self.failure = ""

    def add(self, event: object) -> None:
        match event:
            case frames.TextDelta(delta):
                self.text += delta
            case frames.TurnEnd(stop, error):  # What counts is how the last one went.
                why = error if isinstance(error, str) else f"the run ended with {stop}"
                self.failure = why if stop in ("error", "aborted") else ""
            case frames.Error(message):
                self.failure = message
            case _:
                pass


class PiSpoken:
    def __init__(self) -> None:
        self.text = self.failure = ""

    def add(self, event: object) -> None:
        match event:
            case pi.MessageUpdate(pi.TextDelta(delta)):
                self.text += delta
            case pi.MessageEnd(message) if message.role == "assistant":
                failed = message.stop_reason in ("error", "aborted")
                self.failure = (message.error_message or f"the run ended with {message.stop_reason}") if failed else ""
            case pi.AgentEnd(error_message=reason) if reason:
                self.failure = reason
            case pi.Error(error):
                self.failure = error
            case _:
                pass
