"""Agents in somebody else's program leave alone what else runs there."""

import json
import os
import signal
import subprocess
from pathlib import Path
from threading import Event

from linnet.processes.descendants import listed_children
from linnet.serve.agents.dialects import made
from linnet.serve.agents.host import Host, HostOptions, OpenRequest
from linnet.testing.model_server import ModelServer


def test_a_child_of_the_program_outlives_a_supervisor_that_is_killed(tmp_path: Path, server: ModelServer) -> None:
    environ = {**os.environ, "LINNET_HOME": str(tmp_path / "home"), "ANTHROPIC_API_KEY": "x"}
    flags = ("--provider", "anthropic", "--base-url", server.url, "--permission", "auto")
    host = Host(HostOptions(state=str(tmp_path / "state"), defaults=flags), environ)
    host.begin()
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as child:
        try:
            before = set(listed_children(os.getpid()))
            agent = host.find(host.open(OpenRequest(dialect="pi-1", cwd=str(tmp_path))).agent.id)
            more = Event()
            watching = agent.attach(made("pi-1"), framing="plain", after=None, role="watch", wake=more.set)
            said = {"id": 1, "type": "prompt", "message": '!tool bash {"command":"true"}'}
            agent.perform(json.dumps(said).encode(), made("pi-1"), lambda line: None)
            told = b""
            while b"agent_settled" not in told:
                more.wait()
                more.clear()
                told += watching.take() or b""
            (supervisor,) = set(listed_children(os.getpid())) - before
            os.kill(supervisor, signal.SIGKILL)
            host.close()
            assert child.poll() is None
        finally:
            host.close()
            child.kill()
