"""The page about today's pi protocol: what it shows is what linnet says, and it leaves nothing out."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, Union, get_args

import msgspec
import pytest

from linnet.wire.pi import frames as pi_frames
from linnet.wire.pi import later_frames
from linnet.wire.pi.generations import PI, PI_1
from tests.docs.test_docs import PI_BLOCKS, PI_UPDATES, listed, parts, prose, same, shape, structs_of, values
from tests.docs.test_docs import ROOT as ROOT
from tests.suite.forked import ForkedAgent

PAGE = ROOT / "docs" / "pi-1-protocol.md"
EARLIER = {"auto_compaction_start", "auto_compaction_end", "hook_error"}
ADDED = {"output", "session_error", "project_untrusted", "extension_ui_closed", "tool_request", "tool_request_closed"}
KINDS = [*structs_of(pi_frames, pi_frames.Frame), *structs_of(later_frames, pi_frames.Frame)]
EVENTS = {str(each.__struct_config__.tag) for each in KINDS} | {"message_update"}
ADDED_COMMANDS = {name for name in PI.commands & PI_1.commands if f"(pi-protocol.md#{name})" in PAGE.read_text()}


def test_the_page_lists_every_command_event_and_update() -> None:
    events = EVENTS - PI_BLOCKS - EARLIER - ADDED
    assert sorted(listed(PAGE)) == sorted((PI_1.commands - ADDED_COMMANDS) | events | PI_UPDATES)
    for name in ADDED:
        assert f"`{name}`" in prose(PAGE)


def test_the_page_shows_every_event_and_message_in_its_real_shape() -> None:
    events = msgspec.json.Decoder(Union[tuple(KINDS)])  # noqa: UP007 (a list of types)
    messages = msgspec.json.Decoder(pi_frames.Message)
    shown: set[str] = set()
    for value in [part for example in values(PAGE) for part in (example, *parts(example))]:
        if "role" in value:
            shown.add(value["role"])
            assert same(messages, value), value
        elif value.get("type") in EVENTS - PI_BLOCKS - {"message_update"}:
            shown.add(value["type"])
            assert same(events, value), value
    roles = {str(each.__struct_config__.tag) for each in get_args(pi_frames.Message)}
    assert shown >= roles | (EVENTS - PI_BLOCKS - EARLIER - ADDED - {"message_update"})


@pytest.mark.parametrize("think", [False, True])
def test_the_updates_that_are_shown_have_the_fields_of_the_real_ones(tmp_path: Path, think: bool) -> None:
    turns = [
        [*([{"think": "a b"}] if think else []), {"text": "a b"}, {"call": "bash", "args": {"command": "true"}}],
        [],
    ]
    (tmp_path / "script.json").write_text(json.dumps({"turns": turns, "loop": True}))
    with agent_of(tmp_path, "--script", "script.json") as agent:
        agent.send({"type": "prompt", "message": "go"})
        real = {fields(frame) for frame in agent.until("agent_settled") if frame["type"] == "message_update"}
    shown = {fields(value) for value in values(PAGE) if value.get("type") == "message_update"}
    assert {first for first, *_ in shown} == PI_UPDATES
    assert real <= shown


def fields(frame: dict[str, Any]) -> tuple[str, ...]:
    update = frame["assistantMessageEvent"]
    return (update["type"], *sorted(frame), *sorted(update))


def agent_of(folder: Path, *flags: str) -> ForkedAgent:
    return ForkedAgent("--mode", "rpc", "--dialect", "pi-1", *flags, cwd=folder, env={"TMPDIR": str(folder)})


def test_the_requests_of_the_page_get_the_responses_that_are_shown(tmp_path: Path) -> None:
    answered, file = set(), ""
    flags = ("--provider", "scripted", "--no-tools", "--compact-keep", "1", "--session-dir", "sessions")
    with agent_of(tmp_path, *flags) as agent:
        for request, shown in pairwise(values(PAGE)):
            if shown.get("type") != "response" or request.get("type") in EVENTS | {"response"}:
                continue
            if request["type"] == "fork":
                request = {**request, "entryId": agent.ask("get_fork_messages")["data"]["messages"][-1]["entryId"]}
            if "since" in request:
                request = {**request, "since": agent.ask("get_entries")["data"]["entries"][-2]["id"]}
            if request["type"] == "new_session":  # Which has no file before something is said in it.
                file = agent.ask("get_state")["data"]["sessionFile"]
            if "sessionPath" in request:
                request = {**request, "sessionPath": file}
            answered.add(request["type"])
            agent.send(request)
            answer = agent.until("response")[-1]
            assert (answer["id"], answer["command"]) == (request["id"], request["type"])
            assert shape(answer) == shape(shown) if shown["success"] else answer == shown, request
            if answer.get("data", {}) and answer["data"].get("disposition") == "started":
                agent.until("agent_settled")
    assert answered == PI_1.commands - ADDED_COMMANDS - {"extension_ui_response"} | {"frobnicate"}
