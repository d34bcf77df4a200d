"""Whatever happens in whatever order: every update fits the schemas, calls come to an end, and turns end once."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linnet.core import events
from linnet.wire.acp.encode import Encoder
from linnet.wire.acp.frames import Told
from linnet.wire.jsonl import encode_lines
from tests.acp.editor import Editor, check, chosen, text
from tests.acp.test_turns import begun
from tests.suite.times import times
from tests.wire.stories import story

Start = Callable[..., Editor]
PROMPTS = ("hello", "!think", "!fail 529 1", "!tool bash {}", '!tool bash {"command": "true"}')


SEEN: set[str] = set()
WORDS = ("sessionUpdate", "type", "kind", "status")


def shape(value: Any) -> str:
    """What of a value its type depends on: checking takes long, and most updates are alike."""
    match value:
        case dict():
            told = {name: each if name in WORDS else shape(each) for name, each in value.items()}
            return str({**told, **({"rawInput": ""} if "rawInput" in told else {})})
        case list():
            return str(sorted({shape(each) for each in value}))
        case _:
            return type(value).__name__


@settings(max_examples=times(40))
@given(st.randoms(use_true_random=False), st.booleans())
def test_every_update_fits_the_schemas_and_no_call_is_left_open(random: Random, newer: bool) -> None:
    encoder = Encoder("/work", notices=newer, compactions=newer, terminals=newer)
    calls: dict[str, str] = {}
    for event in story(random):
        for update in encoder.encode([event]):
            told = json.loads(encode_lines([Told("s", update)]))
            if (known := shape(told)) not in SEEN:
                check("SessionNotification", told)
                SEEN.add(known)
            said = told["update"]
            if said["sessionUpdate"] == "tool_call":
                assert calls.get(said["toolCallId"], "completed") in ("completed", "failed")
                calls[said["toolCallId"]] = said["status"]
            elif said["sessionUpdate"] == "tool_call_update":
                assert calls[said["toolCallId"]] in ("pending", "in_progress")
                calls[said["toolCallId"]] = said.get("status", calls[said["toolCallId"]])
        if isinstance(event, events.Settled):
            assert set(calls.values()) <= {"completed", "failed"}


@pytest.fixture
def editor(acp: Start, folder: Path) -> Editor:
    options = iter(("allow_once", "reject_once", "nonsense") * 10_000)
    return acp("--retries", "1", does={"session/request_permission": lambda params: chosen(next(options))(params)})


@settings(max_examples=times(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from((*PROMPTS, "cancel", "read")), min_size=1, max_size=12))
def test_every_turn_ends_once_however_prompts_and_cancels_come(editor: Editor, folder: Path, said: list[str]) -> None:
    session = begun(editor, folder)
    open_turns: set[int] = set()
    for each in said:
        if each == "cancel":
            editor.note("session/cancel", sessionId=session)
        elif each == "read":
            frame = editor.read() if open_turns else None
            open_turns -= {frame["id"]} if frame is not None and "method" not in frame else set()
        else:
            open_turns.add(editor.send("session/prompt", sessionId=session, prompt=text(each)))
    while open_turns:
        answer = editor.until(lambda frame: "method" not in frame)
        assert answer.get("result", {}).get("stopReason") in ("end_turn", "cancelled"), answer
        open_turns.remove(answer["id"])
    assert editor.ask("session/close", sessionId=session) == {}
