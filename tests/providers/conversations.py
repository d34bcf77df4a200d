"""Conversations that APIs are judged by: replies as each API really streams them, and what comes between them."""

from contextlib import closing
from functools import cache

from linnet.core.context.history import Sendable, repaired
from linnet.core.deltas import Delta
from linnet.core.loop.draft import Draft
from linnet.core.messages import (
    AssistantMessage,
    Image,
    Message,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from linnet.providers.base import Request
from tests.providers.apis import LS, READ, Api
from tests.providers.loopback import Loopback, answer, heard

PNG = Image(
    "image/png",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
)


def user(*parts: str | Image) -> UserMessage:
    return UserMessage(tuple(Text(part) if isinstance(part, str) else part for part in parts), 0)


def drafted(api: Api, deltas: list[Delta], stop: StopReason | None = None) -> AssistantMessage:
    """Return the message that an API's deltas come to."""
    draft = Draft()
    draft.add(deltas)
    return draft.message(0, api.model, draft.usage, stop)


@cache
def reply(api: Api) -> AssistantMessage:
    """Return the reply in an API's stream, as its provider reads it from a socket."""
    with Loopback() as server:
        server.answer = answer(api.content_type, api.pieces)
        with closing(api.open(server.url)) as provider:
            deltas, error = heard(provider, Request(api.model, "Be brief.", (user("go"),), (READ, LS), "high"))
    assert error is None
    return drafted(api, deltas)


def cut_off(api: Api, stop: StopReason) -> AssistantMessage:
    """Return the same reply, stopped within its second call."""
    with Loopback() as server:
        pieces = api.pieces
        server.answer = answer(api.content_type, pieces[: len(pieces) * 4 // 5])[: -len(b"0\r\n\r\n")]
        with closing(api.open(server.url)) as provider:
            deltas, error = heard(provider, Request(api.model, "Be brief.", (user("go"),), (READ, LS), "high"))
    assert error is not None
    return drafted(api, deltas, stop)


def results(said: AssistantMessage) -> list[ToolResult]:
    """Return an answer to each call: the first with an image, the second an error, as far as there are so many."""
    answers: list[ToolResult] = []
    for at, call in enumerate(said.calls):
        content: tuple[Text | Image, ...] = (Text("no such file"),) if at % 2 else (Text("é"), PNG)
        answers.append(ToolResult(call.id, call.name, content, 0, is_error=bool(at % 2)))
    return answers


def said(api: Api, words: str) -> AssistantMessage:
    return AssistantMessage((Text(words),), 0, api.model.provider, api.model.id, api=api.model.api)


def eventful(api: Api) -> list[Sendable]:
    """Return a conversation with thoughts, images, parallel calls, errors and an abort in it, up to the next reply."""
    first = reply(api)
    odd = ToolCall("functions.read:0", "read", {"path": "b", "limit": 3})
    torn = ToolCall("call_torn", "ls", {}, unparsed='{"path": ')
    elsewhere = AssistantMessage(
        (Thinking("Somebody else thought.", "c2ln"), odd, torn), 0, "elsewhere", "another-model", api="elsewhere"
    )
    history: list[Message] = [
        user("Look at this.", PNG),
        first,
        *results(first),
        said(api, "Done."),
        user("Again."),
        elsewhere,
        *results(elsewhere),
        user("Stop!"),
        cut_off(api, "aborted"),
        user("Go on."),
        cut_off(api, "error"),
        cut_off(api, "length"),
        user(""),
        first,  # Its calls were never answered.
    ]
    return repaired(history)
