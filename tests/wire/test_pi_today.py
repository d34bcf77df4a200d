"""pi's protocol of today: a client that has nothing but the deltas has the message."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core import events
from linnet.wire.pi.encode import Manner, PiEncoder
from linnet.wire.pi.generations import PI_087, PI_1, Generation
from tests.wire.test_pi_encode import joined, lines, runs

TODAY = pytest.mark.parametrize("generation", [PI_087, PI_1], ids=lambda generation: generation.name)


def encoder_of(generation: Generation) -> PiEncoder:
    return PiEncoder(Manner(generation.updates), generation)


class Client:
    """What pi's documents tell a client to do, and no more: blocks by their index, from deltas alone."""

    def __init__(self) -> None:
        self.blocks: dict[int, dict[str, Any]] = {}

    def see(self, update: dict[str, Any]) -> None:
        index = update["contentIndex"]
        match update["type"]:
            case "text_start" | "thinking_start":
                assert index not in self.blocks
                self.blocks[index] = {"type": update["type"].removesuffix("_start"), "grown": ""}
            case "toolcall_start":
                assert index not in self.blocks
                self.blocks[index] = {"type": "toolCall", "id": update["id"], "name": update["toolName"], "grown": ""}
            case "text_delta" | "thinking_delta" | "toolcall_delta":
                self.blocks[index]["grown"] += update["delta"]
            case "text_end" | "thinking_end":
                assert update["content"] == joined(self.blocks[index]["grown"])
            case "toolcall_end":
                call, block = update["toolCall"], self.blocks[index]
                assert (call["type"], call["id"], call["name"]) == ("toolCall", block["id"], block["name"])
                assert call["arguments"] == arguments(block["grown"])
            case other:
                raise AssertionError(f"no update is called {other}")

    def content(self) -> list[dict[str, Any]]:
        assert sorted(self.blocks) == list(range(len(self.blocks)))
        return [self._block(self.blocks[index]) for index in sorted(self.blocks)]

    def _block(self, block: dict[str, Any]) -> dict[str, Any]:
        grown = joined(block["grown"])
        match block["type"]:
            case "toolCall":
                return {"type": "toolCall", "id": block["id"], "name": block["name"], "arguments": arguments(grown)}
            case kind:
                return {"type": kind, kind: grown}


def arguments(text: str) -> Any:
    """What the pieces of a call's arguments come to; nothing, if they are no object."""
    try:
        found = json.loads(joined(text))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def shown(block: dict[str, Any]) -> dict[str, Any]:
    """A block of a whole message without what updates never have: signatures, and why arguments could not be read."""
    hidden = ("thinkingSignature", "textSignature", "thoughtSignature", "redacted", "argumentsError")
    return {name: value for name, value in block.items() if name not in hidden}


def _holds(block: dict[str, Any]) -> bool:
    """A block that stayed empty is not in the message: vendors refuse it when it comes back."""
    return block["type"] == "toolCall" or bool(block[block["type"]])


@TODAY
@given(happened=runs(), cuts=st.lists(st.integers(1, 5), min_size=1))
def test_messages_made_of_deltas_alone_are_those_that_end(
    generation: Generation, happened: list[events.Event], cuts: list[int]
) -> None:
    encoder, client = encoder_of(generation), Client()
    frames: list[Any] = []
    rest = list(happened)
    while rest:  # However many events come together.
        size = cuts[len(frames) % len(cuts)]
        frames += lines(rest[:size], encoder)
        rest = rest[size:]
    for frame in frames:
        match frame:
            case {"type": "message_start", "message": {"role": "assistant"}}:
                client = Client()
            case {"type": "message_update", "assistantMessageEvent": update}:
                assert frame.keys() == {"type", "usage", "assistantMessageEvent"}
                assert "partial" not in update
                client.see(update)
            case {"type": "message_end", "message": {"role": "assistant", "stopReason": stop} as message}:
                told, whole = client.content(), list(filter(_holds, map(shown, message["content"])))
                if stop in ("aborted", "error", "length"):  # It has no calls: none of them will run.
                    told = [block for block in told if block["type"] != "toolCall"]
                assert list(filter(_holds, told)) == whole
            case _:
                pass


@TODAY
@given(happened=runs())
def test_a_reply_is_pending_until_it_ends(generation: Generation, happened: list[events.Event]) -> None:
    frames = lines(happened, encoder_of(generation))
    begun: Any = None
    for frame in frames:
        match frame:
            case {"type": "message_start", "message": {"role": "assistant"} as message}:
                begun = message
            case {"type": "message_update"}:
                assert begun["stopReason"] == "pending"
            case {"type": "message_end", "message": {"role": "assistant"} as message}:
                assert message["stopReason"] != "pending"
                assert begun["timestamp"] == message["timestamp"]
            case _:
                pass
