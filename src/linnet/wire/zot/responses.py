"""Types for the answers of the zot protocol. They are apart from `frames` because the first answer needs nothing else.

An addition is something that zot itself does not print.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType

from linnet.core.answers import SandboxState

PROTOCOL_VERSION = 1


class Tokens(Struct, frozen=True, omit_defaults=True):
    """How many tokens were used, and what they cost."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float
    cost_known: bool = True
    """An addition: false if a price is not known. Then `cost_usd` is what the rest has cost."""


class GreetingData(Struct, frozen=True):
    protocol_version: int
    version: str
    provider: str
    model: str


class StartedData(Struct, frozen=True):
    started: bool


class PermissionAsked(Struct, frozen=True):
    """What a tool is about to do. An addition."""

    call_id: str
    name: str
    args: dict[str, Any]
    preview: str


class WaitingFor(Struct, frozen=True):
    """A question that nobody has answered, as the `question` or `tool_request` put it. An addition."""

    request_id: str
    kind: str  # permission, question or tool.
    title: str
    call_id: str | UnsetType = UNSET
    method: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    options: Sequence[str] | UnsetType = UNSET
    placeholder: str | UnsetType = UNSET
    prefill: str | UnsetType = UNSET
    timeout_ms: int | UnsetType = UNSET  # What is left of it.
    permission: PermissionAsked | UnsetType = UNSET
    name: str | UnsetType = UNSET
    args: dict[str, Any] | UnsetType = UNSET


class StateData(Struct, frozen=True):
    provider: str
    model: str
    cwd: str
    message_count: int
    busy: bool
    usage: Tokens
    session_file: str | UnsetType = UNSET
    waiting_for: list[WaitingFor] | UnsetType = UNSET
    sandbox: SandboxState | UnsetType = UNSET


class ModelData(Struct, frozen=True):
    model: str


class ModelInfo(Struct, frozen=True):
    id: str
    provider: str
    context_window: int
    max_output: int
    reasoning: bool


class ModelsData(Struct, frozen=True):
    models: list[ModelInfo]


class SlashItem(Struct, frozen=True):
    """Something that a user may type as `/name`. An addition."""

    name: str
    description: str
    source: str
    location: str
    path: str
    argument_hint: str | UnsetType = UNSET


class CommandsData(Struct, frozen=True):
    commands: list[SlashItem]


class PongData(Struct, frozen=True):
    pong: bool


class Response(Struct, frozen=True, tag_field="type", tag="response"):
    id: Raw | UnsetType
    command: str
    success: bool
    data: Any = UNSET
    error: str | UnsetType = UNSET
    code: str | UnsetType = UNSET  # An addition, of servers only.
