"""Sessions that are kept by a factory of logs, as they may be seen over HTTP."""

import pytest

from linnet.serve.http.allowed import allowance
from linnet.serve.http.replies import Problem
from linnet.serve.http.seen_sessions import FactorySessions, exported
from linnet.store.factory import MemoryLogs
from linnet.store.header import VERSION, Header

SAID = (
    b'{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-01T12:00:00.000Z",'
    b'"message":{"role":"user","content":"Where?","timestamp":1}}'
)


def test_only_sessions_of_agents_and_of_folders_under_a_root_are_seen(tmp_path: object) -> None:
    logs = MemoryLogs()
    inside = f"{tmp_path}/inside"
    for id, cwd in (("an-agents", "/elsewhere"), ("of-a-root", inside), ("another", "/elsewhere")):
        logs.create(Header(id, "2026-01-01T12:00:00.000Z", cwd, None, VERSION), [SAID])
    seen = FactorySessions(logs, allowance([str(tmp_path)], (), ()), lambda: ["an-agents"])
    assert {each.id for each in seen.listed(None, 10)} == {"an-agents", "of-a-root"}
    assert [each.id for each in seen.listed(inside, 10)] == ["of-a-root"]
    assert len(seen.listed(None, 1)) == 1
    for id in ("an-agents", "of-a-root"):
        assert len(seen.read(id).messages) == 1
        assert b"Where?" in b"".join(exported(seen.opened(seen.find(id))))
    for id in ("another", "nowhere"):
        with pytest.raises(Problem):
            seen.find(id)
