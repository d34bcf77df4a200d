"""`linnet` as a child process at a tenth of its price: forked from one that has everything loaded.

It is a process of its own, with its own files, folder, environment and signals, and runs the same code from the first
line of `linnet.cli.entry_points` on. What is not proven by it is the launcher, what the kernel shows of how a process
was started, and what is loaded when: tests of those use `subprocess` and `Agent`. `LINNET_TEST_SPAWN=1` has all of them
do so. See docs/decisions/0070-agents-that-are-forked.md.
"""

import atexit
import json
import os
import resource
import select
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from linnet.testing.agent import Agent
from tests.suite.printed import VARIABLE

MOTHER = Path(__file__).with_name("mother.py")
PROGRAMS = {Path(sys.executable).with_name(name) for name in ("linnet", "linnet-pi", "linnet-zot")}
# What is looked at once, as a process starts, so that no fork can have another than its mother: there is one mother for
# each language, and what has any of the others is not forked.
LANGUAGE = ("LANG", "LC_")
OTHERS = ("PYTHONNOUSERSITE", "PYTHONPROFILEIMPORTTIME", "TZ", "LD_", "MALLOC_")
# What a test may have changed for a while, for what it starts to inherit.
LIMITS = (
    resource.RLIMIT_FSIZE,
    resource.RLIMIT_NOFILE,
    resource.RLIMIT_AS,
    resource.RLIMIT_NPROC,
    resource.RLIMIT_CORE,
)


class Mother:
    """The process that forks. It may be asked from any thread, and answers one after another."""

    def __init__(self, language: Mapping[str, str], also: Sequence[str] = ()) -> None:
        base = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", VARIABLE) if name in os.environ}
        ours, theirs = socket.socketpair()
        with theirs:
            # Its stdout is of the kind that its children have: Python asks once whether one can seek in it.
            self._process = subprocess.Popen(
                [sys.executable, "-EP", str(MOTHER), *also],
                stdin=theirs.fileno(),
                stdout=subprocess.PIPE,
                env={**base, **language},
            )
        self._link = ours
        self._lock = Lock()
        atexit.register(self._end)

    def fork(self, files: Mapping[int, int], **request: object) -> int:
        """Return the id of a new process that has `files`, ours by the numbers that they get there."""
        return self._ask({**request, "numbers": list(files)}, list(files.values()))

    def reap(self, pid: int) -> int:
        """Wait for one that was forked, and return its status, as `os.waitpid` has it."""
        return self._ask({"reap": pid}, [])

    def _ask(self, request: Mapping[str, object], files: list[int]) -> int:
        data = json.dumps(request).encode()
        with self._lock:
            socket.send_fds(self._link, [b"%8d" % len(data)], files)
            self._link.sendall(data)
            return int(self._link.recv(8, socket.MSG_WAITALL))

    def _end(self) -> None:
        self._link.close()
        self._process.communicate()


@cache
def mother_of(language: tuple[tuple[str, str], ...], also: tuple[str, ...]) -> Mother:
    return Mother(dict(language), also)


def mother(env: Mapping[str, str], also: tuple[str, ...] = ()) -> Mother:
    """Return the one whose children can have this environment, and have these packages loaded."""
    return mother_of(tuple(sorted(each for each in env.items() if each[0].startswith(LANGUAGE) and each[1])), also)


class Popen(subprocess.Popen[Any]):
    """`subprocess.Popen`, which forks where it would have started a linnet of this environment."""

    also: tuple[str, ...] = ()
    _mother: Mother
    _over: int | None = None  # Can be read when it has ended.

    def _execute_child(self, *given: Any) -> None:
        """Given by position: what to start, where and how, the ends of three pipes, and what else it should be."""
        command, _, prepare, close_fds, pass_fds, cwd, env, *_ = given
        variables = dict(os.environ if env is None else env)
        odd = prepare or not close_fds or any(variables[name] for name in variables if name.startswith(OTHERS))
        if odd or not _is_ours(command[0]):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        ends, (session, group) = given[10:16], given[-2:]
        stdio = {number: number if end == -1 else end for number, end in enumerate((ends[0], ends[3], ends[5]))}
        self._mother = mother(variables, self.also)
        self.pid = self._mother.fork(
            stdio | {number: number for number in pass_fds},
            program=Path(command[0]).name,
            flags=[os.fspath(word) for word in command[1:]],
            cwd=os.path.abspath(cwd or "."),
            env=variables,
            limits=[(limit, resource.getrlimit(limit)) for limit in LIMITS],
            umask=_umask(),
            session=session,
            group=group,
        )
        self._over = os.pidfd_open(self.pid)
        self._child_created = True
        self._close_pipe_fds(*ends)  # type: ignore[attr-defined]

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        """Do what `os.waitpid` would do if it were our child."""
        if self._over is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc,no-any-return]
        if not select.select([self._over], [], [], 0 if wait_flags & os.WNOHANG else None)[0]:
            return 0, 0
        os.close(self._over)
        self._over = None
        return self.pid, self._mother.reap(self.pid)

    def _internal_poll(self, *args: Any, **options: Any) -> int | None:
        if self._over is None:
            return super()._internal_poll(*args, **options)  # type: ignore[misc,no-any-return]
        if self._waitpid_lock.acquire(blocking=False):  # type: ignore[attr-defined]
            try:
                if self.returncode is None and (status := self._try_wait(os.WNOHANG))[0]:
                    self._handle_exitstatus(status[1])  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


def _umask() -> int:
    umask = os.umask(0o77)
    os.umask(umask)
    return umask


def _is_ours(program: object) -> bool:
    return isinstance(program, str | Path) and Path(program) in PROGRAMS and not os.environ.get("LINNET_TEST_SPAWN")


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    input: str | bytes | None = None,
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> "subprocess.CompletedProcess[Any]":
    """Do what `subprocess.run` does, with a fork where that can be had."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(command, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


class ForkedAgent(Agent):
    """An `Agent` that starts faster."""

    _popen = Popen


class PopenWithMcp(Popen):
    """For those who will speak to servers: what they import for it takes ten times as long as all else."""

    also = ("linnet.extensions.mcp",)


class ForkedAgentWithMcp(Agent):
    _popen = PopenWithMcp
