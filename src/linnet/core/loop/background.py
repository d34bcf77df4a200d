"""The commands that run in the background, beside the active job, and what to tell when one ends."""

from msgspec import Struct

from linnet.core.commands import Background, Bash, RunCommand
from linnet.core.events import BashHeld, BashRan
from linnet.core.loop.schedule_facts import Effect, Interrupt, Tell
from linnet.core.messages import BashRun


class _Begun(Struct):
    command: Background
    session: str
    """Where it began; empty between two sessions, when it belongs to the one that is led to."""


class BackgroundCommands:
    """The commands that run beside the active job.

    Invariant: BashRan is told while no job is active, and in the session in which the shell command began, or never. It
    adds a message, which in the middle of a run would tear results from their calls.
    """

    def __init__(self) -> None:
        self._begun: dict[int, _Begun] = {}
        self._held: list[BashRun] = []  # Shell commands that ended while a job was active.

    def __len__(self) -> int:
        return len(self._begun)

    def __contains__(self, number: int) -> bool:
        return number in self._begun

    def begin(self, number: int, command: Background, session: str) -> None:
        self._begun[number] = _Begun(command, session)

    def end(self, number: int, session: str, run: BashRun | None, *, is_alone: bool) -> list[Effect]:
        """Forget a command, and return what is to be told of it now. `is_alone`: no job is active."""
        begun = self._begun.pop(number, None)
        if begun is None or run is None or begun.session not in ("", session):
            return []
        if is_alone:
            return [Tell(BashRan(run))]
        self._held.append(run)
        return [Tell(BashHeld(run))]

    def release(self) -> list[Effect]:
        """Return what is to be told of the commands that ended while a job was active, which is over now."""
        held, self._held = self._held, []
        return [Tell(BashRan(run)) for run in held]

    def interrupt(self, *kinds: type[Background]) -> list[Effect]:
        """Return what interrupts the commands of these kinds, as `endless` finds them."""
        return [Interrupt(number) for number in self.endless(*kinds)]

    def endless(self, *kinds: type[Background]) -> list[int]:
        """Return the commands that may take for ever: the client's shell commands, and those of extensions."""
        wanted = kinds or (Bash, RunCommand)
        return [number for number, each in self._begun.items() if isinstance(each.command, wanted)]
