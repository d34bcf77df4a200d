"""What was acknowledged is written: a server that is killed right after that knows of it."""

import json
from pathlib import Path
from threading import Event as Signal

from linnet.core.events import JobStarted
from linnet.eventlog.cursor import Cursor, Gap
from linnet.eventlog.event_log import EventLog
from linnet.serve.agents.dialects import made
from linnet.serve.agents.host import Host, HostOptions, OpenRequest
from linnet.testing.model_server import ModelServer


def test_a_prompt_that_has_waited_is_acknowledged_when_its_beginning_is_written(
    tmp_path: Path, server: ModelServer
) -> None:
    environ = {"LINNET_HOME": str(tmp_path), "LINNET_BASE_URL": server.url, "ANTHROPIC_API_KEY": "x"}
    host = Host(HostOptions(state=str(tmp_path / "state")), environ)
    host.begin()
    try:
        request = OpenRequest(dialect="zot", cwd=str(tmp_path), flags=("--provider", "anthropic"))
        agent = host.find(host.open(request).agent.id)
        written: list[str] = []
        done = Signal()

        def first(line: bytes) -> None:
            assert json.loads(line)["success"]

        def second(line: bytes) -> None:
            written.extend(_begun(agent.log))
            done.set()

        for id, message, send in (("1", "!gate later", first), ("2", "hello", second)):
            line = json.dumps({"id": id, "type": "prompt", "message": message}).encode()
            agent.perform(line, made("zot"), send, client="who")
        assert not done.is_set()
        server.release("later")
        assert done.wait(60)
        assert written == ["!gate later", "hello"]
    finally:
        host.close()


def _begun(log: EventLog) -> list[str]:
    """What the prompts say whose beginning is in the file."""
    cursor = Cursor(log)
    assert not isinstance(cursor.seek(0), Gap)
    begun: list[str] = []
    while batches := cursor.take():
        assert not isinstance(batches, Gap)
        begun += [
            each.input.text for batch in batches for each in batch.events if isinstance(each, JobStarted) and each.input
        ]
    cursor.close()
    return begun
