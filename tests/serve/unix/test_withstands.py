"""Whatever happens to watchers, to the network between and to the server itself: nobody misses anything, nothing that
was acknowledged is lost, and what has a name is done once.
"""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from linnet.testing.model_server import ModelServer
from tests.serve.unix.crowd import Crowd, View, Watcher
from tests.serve.unix.driving import Driver
from tests.serve.unix.serving import Served
from tests.serve.unix.tape import Frame, frames

FAULTS = 30  # In one round.
ROUNDS = 34  # So that there are 1,000 faults, and some more.
WATCHERS = 50
ACTS = 14  # Commands of each driver, besides answers to questions.
VIEWS = (("zot", None), ("pi", None), ("pi", "deltas"), ("pi-1", None), ("pi-1", "deltas"))
AGENTS = ("pi-1", "pi", "zot")
PROMPTS = ("text", "tool", "loop", "think")
FLAGS = ("--permission", "ask", "--allow", "read", "--compact-keep", "100")


@pytest.mark.timeout(100)
@pytest.mark.parametrize("round", [0, *[pytest.param(number, marks=pytest.mark.judge) for number in range(1, ROUNDS)]])
def test_nothing_is_missed_lost_or_done_twice(server: ModelServer, round: int, pytestconfig: pytest.Config) -> None:
    chance = Random(f"{pytestconfig.option.hypothesis_seed} {round}")
    with Served(server.url, "--sleep-after", "0.2") as served:
        (served.work / "a.txt").write_text("read me\n" * 20)
        crowd = Crowd(served, chance)
        try:
            withstand(crowd, served, chance)
        finally:
            crowd.close()
        assert served.stderr.count("Traceback") == 0, served.stderr


def withstand(crowd: Crowd, served: Served, chance: Random) -> None:
    agents = {}
    for dialect in AGENTS:
        with served.connected() as client:
            client.say({"type": "open", "dialect": dialect, "cwd": str(served.work), "flags": FLAGS})
            agents[client.begun().agent] = dialect
    drivers = [Driver(crowd, View(id, dialect, settled=dialect != "zot"), ACTS) for id, dialect in agents.items()]
    steady = [Watcher(crowd, View(id, *view)) for id in agents for view in VIEWS]
    watchers = [Watcher(crowd, View(chance.choice([*agents]), *chance.choice(VIEWS))) for _ in range(WATCHERS)]
    crowd.members = [*drivers, *steady, *watchers]
    disturbed = [*drivers, *watchers]

    faults = Faults(crowd, served, chance, disturbed)
    for _ in range(FAULTS):
        upto = crowd.received + chance.randint(1, 200_000)
        crowd.run(lambda: crowd.received >= upto, quiet=0.05)  # noqa: B023
        faults.strike()
    faults.heal()
    crowd.run(lambda: all(driver.is_through for driver in drivers))
    settle(crowd, drivers)

    record = {}
    for view in {member.view for member in crowd.members}:
        fresh = Watcher(crowd, view)
        crowd.members.append(fresh)
        record[view] = fresh
    finish(crowd, crowd.members)
    for member in crowd.members:
        expected = record[member.view].tape.record
        assert bytes(member.tape.record) == bytes(expected), difference(member.tape.record, expected)
    for view, fresh in record.items():
        assert_ended_once(view, frames(fresh.tape.record), jobs(served, view.agent))
    for driver in drivers:
        told = frames(record[driver.view].tape.record)
        summary = served.agents()[driver.view.agent]
        assert_kept(driver, told, Path(summary["session_file"]).read_text(), effects(served), summary)


class Faults:
    """What happens to a server and its clients, one thing after another."""

    def __init__(self, crowd: Crowd, served: Served, chance: Random, disturbed: list[Watcher]) -> None:
        self._crowd = crowd
        self._served = served
        self._chance = chance
        self._disturbed = disturbed
        self._standing: list[Callable[[], None]] = []  # Ends what stands still.
        self.counts: Counter[str] = Counter()

    def strike(self) -> None:
        kinds = (self.leave, self.pause, self.cut, self.cut, self.stall, self.ask, self.kill, self.stop)
        fault = self._chance.choice(kinds)
        self.counts[fault.__name__] += 1
        fault()
        while len(self._standing) > 3:
            self._standing.pop(0)()

    def heal(self) -> None:
        """Have all go on that stands still."""
        for go_on in self._standing:
            go_on()

    def _some(self) -> list[Watcher]:
        return self._chance.sample(self._disturbed, self._chance.randint(1, 8))

    def leave(self) -> None:
        for each in self._some():
            each.leave()

    def pause(self) -> None:
        for each in self._some():
            each.pause()
            self._standing.append(each.go_on)

    def cut(self) -> None:
        """Cut the network at some byte to come, one way or the other."""
        for each in self._some():
            if each.network is not None:
                way = each.network.down if self._chance.random() < 0.8 else each.network.up
                way.left = self._chance.randint(1, 5_000)

    def stall(self) -> None:
        for each in self._some():
            if each.network is not None:
                each.network.stall()
                self._standing.append(each.go_on)

    def ask(self) -> None:
        for each in self._some():
            each.ask()

    def kill(self) -> None:
        self.heal()
        self._standing.clear()
        self._crowd.kills += 1
        self._served.restart()

    def stop(self) -> None:
        self._served.stop()
        self._standing.append(self._served.go_on)


