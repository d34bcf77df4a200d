"""Tasks of a run that are carried out at once."""

import json
from pathlib import Path
from threading import Event as Signal

import pytest

from linnet.core import commands
from linnet.core.events import Settled
from linnet.core.loop.run_facts import Fact, RunTool, Task
from linnet.core.messages import ToolCall, ToolResult
from linnet.errors import Cancelled
from linnet.runtime.config.config import PI, Config
from linnet.runtime.resources import Resources
from linnet.runtime.run.parallel_tasks import ParallelTasks
from linnet.runtime.run.runner import Runner
from linnet.runtime.session import Session
from linnet.runtime.settings.settings import resolve
from linnet.testing.listener import Asking, Quiet


def test_a_task_that_breaks_breaks_the_run_and_keeps_nobody_waiting() -> None:
    def carry_out(task: Task) -> Fact:
        raise OSError("no more files")

    tasks = [RunTool(index, ToolCall(str(index), "ls", {})) for index in range(2)]
    for begun in (tasks[:1], tasks):
        with pytest.raises(OSError, match="no more files"):
            ParallelTasks(carry_out).next(begun)


def test_what_goes_on_beside_a_task_that_breaks_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began, interrupted = Signal(), Signal()

    def run_tool(runner: Runner, call: ToolCall) -> ToolResult:
        if call.name == "ls":
            began.wait()
            raise OSError("no more files")
        began.set()
        with pytest.raises(Cancelled):
            runner._job.cancel.sleep(600)
        interrupted.set()
        raise Cancelled

    monkeypatch.setattr(Runner, "_run_tool", run_tool)
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [[{"call": "ls", "args": {}}, {"call": "bash", "args": {"command": ":"}}]]}))
    asked = Config(script=script, cwd=tmp_path, calls_at_once=2)
    settings = resolve(asked, {"LINNET_HOME": str(tmp_path / "home")}, PI)
    quiet, asking = Quiet(), Asking()
    session = Session(Resources(settings), [quiet])
    session.submit(commands.Prompt("go"), asking)
    session.finish()
    interrupted.wait()
    session.close()
    assert ["no more files" in each for each in asking.refusals] == [True]
    assert [type(event) for event in quiet.heard].count(Settled) == 1
