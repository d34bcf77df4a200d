"""What tools and permissions of one's own cost: a callback before a call, a round trip to the client and back.

python bench/tools.py
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measure import Running, spawn
from bench.peers import Peer, linnet
from linnet.concurrency.cancel import CancelToken
from linnet.concurrency.foreign import Foreign
from linnet.core.messages import Text, ToolCall
from linnet.processes.process import Processes
from linnet.tools.context import ToolContext
from linnet.tools.functions.function import FunctionTools, tool
from linnet.tools.spec import ToolOutput
from linnet.tools.toolset import Guarded

Row = tuple[str, str]
CALLS = 2_000
TRIPS = 300
RULES = ("bash:git status", "bash:git diff", "bash:ls", "bash:rm -r", "bash:curl")
SET_TOOLS = {"id": "t", "type": "set_tools", "tools": [{"name": "stock", "parameters": {"type": "object"}}]}


def rows(peer: Peer, folder: Path) -> list[Row]:
    trips = round_trips(peer, folder)
    return [
        *callback_rows(),
        (
            "client tool, round trip",
            f"{median(trips) * 1e3:.2f} ms (99 %: {sorted(trips)[-len(trips) // 100] * 1e3:.2f} ms)",
        ),
        *start_rows(peer, folder),
    ]


def callback_rows() -> list[Row]:
    """What a call costs more than without."""
    from linnet.core.permissions.rule_syntax import said_rule
    from linnet.runtime.tools.permission import Called, Permissions, PlacedRules

    def plain(call: ToolCall, preview: str) -> bool:
        return True

    async def waiting(call: ToolCall, preview: str) -> bool:
        return True

    class Nothing:
        specs = ()

        def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
            return ToolOutput((Text(""),))

    @tool
    def nothing(command: str) -> None:
        """Does nothing."""

    foreign = Foreign()
    context = ToolContext("/", CancelToken(), lambda text: None, Processes())
    nobody: Any = None  # Is asked.
    rules = [said_rule(f"{verdict} {rule}") for verdict in ("allow", "deny") for rule in RULES]

    def guarded(callback: Any = None, said: Any = ()) -> Guarded:
        called = None if callback is None else Called(callback, foreign)
        return Guarded(Nothing(), Permissions(lambda: "auto", PlacedRules(said, "/"), nobody, called), own=True)

    bare = _each(lambda call: Nothing().run(call, context))
    gates = guarded(plain), guarded(waiting), guarded(said=rules)
    costs = {
        "permission callback": _each(lambda call: gates[0].run(call, context)),
        "… async def": _each(lambda call: gates[1].run(call, context)),
        "ten rules about commands": _each(lambda call: gates[2].run(call, context), "bash"),
        "function as a tool": _each(lambda call: FunctionTools([nothing], foreign).run(call, context)),
    }
    foreign.close()
    return [(name, f"{(cost - bare) * 1e6:.0f} µs") for name, cost in costs.items()]


def _each(once: Callable[[ToolCall], Any], name: str = "nothing") -> float:
    """Each call is about another command, so that nothing is known from the last one."""
    calls = [ToolCall("1", name, {"command": f"make test-{number}"}) for number in range(CALLS)]
    for call in calls[: CALLS // 10]:
        once(call)
    started = time.perf_counter()
    for call in calls:
        once(call)
    return (time.perf_counter() - started) / CALLS


def round_trips(peer: Peer, folder: Path) -> list[float]:
    """From the answer to one call until the request for the next has come, and is about to be answered: in between,
    the agent has taken the answer, told the result, and asked again.
    """
    calls = [["stock", {"item": str(number)}] for number in range(TRIPS)]
    trips: list[float] = []
    with Running(peer, folder) as running:
        running.send(json.dumps(SET_TOOLS).encode() + b"\n")
        running.until(b'"set_tools"')
        running.send(peer.prompt(f"!tools {json.dumps(calls)}"))
        for _ in range(TRIPS):
            line = running.line(b'"type":"tool_request"')
            if trips:
                trips[-1] = time.perf_counter() - trips[-1]
            answer = {"type": "tool_response", "request_id": json.loads(line)["request_id"], "content": "3"}
            data = json.dumps(answer).encode() + b"\n"
            trips.append(time.perf_counter())
            running.send(data)
        running.until(peer.terminator)
    return trips[:-1]


def start_rows(peer: Peer, folder: Path) -> list[Row]:
    """The start of a process that has no MCP server, and of one that has; turn about."""
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"none": {"command": "true"}}}))
    having = replace(peer, command=[*peer.command, "--mcp-config", str(config)])
    without, with_one = [], []
    for _ in range(20):
        without.append(spawn(peer, folder))
        with_one.append(spawn(having, folder))
    return [
        ("spawn → first answer, no MCP server", f"{median(without) * 1e3:.1f} ms"),
        ("… with one, which is not started yet", f"{median(with_one) * 1e3:.1f} ms"),
    ]


def main() -> None:
    from linnet.testing.model_server import ModelServer

    with tempfile.TemporaryDirectory() as scratch, ModelServer() as server:
        for name, value in rows(linnet(server.url), Path(scratch)):
            print(f"{name:<40}{value}")


if __name__ == "__main__":
    main()
