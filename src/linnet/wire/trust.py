"""The command `trust`, which both dialects spell alike."""

from typing import Literal, TypeAlias

from msgspec import Raw

from linnet.core.commands import Trust
from linnet.decoding import decoder_of
from linnet.wire.fields import Field

_Answer: TypeAlias = Literal["once", "always", "never"]
_answer: Field[_Answer] = Field("answer", decoder_of(_Answer), "once, always or never")


def trust(answer: Raw) -> Trust:
    """Raises BadInput."""
    return Trust(_answer.required(answer))
