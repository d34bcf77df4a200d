"""The clients of both official kits drive `linnet acp`, and miss nothing."""

import asyncio
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from acp import Client, spawn_agent_process, text_block
from acp.schema import AllowedOutcome, RequestPermissionResponse

from linnet.testing.model_server import ModelServer
from tests.acp.editor import OTHERS
from tests.suite.real_pi import needed

LINNET = str(Path(sys.executable).with_name("linnet"))
KIT = OTHERS.parents[1] / "dist" / "v1" / "stable" / "acp.js"


def command(server: ModelServer) -> list[str]:
    return [LINNET, "acp", "--provider", "anthropic", "--base-url", server.url, "--api-key", "x"]


class Told(Client):
    """Says yes once, and keeps what it is told."""

    def __init__(self) -> None:
        self.updates: list[Any] = []

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **more: Any) -> Any:
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=options[0].option_id))

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        self.updates.append(update)


@pytest.mark.foreign
def test_the_client_in_python(server: ModelServer, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made: Any = Told  # What it does not override, it refuses.
    client = made()

    async def drive() -> list[str]:
        program, *words = command(server)
        env = {**os.environ, "LINNET_HOME": str(tmp_path / "home")}
        async with spawn_agent_process(client, program, *words, cwd=tmp_path, env=env) as (agent, _):
            await agent.initialize(protocol_version=1)
            session = (await agent.new_session(cwd=str(tmp_path), mcp_servers=[])).session_id
            write: list[Any] = [text_block('!tool write {"path": "made", "content": "x"}')]
            first = await agent.prompt(session_id=session, prompt=write)
            second = asyncio.ensure_future(agent.prompt(session_id=session, prompt=[text_block("!hang")]))
            await asyncio.to_thread(server.wait_for, requests=3)
            await agent.cancel(session_id=session)
            stops: list[str] = [first.stop_reason, (await second).stop_reason]
            before = len(client.updates)
            await agent.load_session(session_id=session, cwd=str(tmp_path), mcp_servers=[])
            assert len(client.updates) > before
            assert len((await agent.list_sessions()).sessions) == 1
            return stops

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(drive()) == ["end_turn", "cancelled"]
    assert (tmp_path / "made").read_text() == "x"
    assert [record.getMessage() for record in caplog.records if record.name.startswith("acp")] == []


@pytest.mark.foreign
def test_the_client_in_typescript(server: ModelServer, tmp_path: Path) -> None:
    needed(KIT)
    drive = Path(__file__).with_name("npm") / "drive.mjs"
    done = subprocess.run(
        ["node", str(drive), str(KIT), str(tmp_path), *command(server)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "LINNET_HOME": str(tmp_path / "home")},
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    kinds = ["agent_message_chunk", "available_commands_update", "tool_call", "tool_call_update", "user_message_chunk"]
    assert set(kinds) <= {*said.pop("kinds"), "available_commands_update"}
    asked, stops = ["Write made"], ["end_turn", "cancelled"]
    assert said == {"name": "linnet", "asked": asked, "stops": stops, "live": True, "sessions": 1}
