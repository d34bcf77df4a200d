"""The rules of APIs in which user and model speak in turn, the user first and last, in messages of blocks. Pure.

Some models refuse a thought that is sent back after anything else than what they were sent when they thought it: such a
thought has a digest of that, and is left out where it does not match.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from linnet.core.context.history import Sendable
from linnet.core.messages import AssistantMessage
from linnet.core.models import Reasoning
from linnet.providers.base import Request
from linnet.providers.body import encode
from linnet.providers.encoded_history import EncodedHistory

Block: TypeAlias = dict[str, Any]
_MARKED = 2  # So many of the user's last messages: the calls of one step may be more blocks than the vendor looks back.
_UNSETTLED = 4  # Groups in which these messages are, whoever spoke last.


class BlockKinds(Struct, frozen=True):
    """How an API spells the blocks that these rules are about."""

    nothing: Block
    """Stands where a message would be empty."""
    is_result: Callable[[Block], bool]
    is_thought: Callable[[Block], bool]


class Before(Struct, frozen=True):
    """What is known of the groups of messages before one."""

    begun: bool = False
    digest: str = ""  # Of all of them, and of system prompt and tools; empty if thoughts are not bound.


def history(
    kinds: BlockKinds, blocks: Callable[[Sendable, str], list[Block]], bound_to: object
) -> EncodedHistory[Before]:
    """Return a history in which `blocks` spells each message, given the digest of all before. `bound_to` is what else
    thoughts are bound to; None if they are not bound at all.
    """
    start = Before() if bound_to is None else Before(digest=_after(Before(digest="-"), bound_to).digest)
    return EncodedHistory(lambda group, before: _spelled(group, kinds, blocks, before), start, _UNSETTLED)


def followed(
    history: EncodedHistory[Before], messages: Sequence[Sendable], kinds: BlockKinds
) -> tuple[list[Block], str]:
    """Return the messages that are not settled, the user's at the end, and the digest of all that is sent."""
    tail = [message for group in history.follow(messages) for message in group]
    state = history.state
    if not tail or tail[-1]["role"] == "assistant":
        last = _user([dict(kinds.nothing)])
        tail.append(last)
        state = _after(state, [last])
    return tail, state.digest


def last_of_user(tail: Iterable[Block]) -> list[Block]:
    """Return the user's last messages: behind these, a cache is to keep what was sent."""
    return [each for each in tail if each["role"] == "user"][-_MARKED:]


def thinkable(request: Request, tail: Sequence[Block], kinds: BlockKinds) -> Reasoning:
    """Return the level of thinking to ask for: off, if calls are being answered that were made without a thought, since
    a budget demands one before them.
    """
    answering = len(tail) > 1 and kinds.is_result(tail[-1]["content"][0])
    if answering and isinstance(request.model.levels.get(request.level), int):
        return request.level if kinds.is_thought(tail[-2]["content"][0]) else "off"
    return request.level


def called(request: Request) -> list[str]:
    """Return the names of the tools that the conversation has used: where none is offered any more, an API wants to
    know what they were.
    """
    replies = (each for each in request.messages if isinstance(each, AssistantMessage))
    return sorted({call.name for reply in replies for call in reply.calls})


def _spelled(
    group: Sequence[Sendable], kinds: BlockKinds, blocks: Callable[[Sendable, str], list[Block]], before: Before
) -> tuple[list[Block], Before]:
    """Return a group as one message. The user's comes first in a conversation."""
    replies = isinstance(group[0], AssistantMessage)
    content = [block for each in group for block in blocks(each, before.digest)] or [dict(kinds.nothing)]
    if not replies:  # Results come before anything else.
        content.sort(key=lambda block: not kinds.is_result(block))
    spelled = [{"role": "assistant", "content": content} if replies else _user(content)]
    if replies and not before.begun:
        spelled.insert(0, _user([dict(kinds.nothing)]))
    return spelled, _after(before, spelled)


def _user(blocks: list[Block]) -> Block:
    return {"role": "user", "content": blocks}


def _after(before: Before, said: object) -> Before:
    """Return what is known after this was said, too."""
    if not before.digest:
        return Before(begun=True)
    from hashlib import blake2b  # 2 ms that only models with bound thoughts should pay for

    return Before(begun=True, digest=blake2b(before.digest.encode() + encode(said), digest_size=16).hexdigest())