def settle(crowd: Crowd, drivers: list[Driver]) -> None:
    """Return when nothing runs any more."""
    waiting = [*drivers]
    while waiting:
        finish(crowd, waiting)
        waiting = [driver for driver in waiting if driver.is_busy]


def finish(crowd: Crowd, members: "list[Watcher] | list[Driver]") -> None:
    """Return when all of them have been told everything up to now."""
    crowd.run(lambda: all(each.is_attached for each in members))
    for each in members:
        each.finish()
    crowd.run(lambda: all(each.finished for each in members))


def assert_ended_once(view: View, told: list[Frame], settled: Counter[str]) -> None:
    """Everything that began has ended, once, and each run before the next one began."""
    ends = Counter(frame["type"] for frame in told)
    if view.dialect == "zot":
        assert ends["done"] + ends["compact_done"] == settled.total()
        return
    marks = [frame["type"] for frame in told if frame["type"] in ("agent_start", "agent_end")]
    assert marks == ["agent_start", "agent_end"] * (len(marks) // 2), marks
    assert ends["compaction_start"] == ends["compaction_end"]
    if view.settled:
        assert ends["agent_settled"] == settled["prompt"]


def jobs(served: Served, agent: str) -> Counter[str]:
    """Return how many prompts and compactions have ended, as the files of events have it; none is open."""
    begun: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    for file in sorted((served.state / "agents" / agent / "events").iterdir()):
        for line in frames(file.read_bytes()):
            for word, values in line.get("e", ()) if line.get("n") else ():
                counted = {"job": begun, "settled": ended}.get(word)
                if counted is not None:
                    counted.update(value[0] for value in values)
    assert begun == ended
    return ended


def assert_kept(driver: Driver, told: list[Frame], session: str, done: Counter[str], summary: Frame) -> None:
    """What was acknowledged is there, and nothing was done twice."""
    said = Counter(mark for frame in told for mark in marks_of_user(frame))
    for act in driver.acts:
        if act.kind == "answer":
            continue
        assert act.answer is not None
        succeeded, code = act.answer["success"], act.answer.get("code")
        assert code != "unknown" or act.answered > act.sent, act
        assert code != "reused", act
        assert said[act.mark] <= 1, act
        assert done[act.mark] <= 1, act
        if act.mark in said:
            assert act.mark in session, act
        if succeeded and act.kind in PROMPTS:
            assert said[act.mark] == 1, act
        if succeeded and act.kind == "bash":
            assert done[act.mark] == 1, act
        if not succeeded and code != "unknown":
            assert said[act.mark] == done[act.mark] == 0, act


def marks_of_user(frame: Frame) -> list[str]:
    """Return the marks of what the user said in this line."""
    match frame:
        case {"type": "message_end", "message": {"role": "user", "content": content}}:
            pass
        case {"type": "user_message", "content": content}:
            pass
        case _:
            return []
    return [part["text"].splitlines()[-1] for part in content if part["type"] == "text"]


def effects(served: Served) -> Counter[str]:
    file = served.work / "effects"
    return Counter(file.read_text().split() if file.exists() else [])


def difference(told: bytearray, expected: bytearray) -> str:
    """Return where two records part."""
    pairs = list(zip(bytes(told).splitlines(), bytes(expected).splitlines(), strict=False))
    at = next((number for number, (one, other) in enumerate(pairs) if one != other), len(pairs))
    shown = "\n".join(
        json.dumps([str(one[:500]), str(other[:500])], indent=1) for one, other in pairs[max(0, at - 1) : at + 2]
    )
    return f"{len(told)} bytes instead of {len(expected)}; they part at line {at}:\n{shown}"
