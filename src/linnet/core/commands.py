"""What a client may ask, and what it is answered, in no dialect's words."""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from linnet.core.messages import Image, Message, Usage
from linnet.core.models import Model


class Hello(Struct, frozen=True):
    token: str


class Prompt(Struct, frozen=True):
    text: str
    images: tuple[Image, ...] = ()


class Abort(Struct, frozen=True):
    pass


class Compact(Struct, frozen=True):
    instructions: str = ""


class GetState(Struct, frozen=True):
    pass


class GetMessages(Struct, frozen=True):
    pass


class Clear(Struct, frozen=True):
    pass


class SetModel(Struct, frozen=True):
    model: str


class GetModels(Struct, frozen=True):
    pass


class Ping(Struct, frozen=True):
    pass


Work: TypeAlias = Prompt | Compact  # What takes a run; one at a time.
Query: TypeAlias = Hello | Abort | GetState | GetMessages | Clear | SetModel | GetModels | Ping
Command: TypeAlias = Work | Query


class Greeting(Struct, frozen=True):
    version: str
    provider: str
    model: str


class Started(Struct, frozen=True):
    pass


class State(Struct, frozen=True):
    """`messages` is the conversation itself: a dialect counts it as it would list it."""

    provider: str
    model: str
    cwd: str
    busy: bool
    usage: Usage
    messages: Sequence[Message]


class Transcript(Struct, frozen=True):
    messages: Sequence[Message]


class ModelChosen(Struct, frozen=True):
    model: str


class ModelList(Struct, frozen=True):
    models: Sequence[Model]


class Pong(Struct, frozen=True):
    pass


class Ok(Struct, frozen=True):
    """Done, and nothing more to say."""


Answer: TypeAlias = Greeting | Started | State | Transcript | ModelChosen | ModelList | Pong | Ok
