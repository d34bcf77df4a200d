"""`linnet work`: a worker, which runs agents that are kept in a database."""

import os
from collections.abc import Sequence
from threading import Event as Signal
from threading import Thread
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from linnet.cli.serve_command import one, split_for, taken_keys, whole
from linnet.cli.store_address import address, postgres, reach, shown
from linnet.flags.flags import Flag, Program, help_text, parse
from linnet.server.terminal import say, tell

if TYPE_CHECKING:
    from linnet.fleet.worker import Worker
    from linnet.server.wakeup import Wakeup

USAGE = """\
linnet work: runs agents that are kept in a database, as one of any number of workers

  linnet work --store postgresql://HOST/DATABASE
  linnet work … --model M --permission ask    what every agent begins with: all flags of linnet

  Agents are opened and driven by linnet serve --store. A worker that is lost is replaced by another after the lease.
  SIGTERM hands agents over at the end of their steps; a second one does so at once.

Flags
"""


def _seconds(word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = 0
    if not 0.1 <= number <= 86_400:
        raise ValueError("seconds, from 0.1 to 86400")
    return number


FLAGS = (
    Flag(("--store",), "store", "the database, or a file with its address (or LINNET_STORE)", str, "ADDRESS"),
    Flag(("--slots",), "slots", "how many agents it runs at most (default: 100)", whole, "N"),
    Flag(("--lease",), "lease", "seconds until an agent of a lost worker is another's (default: 15)", _seconds, "S"),
    Flag(("--label",), "labels", "run agents that ask for this label, too; repeatable", one, "WORD", repeatable=True),
    Flag(("--root",), "roots", "agents may work in this folder and below; repeatable", one, "DIR", repeatable=True),
    Flag(
        ("--sleep-after",), "sleep_after", "seconds until one with nothing to do is let go (default: 10)", _seconds, "S"
    ),
    Flag(("--drain",), "drain", "seconds that SIGTERM gives the steps under way (default: 60)", _seconds, "S"),
    Flag(("--name",), "name", "what the worker is called (default: the machine's name and a number)", str, "NAME"),
    Flag(("-h", "--help"), "help", "print this"),
)
WORK = Program("linnet work", USAGE, FLAGS, table=())


def work(argv: Sequence[str]) -> int:
    """Run `linnet work`, and return the exit code. Raises LinnetError, OSError."""
    own, agents = split_for(WORK, argv)
    flags = parse(own, WORK)
    if flags.help:
        tell(help_text(WORK) + "\n\nand all flags of linnet: see linnet --help")
        return 0
    return _Working(flags.config, agents).run()


class _Working:
    """One worker, from its start to its end."""

    def __init__(self, said: dict[str, Any], agents: tuple[str, ...]) -> None:
        self._said = said
        self._agents = agents
        self._signals = 0

    def run(self) -> int:
        from linnet.fleet.owned_agent import Terms
        from linnet.fleet.worker import Worker, WorkerOptions, default_name
        from linnet.serve.unix import systemd
        from linnet.server.wakeup import Wakeup

        said = self._said
        where = address(said.get("store"))
        chosen = ("slots", "lease", "name")
        options = WorkerOptions(
            labels=tuple(said.get("labels", ())), **{name: said[name] for name in chosen if name in said}
        )
        roots = tuple(os.path.realpath(os.path.expanduser(root)) for root in said.get("roots", ()))
        terms = Terms(taken_keys(), self._agents, said.get("sleep_after", 10.0), roots)
        options = replace(options, name=options.name or default_name())
        depot = postgres()(where, options.name, patience=options.lease / 3)
        try:
            reach(depot)  # What is wrong with the database is said now.
            worker = Worker(depot, options, terms)
            wakeup = Wakeup()
            wakeup.on_signals()
            worker.begin()
            say(f"{worker.name} works for {shown(where)}")
            systemd.notify("READY=1")
            self._wait(wakeup, worker)
            systemd.notify("STOPPING=1")
            worker.close()
        finally:
            depot.close()
        return 0

    def _wait(self, wakeup: "Wakeup", worker: "Worker") -> None:
        """Work until a signal comes, and then until agents are handed over; after a second signal, no longer."""
        drained = Signal()
        while True:
            wakeup.wait()
            number, wakeup.signal = wakeup.signal, 0
            if drained.is_set():
                return
            if not number:
                continue
            self._signals += 1
            if self._signals > 1:
                return
            say("ending: agents are handed over after their steps; a second signal hands them over at once")

            def drain() -> None:
                worker.drain(self._said.get("drain", 60.0))
                drained.set()
                wakeup.wake()

            Thread(target=drain, name="linnet-drain", daemon=True).start()
