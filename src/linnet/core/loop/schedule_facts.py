"""The facts that the schedule is told and the effects that it wants done. `schedule` decides what follows from what."""

from typing import Literal, TypeAlias

from msgspec import Struct

from linnet.core.commands import Background, Ordered, Work
from linnet.core.events import Event
from linnet.core.messages import BashRun
from linnet.errors import LinnetError

Why: TypeAlias = Literal["busy", "idle", "at_work", "closed", "closing"]
"""Why something is refused: another job is active, no job is, it is done only between runs (`at_work`), the agent was
closed before, or the agent was closed while it waited (`closing`).
"""


class Job(Struct, frozen=True):
    """Work that somebody asked for."""

    number: int  # Unique among all that was asked for.
    work: Work
    time: int = 0  # When it was asked for, in milliseconds since 1970.


class Submitted(Struct, frozen=True):
    """Somebody asked for a job."""

    job: Job
    listening: bool = False
    """The agent is at work, so that what is said now can be said to it."""
    may_wait: bool = True
    """If not, the job is refused while another one is active."""


class JobEnded(Struct, frozen=True):
    """The active job is over."""


class AbortAsked(Struct, frozen=True):
    """Somebody wants the active job and all commands of extensions aborted; with a number, only that job or background
    command, whether it runs or waits.
    """

    number: int | None = None
    keep: bool = False  # What waits to be said to the job is left for the next prompt.


class BackgroundSubmitted(Struct, frozen=True):
    """Somebody asked for a background command."""

    number: int
    command: Background
    session: str = ""  # The one that is open.


class BackgroundEnded(Struct, frozen=True):
    """A background command is over."""

    number: int
    session: str = ""  # The one that is open by now.
    run: BashRun | None = None  # What came of a shell command.


class BashAbortAsked(Struct, frozen=True):
    """Somebody wants the client's shell commands that run in the background aborted, and nothing else."""


class InputEnded(Struct, frozen=True):
    """Nobody can ask for anything any more, nor abort what runs."""


class PatienceOver(Struct, frozen=True):
    """The time that `Linger` asked for is over."""


class CloseAsked(Struct, frozen=True):
    """Nothing is to begin any more, and what runs is to end."""


class Arrived(Struct, frozen=True):
    """Somebody asked for something that needs extensions, or has to keep its order with what does."""

    number: int
    command: Ordered


class SeenTo(Struct, frozen=True):
    """What Admit or AskAbout was about has been submitted, answered or refused."""

    number: int


class ExtensionsWanted(Struct, frozen=True):
    """Somebody will soon need the extensions."""


class ExtensionsLoaded(Struct, frozen=True):
    """All extensions are loaded; or, after a Hurry, those that could be had at once."""


class ExtensionsFailed(Struct, frozen=True):
    """The extensions could not be loaded, or read again."""

    error: LinnetError
    for_good: bool = True  # Nor will they ever be.


class FailureTold(Struct, frozen=True):
    """Everybody has been told what GiveUp was about."""


class ExtensionsOutdated(Struct, frozen=True):
    """The extensions are to be read again before somebody needs them; or need not be, after all."""

    outdated: bool = True


class ExtensionsReloaded(Struct, frozen=True):
    """The extensions that were read again are in use; or the earlier ones, if that failed."""


class MoveAnswered(Struct, frozen=True):
    """The extensions have said whether a move may happen."""

    number: int
    permitted: bool  # False also if somebody aborted the question.


class Accept(Struct, frozen=True):
    """Tell whoever asked for this that it will be seen to."""

    number: int
    queued: bool = False  # It waits to be said to the active job.


class Refuse(Struct, frozen=True):
    """Tell whoever asked for this that it will not be seen to, and why. Nothing more becomes of it."""

    number: int
    why: Why | LinnetError


class Begin(Struct, frozen=True):
    """Begin this job, which is the active one from here on."""

    job: Job
    doomed: bool = False  # It was aborted before: nothing is to be done for it, and it ends at once.


class Launch(Struct, frozen=True):
    """Begin a background command."""

    number: int


class Interrupt(Struct, frozen=True):
    """Make whatever blocks in this job or command stop. It still ends by itself, with JobEnded or BackgroundEnded."""

    number: int


class Linger(Struct, frozen=True):
    """Wait for a while, then say PatienceOver: only commands are left, and nobody can abort them any more."""


class Tell(Struct, frozen=True):
    """Publish this event."""

    event: Event


class Idle(Struct, frozen=True):
    """Tell everybody that nothing is active, waits, or runs in the background any more."""


class Load(Struct, frozen=True):
    """Load the extensions, or wait for those that are not there yet. Ends with ExtensionsLoaded or ExtensionsFailed."""


class Hurry(Struct, frozen=True):
    """Wait no longer for extensions that can join later: the first to need them was aborted, or nothing needs them."""


class Reload(Struct, frozen=True):
    """Read the extensions again. Ends with ExtensionsReloaded or ExtensionsFailed."""

    number: int | None = None  # The command that asked for it; None if they were outdated.


class AskAbout(Struct, frozen=True):
    """Ask the extensions whether this move may happen. Ends with MoveAnswered, or SeenTo if that failed."""

    number: int


class CallOff(Struct, frozen=True):
    """Answer whoever asked for this move that it does not happen."""

    number: int


class Admit(Struct, frozen=True):
    """Submit or answer this command: nothing keeps it back any more. Ends with SeenTo."""

    number: int


class GiveUp(Struct, frozen=True):
    """Tell everybody that nothing that needs extensions will be done any more. Ends with FailureTold."""

    error: LinnetError


ExtensionsFact: TypeAlias = (
    ExtensionsWanted | ExtensionsLoaded | ExtensionsFailed | FailureTold | ExtensionsOutdated | ExtensionsReloaded
)
Fact: TypeAlias = (
    Submitted
    | JobEnded
    | AbortAsked
    | BackgroundSubmitted
    | BackgroundEnded
    | BashAbortAsked
    | InputEnded
    | PatienceOver
    | CloseAsked
    | Arrived
    | SeenTo
    | MoveAnswered
    | ExtensionsFact
)
Effect: TypeAlias = (
    Accept
    | Refuse
    | Begin
    | Launch
    | Interrupt
    | Linger
    | Tell
    | Idle
    | Load
    | Hurry
    | Reload
    | AskAbout
    | CallOff
    | Admit
    | GiveUp
)
