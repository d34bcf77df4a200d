"""Figures in Prometheus' text format: of the agents, of the server, and of the loop that everything here depends on."""

import asyncio
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct

from linnet.serve.agents.doors import AgentHost

BEAT: Final = 0.25  # Seconds between two looks at the loop.
_REMEMBERED: Final = 240  # Beats: a minute.
STATES: Final = ("asleep", "idle", "working", "tool", "waiting", "compacting", "retrying")


class Sample(Struct, frozen=True):
    """One figure, or several that differ in a label."""

    name: str
    help: str
    kind: Literal["gauge", "counter"]
    values: Mapping[str, float]
    """By the value of the label; the empty word if there is no label."""
    label: str = ""


class Meter:
    """Measures the loop that it runs in, and counts requests."""

    def __init__(self, streams: Callable[[], int], requests: Callable[[], int]) -> None:
        """Both functions return how many there are now."""
        self._streams = streams
        self._requests = requests
        self._lags: deque[float] = deque([0.0], _REMEMBERED)
        self._answered: Counter[str] = Counter()

    async def run(self) -> None:
        """Measure until cancelled how much later than it should the loop comes to what is due."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + BEAT
            await asyncio.sleep(BEAT)
            self._lags.append(max(0.0, loop.time() - due))

    def answered(self, status: int) -> None:
        """Count an answer."""
        self._answered[f"{status // 100}xx"] += 1

    def values(self) -> list[Sample]:
        """Return what was measured. Called by the loop."""
        return [
            Sample("linnet_http_streams", "Streams of events that are open.", "gauge", {"": self._streams()}),
            Sample("linnet_http_requests", "Requests in flight.", "gauge", {"": self._requests()}),
            Sample("linnet_http_answers_total", "Answers, by status.", "counter", dict(self._answered), "status"),
            Sample("linnet_loop_lag_seconds", "Lag of the event loop, now.", "gauge", {"": self._lags[-1]}),
            Sample("linnet_loop_lag_max_seconds", "The same, the worst of a minute.", "gauge", {"": max(self._lags)}),
        ]


def exposition(host: AgentHost, measured: Iterable[Sample]) -> bytes:
    """Return all figures as text. Blocks: the host is asked."""
    counts = host.counts()
    by_state = {state: float(counts.states.get(state, 0)) for state in STATES}
    samples = [
        Sample("linnet_agents", "Agents, by what they do.", "gauge", by_state, "state"),
        Sample("linnet_agents_awake", "Agents that are in memory.", "gauge", {"": counts.awake}),
        Sample("linnet_drivers", "Clients that may drive an agent.", "gauge", {"": counts.drivers}),
        Sample("linnet_watchers", "Clients that only watch one.", "gauge", {"": counts.watchers}),
        Sample("linnet_commands_total", "Commands that were given.", "counter", {"": counts.commands}),
        Sample("linnet_events_total", "Events that happened.", "counter", {"": counts.events}),
        Sample("linnet_events_kept_bytes", "Bytes of events that are kept.", "gauge", {"": counts.bytes}),
        Sample("linnet_prompts_total", "Prompts of the agents that are there.", "counter", {"": counts.prompts}),
        Sample("linnet_tokens_total", "Tokens that were used, by kind.", "counter", counts.tokens, "kind"),
        Sample("linnet_cost_dollars_total", "US dollars that they cost.", "counter", {"": counts.cost}),
        Sample("process_resident_memory_bytes", "Memory of the process.", "gauge", {"": resident()}),
        *measured,
    ]
    return "".join(map(_text, samples)).encode()


def resident() -> int:
    """Return how many bytes of memory the process has."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _text(sample: Sample) -> str:
    lines = [f"# HELP {sample.name} {sample.help}", f"# TYPE {sample.name} {sample.kind}"]
    for label, value in sample.values.items():
        named = f'{{{sample.label}="{label}"}}' if sample.label else ""
        lines.append(f"{sample.name}{named} {value:.17g}")
    return "\n".join(lines) + "\n"
