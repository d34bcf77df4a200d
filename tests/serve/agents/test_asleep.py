"""What an agent that sleeps holds in memory: nothing that a file has."""

import json
from pathlib import Path
from queue import SimpleQueue

from linnet.serve.agents.dialects import made
from linnet.serve.agents.host import Host, HostOptions, OpenRequest
from linnet.serve.agents.served_agent import Agent


def name_session(agent: Agent, name: str) -> bytes:
    """Have a client that names itself give the session a name, always with the same id; return the answer."""
    line = json.dumps({"id": "1", "type": "set_session_name", "name": name}).encode()
    answers = SimpleQueue[bytes]()
    agent.perform(line, made("pi-1"), answers.put, client="who")
    return answers.get(timeout=60)


def fall_asleep(agent: Agent) -> None:
    while not agent.sleep():
        pass  # It still makes ready what its first run will need.


def test_an_agent_that_sleeps_is_looked_at_and_closed_without_a_write(tmp_path: Path) -> None:
    host = Host(HostOptions(state=str(tmp_path / "state"), defaults=("--provider", "scripted")), {})
    host.begin()
    try:
        request = OpenRequest(dialect="pi-1", cwd=str(tmp_path), flags=("--session-dir", str(tmp_path)))
        agent = host.find(host.open(request).agent.id)
        name_session(agent, "kettle")
        staying = agent.attach(made("pi-1"), framing="seq", after=0, role="watch", wake=lambda: None)
        fall_asleep(agent)
        before = files(tmp_path / "state" / "agents")
        staying.close()
        agent.attach(made("pi-1"), framing="seq", after=0, role="watch", wake=lambda: None).close()
        assert files(tmp_path / "state" / "agents") == before
    finally:
        host.close()
    assert files(tmp_path / "state" / "agents") == before


def files(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """Return all files of a folder, which of them they are, and what they have."""
    return {path: (path.stat().st_ino, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def test_named_commands_are_not_in_memory_while_an_agent_sleeps(tmp_path: Path) -> None:
    options = HostOptions(state=str(tmp_path / "state"), defaults=("--provider", "scripted"))
    host = Host(options, {"LINNET_HOME": str(tmp_path)})
    host.begin()
    try:
        agent = host.find(host.open(OpenRequest(dialect="pi-1", cwd=str(tmp_path))).agent.id)
        first = name_session(agent, "kettle")
        [file] = (tmp_path / "state").rglob("commands.jsonl")
        fall_asleep(agent)
        content = file.read_bytes()
        file.unlink()
        assert b"reused" not in name_session(agent, "pot")
        fall_asleep(agent)
        file.write_bytes(content)
        assert name_session(agent, "kettle") == first
        assert b"reused" in name_session(agent, "pot")
        assert agent.summary().state == "asleep"  # Nothing had to be done for that.
        file.unlink()
        assert b"reused" not in name_session(agent, "pot")
    finally:
        host.close()
