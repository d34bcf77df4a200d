"""Events about a job as a whole: a prompt, which takes one or more runs, or a compaction. Settled ends it."""

from typing import Literal, TypeAlias

from msgspec import Struct

from linnet.core.inputs import Input
from linnet.core.messages import Usage

JobKind: TypeAlias = Literal["prompt", "compact"]


class JobStarted(Struct, frozen=True):
    """A prompt or a compaction has begun. Settled will end it."""

    kind: JobKind
    input: Input | None = None
    """What a prompt says, before it is made a message."""
    spent: Usage = Usage()
    """What the session had cost by then."""
    taken_up: bool = False
    """The job had begun in another process, which left it off; this one sees it to its end."""


class JobInterrupted(Struct, frozen=True):
    """The job is being cut short: by an abort, or for the reason that `error` gives. Its end is yet to be told."""

    error: str = ""


class JobContinued(Struct, frozen=True):
    """Something was said as the last run of a prompt ended; another run follows."""


JobEvent: TypeAlias = JobStarted | JobInterrupted | JobContinued
