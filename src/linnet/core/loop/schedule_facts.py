"""What the schedule is told, as facts, and what it wants done, as effects. What follows from a fact is decided in
`schedule.py`.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from linnet.core.commands import Background, Ordered, Work
from linnet.core.events import Event
from linnet.core.messages import BashRun
from linnet.errors import LinnetError

Why: TypeAlias = Literal["busy", "idle", "at_work", "closed", "closing"]
"""`at_work`: what is done between runs alone. `closing`: it was waiting as the agent was closed."""


class Job(Struct, frozen=True):
    """Work that somebody asked for. `number` is unique; `time` is when it was asked for."""

    number: int
    work: Work
    time: int = 0


class Submitted(Struct, frozen=True):
    """`listening`: the agent is at work, so that what is said now can be said to it. `may_wait`: or else it is refused
    while another job is active.
    """

    job: Job
    listening: bool = False
    may_wait: bool = True


class JobEnded(Struct, frozen=True):
    """The active job is over."""


class AbortAsked(Struct, frozen=True):
    """Of the active job, and of commands of extensions; with a number, of that job or background command alone, whether
    it is active or waits.
    """

    number: int | None = None


class BackgroundSubmitted(Struct, frozen=True):
    """`session` is the one that is open."""

    number: int
    command: Background
    session: str = ""


class BackgroundEnded(Struct, frozen=True):
    """`session` is the one that is open by now. `run` is what came of a command."""

    number: int
    session: str = ""
    run: BashRun | None = None


class BashAbortAsked(Struct, frozen=True):
    """Of the client's shell commands that run in the background, and of nothing else."""


class InputEnded(Struct, frozen=True):
    """Nobody can ask for anything any more, nor abort what runs."""


class PatienceOver(Struct, frozen=True):
    """The time that `Linger` asked for is over."""


class CloseAsked(Struct, frozen=True):
    """Nothing is to begin any more, and what runs is to end."""


class Arrived(Struct, frozen=True):
    """Somebody asked for what needs extensions, or has to keep its order with what does."""

    number: int
    command: Ordered


class SeenTo(Struct, frozen=True):
    """What was to be admitted has been: it was submitted, answered or refused."""

    number: int


class ExtensionsWanted(Struct, frozen=True):
    """Somebody will need them."""


class ExtensionsLoaded(Struct, frozen=True):
    """All of them; or, after a Hurry, those that could be had at once."""


class ExtensionsFailed(Struct, frozen=True):
    """They could not be loaded, or read again; `for_good`: nor will they be."""

    error: LinnetError
    for_good: bool = True


class FailureTold(Struct, frozen=True):
    """Everybody knows of what GiveUp was about."""


class ExtensionsOutdated(Struct, frozen=True):
    """They are to be read again, before whoever needs them next; or need not be, after all."""

    outdated: bool = True


class ExtensionsReloaded(Struct, frozen=True):
    """Those that were read again are in use; or those that there were, if that failed."""


class MoveAnswered(Struct, frozen=True):
    """Not `permitted`: by an extension, or because somebody aborted the question."""

    number: int
    permitted: bool


class Accept(Struct, frozen=True):
    """Tell whoever asked that it will be seen to."""

    number: int


class Refuse(Struct, frozen=True):
    """Tell whoever asked that it will not be seen to, and why. Nothing more becomes of it."""

    number: int
    why: Why | LinnetError


class Begin(Struct, frozen=True):
    """This job is the active one from here on. `doomed`: it was aborted before; nothing is to be done for it."""

    job: Job
    doomed: bool = False


class Launch(Struct, frozen=True):
    """Begin a background command."""

    number: int


class Interrupt(Struct, frozen=True):
    """Make whatever blocks in it stop. It still ends by itself, with JobEnded or BackgroundEnded."""

    number: int


class Linger(Struct, frozen=True):
    """Only commands are left that nobody can abort any more: have patience with them for a while."""


class Tell(Struct, frozen=True):
    """Publish this event."""

    event: Event


class Idle(Struct, frozen=True):
    """Tell everybody that nothing is active, waits, or runs in the background any more."""


class Load(Struct, frozen=True):
    """Load the extensions, or wait for those that were not there yet. Ends with ExtensionsLoaded, ExtensionsFailed."""


class Hurry(Struct, frozen=True):
    """Wait no longer for extensions that can join later: the first that needs them was aborted, or nobody does."""


class Reload(Struct, frozen=True):
    """Read the extensions again, for this command or for nobody. Ends with ExtensionsReloaded or ExtensionsFailed."""

    number: int | None = None


class AskAbout(Struct, frozen=True):
    """Ask the extensions whether this move may happen. Ends with MoveAnswered, or SeenTo if that failed."""

    number: int


class CallOff(Struct, frozen=True):
    """Answer this move: it does not happen."""

    number: int


class Admit(Struct, frozen=True):
    """Nothing keeps this command any more: submit or answer it. Ends with SeenTo."""

    number: int


class GiveUp(Struct, frozen=True):
    """Tell everybody that nothing will be done any more. Ends with FailureTold."""

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
