"""Builds the line that answers a command in the pi protocol, and the answer to `get_state`, which is often the first.

What the other answers are made of is imported when one of them is given.
"""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import UNSET, Raw, Struct, UnsetType

from linnet.core import commands, models
from linnet.core.answers import SandboxState
from linnet.core.questions import QuestionAsked
from linnet.wire.dialect import Asked, Rejected
from linnet.wire.jsonl import encode_lines
from linnet.wire.pi.generations import PI, Generation


class Plain(Struct, frozen=True, rename="camel"):
    """An object without a `type`."""


class Prices(Plain, frozen=True):
    input: float
    output: float
    cache_read: float
    cache_write: float


class Model(Plain, frozen=True):
    id: str
    name: str
    api: str
    provider: str
    base_url: str
    reasoning: bool
    input: list[str]
    context_window: int
    max_tokens: int
    cost: Prices
    cost_known: Literal[False] | UnsetType = UNSET


class PermissionAsked(Plain, frozen=True):
    """What a tool is about to do, for clients that show more than a title. An addition."""

    tool_call_id: str
    tool_name: str
    args: dict[str, Any]
    preview: str


class WaitingFor(Plain, frozen=True):
    """A question that nobody has answered, as the `extension_ui_request` or `tool_request` put it. An addition."""

    id: str
    kind: str  # permission, question or tool.
    title: str
    tool_call_id: str | UnsetType = UNSET
    method: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    options: Sequence[str] | UnsetType = UNSET
    placeholder: str | UnsetType = UNSET
    prefill: str | UnsetType = UNSET
    timeout: int | UnsetType = UNSET  # What is left of it, in milliseconds.
    permission: PermissionAsked | UnsetType = UNSET
    tool_name: str | UnsetType = UNSET
    args: dict[str, Any] | UnsetType = UNSET


class StateData(Plain, frozen=True):
    model: Model | None
    thinking_level: str
    is_streaming: bool
    is_compacting: bool
    steering_mode: str
    follow_up_mode: str
    session_file: str | UnsetType
    session_id: str
    auto_compaction_enabled: bool
    message_count: int
    pending_message_count: int
    session_name: str | UnsetType = UNSET
    session_error: str | UnsetType = UNSET
    waiting_for: list[WaitingFor] | UnsetType = UNSET
    sandbox: SandboxState | UnsetType = UNSET


class Response(Struct, frozen=True, kw_only=True):
    """The answer to a command."""

    id: Raw | UnsetType  # The client's own, whatever it is; left out if there was none.
    type: Literal["response"] = "response"
    command: str
    success: bool
    data: Any = UNSET
    error: str | UnsetType = UNSET
    code: str | UnsetType = UNSET  # An addition, of servers only.


def answer(asked: Asked, answer: commands.Answer, generation: Generation = PI) -> bytes:
    """Return the response to a command that succeeded."""
    if isinstance(answer, commands.AgentState):
        told: Any = state(answer, generation)
    else:
        from linnet.wire.pi.answers import data

        told = data(answer, generation)
        if generation.disposition and isinstance(asked.command, commands.Prompt) and told is UNSET:
            told = {"disposition": "handled"}  # It was carried out as a command, and nothing was begun for it.
    return encode_lines([Response(id=_id(asked.id), command=asked.name, success=True, data=told)])


def refuse(asked: Asked | Rejected, reason: str, code: str = "") -> bytes:
    """Return the response to a command that was refused or failed."""
    said = Response(id=_id(asked.id), command=asked.name, success=False, error=reason, code=code or UNSET)
    return encode_lines([said])


def state(state: commands.AgentState, generation: Generation = PI) -> StateData:
    return StateData(
        model=model(state.model),
        thinking_level=state.thinking,
        is_streaming=state.prompting if generation.whole_prompts else state.streaming,
        is_compacting=state.compacting,
        steering_mode=state.steering_mode,
        follow_up_mode=state.follow_up_mode,
        session_file=state.session_file or UNSET,
        session_id=state.session_id,
        auto_compaction_enabled=state.auto_compaction,
        message_count=len(state.messages) - (0 if generation.system_messages else state.system_messages),
        pending_message_count=state.pending,
        session_name=state.session_name or UNSET,
        session_error=state.session_error or UNSET,
        waiting_for=_waiting(state.waiting_for) if state.waiting_for else UNSET,
        sandbox=state.sandbox or UNSET,
    )


def model(model: models.Model) -> Model:
    prices = model.prices or models.Prices()
    return Model(
        model.id,
        model.name or model.id,
        model.api,
        model.provider,
        model.base_url,
        model.reasoning,
        ["text", "image"] if model.images else ["text"],
        model.context_window,
        model.max_output,
        Prices(prices.input, prices.output, prices.cache_read, prices.cache_write),
        known(cost=model.prices is not None),
    )


def known(*, cost: bool) -> Literal[False] | UnsetType:
    """Return the value of `costKnown`, which is left out where all costs are known."""
    return UNSET if cost else False


def _waiting(asked: Sequence[QuestionAsked]) -> list[WaitingFor]:
    from linnet.wire.pi.questions import waiting

    return [waiting(each) for each in asked]


def _id(id: Raw) -> Raw | UnsetType:
    return id if bytes(id) else UNSET
