"""Many agents in one process."""

import asyncio
import os
import threading
from pathlib import Path

from linnet import AsyncRuntime, Runtime
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import alive, wait_until


def children() -> list[int]:
    """Of this process, whichever of its threads has started them."""
    found = Path("/proc/self/task").glob("*/children")
    return [int(pid) for each in found for pid in each.read_text().split()]


def test_two_hundred_agents_work_at_once_with_one_supervisor(server: ModelServer, tmp_path: Path) -> None:
    before = set(children())

    async def main() -> None:
        options = {"base_url": server.url, "api_key": "x"}
        runtimes = [AsyncRuntime(provider="anthropic", cwd=tmp_path, **options) for _ in range(200)]  # type: ignore[arg-type]
        results = await asyncio.gather(*(runtime.run("hi") for runtime in runtimes))
        assert {(result.stop, result.steps) for result in results} == {("end_turn", 1)}
        commands = [runtime.run('!tool bash {"command":"echo hi"}') for runtime in runtimes[:20]]
        assert {result.steps for result in await asyncio.gather(*commands)} == {2}
        assert len(set(children()) - before) == 1
        await asyncio.gather(*(runtime.close() for runtime in runtimes))

    asyncio.run(main())
    wait_until(lambda: set(children()) <= before)
    assert [thread.name for thread in threading.enumerate() if thread.name == "linnet-run"] == []


def test_what_one_leaves_running_ends_with_it_and_with_no_other(server: ModelServer, tmp_path: Path) -> None:
    runtimes, pids = [], []
    for name in "ab":
        (tmp_path / name).mkdir()
        runtime = Runtime(provider="anthropic", base_url=server.url, api_key="x", cwd=tmp_path / name)
        runtime.run('!tool bash {"command":"setsid sleep 62.3 >/dev/null & echo $! > pid"}')
        runtimes.append(runtime)
        pids.append(int((tmp_path / name / "pid").read_text()))
    runtimes[0].close()
    assert not alive(pids[0])
    assert alive(pids[1])
    assert runtimes[1].bash("echo still here").output == "still here\n"
    runtimes[1].close()
    assert not alive(pids[1])


def test_a_process_that_was_forked_off_starts_its_commands_itself(server: ModelServer, tmp_path: Path) -> None:
    with Runtime(provider="scripted", cwd=tmp_path) as runtime:
        runtime.bash("true")
        supervisor = set(children())
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with Runtime(provider="scripted", cwd=tmp_path) as own:
                    code = 0 if own.bash("echo hi").output == "hi\n" else 2
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert supervisor & set(children())
        assert runtime.bash("echo still here").output == "still here\n"
