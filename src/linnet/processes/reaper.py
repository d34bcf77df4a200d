"""The process that is the parent of one command: starts it, reports how it ended, and kills all that came of it.

The supervisor forks it off, so it imports as little as that does: see `supervisor`, also for what is sent.
"""

import _socket
import marshal
import os
import select
import sys

from linnet.processes.descendants import (
    LONGEST_PAUSE,
    ChildExits,
    adopt_orphans,
    go_on_when_parent_dies,
    group_exists,
    kill_everyone,
    kill_group,
    reap_children,
    wait_for,
)

STREAMS = 3  # stdin, stdout and stderr.
PROMPT_EXITS = 3  # So many milliseconds, at most, those that were killed with the group have to end.


class Reaper:
    """Waits for an order, sees its command through, and waits again or ends.

    Invariant: while it waits for an order it has no children; while it has any, all came of one command.
    """

    def __init__(self, orders: _socket.socket, place: tuple[int, int], lifeline: int, *, adopting: bool) -> None:
        """`place` is the supervisor's pipe. The end of `lifeline` is the end of the supervisor. `adopting` says whether
        orphans may come to us, so that having no child left is the end of everything.
        """
        go_on_when_parent_dies()
        self._orders = orders
        self._place = place
        self._lifeline = lifeline
        self._adopting = adopting and adopt_orphans()
        self._exits = ChildExits()

    def run(self, resets: list[int]) -> None:
        """Take orders, one after the other, until another reaper waits for them or there are no more."""
        while fds := self._wait():
            os.write(self._place[1], b".")  # Before the command starts: the supervisor sees to the next reaper now.
            control = _socket.socket(fileno=fds[0])
            SpawnOrder(control, self._lifeline, self._exits, adopting=self._adopting).run(fds[1:], resets)
            control.close()
            try:
                os.read(self._place[0], 1)
            except BlockingIOError:  # Another reaper waits.
                return

    def _wait(self) -> list[int]:
        """Return the descriptors of the next order; none if the supervisor or the agent is gone, or another waits."""
        poller = select.poll()
        for fd in (self._orders.fileno(), self._lifeline):
            poller.register(fd, select.POLLIN)
        while True:
            if self._lifeline in dict(poller.poll()):
                return []
            try:
                data, fds = receive(self._orders)
            except BlockingIOError:  # Another one waits too, and was faster. One is enough.
                return []
            if not data or len(fds) == 1 + STREAMS:
                return fds
            for fd in fds:  # There was no room for all of them; the end of its control socket tells the agent.
                os.close(fd)


class SpawnOrder:
    """One command from its start to the end of everything that it starts."""

    def __init__(self, control: _socket.socket, lifeline: int, exits: ChildExits, *, adopting: bool) -> None:
        self._control = control
        self._lifeline = lifeline
        self._exits = exits
        self._adopting = adopting
        self._root = 0  # The command's process id, which is also that of its session and group.
        self._exited = False  # Whether it was reaped; its id may be another's then.

    def run(self, streams: list[int], resets: list[int]) -> None:
        """Start it, and return when nothing is left of it. `resets` are signals that it must not inherit as ignored."""
        report = self._start(streams, resets)
        for fd in streams:  # Or else whoever reads what it prints would never see the end.
            os.close(fd)
        try:
            self._control.sendall(report)
            if self._root:
                self._follow()
        except OSError:  # The agent is gone.
            pass
        if self._root:
            self._kill()

    def _start(self, streams: list[int], resets: list[int]) -> bytes:
        """Start the command, and return what to tell the agent; nothing if that has changed its mind."""
        order = self._read_order()
        if order is None:
            return b""
        try:
            self._root = spawn(*order, streams, resets)
        except SpawnRefused as refused:
            return b"failed %d %s\n" % (refused.errno, refused.what)
        return b"started %d %d\n" % (self._root, os.getpid())

    def _follow(self) -> None:
        """Return when nothing is left, or when it is time to kill what is."""
        poller = select.poll()
        for fd in (self._control.fileno(), self._lifeline, self._exits.fd):
            poller.register(fd, select.POLLIN)
        while True:
            # Only where orphans go elsewhere is there something to look for that no signal announces.
            ready = {fd for fd, _ in poller.poll(LONGEST_PAUSE if self._exited and not self._adopting else None)}
            if self._exits.fd in ready or not ready:
                self._exits.clear()  # Before children are reaped: one that ends in between is announced again.
                if not self._collect():
                    return
            if ready - {self._exits.fd}:  # The agent has shut its side, or the supervisor is gone.
                return

    def _collect(self) -> bool:
        """Reap children that have ended, and report the command's own end. Return whether anything is left."""
        ended, left = reap_children()
        self._exited = self._exited or self._root in ended
        left = left or (not self._adopting and group_exists(self._root))
        if self._root in ended:
            self._control.sendall(b"exited %d %d\n" % (os.waitstatus_to_exitcode(ended[self._root]), left))
        return left

    def _kill(self) -> None:
        """Kill and reap all that is left of it."""
        # The id is the command's until it has been waited for, or, where orphans do not come to us, as long as anybody
        # is in its group.
        if not self._exited or (not self._adopting and group_exists(self._root)):
            kill_group(self._root)
            if self._adopting and self._are_gone():
                return
        kill_everyone(self._exits)
        if not self._exited and not self._adopting:
            wait_for(self._root)

    def _are_gone(self) -> bool:
        """Whether its group was all there was: then we soon have no child left, and need not look for anybody."""
        for _ in range(PROMPT_EXITS):
            self._exits.wait(1)
            self._exits.clear()
            if not reap_children()[1]:
                return True
        return False

    def _read_order(self) -> "tuple[list[bytes], bytes, dict[bytes, bytes], dict[int, bytes]] | None":
        """Return words, folder, environment and files to open; None if the agent has changed its mind."""
        size = self._read(8)
        body = self._read(int.from_bytes(size, "big")) if size else b""
        return marshal.loads(body) if body else None

    def _read(self, size: int) -> bytes:
        """Return so many bytes from the agent; none if it has shut its side before."""
        parts = []
        while size:
            try:
                part = self._control.recv(min(size, 1 << 20))
            except ConnectionError:
                part = b""
            if not part:
                return b""
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


class SpawnRefused(Exception):
    """The system would not start a command."""

    def __init__(self, error: OSError, what: bytes) -> None:
        self.errno = error.errno or 0
        self.what = what  # `folder` or `command`: which of the two is at fault.


def spawn(
    argv: list[bytes],
    cwd: bytes,
    env: dict[bytes, bytes],
    opened: dict[int, bytes],
    streams: list[int],
    resets: list[int],
) -> int:
    """Start a command that leads a session of its own; return its process id. Raises SpawnRefused."""
    try:
        os.chdir(cwd)  # posix_spawn has no way to give a child another folder than ours.
    except OSError as error:
        raise SpawnRefused(error, b"folder") from None
    actions: list[tuple[object, ...]] = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(streams)]
    actions += [(os.POSIX_SPAWN_OPEN, fd, path, os.O_RDONLY, 0) for fd, path in opened.items()]
    refusal = None
    try:
        for path in candidates(argv[0], env):
            try:
                return os.posix_spawn(path, argv, env, file_actions=actions, setsid=True, setsigdef=resets)
            except (FileNotFoundError, NotADirectoryError) as error:
                refusal = refusal or SpawnRefused(error, b"command")
            except PermissionError as error:  # More telling, unless it is in another folder.
                refusal = SpawnRefused(error, b"command")
            except OSError as error:
                raise SpawnRefused(error, b"command") from None
    finally:
        os.chdir("/")  # The folder may be deleted while the command runs.
    assert refusal
    raise refusal


def candidates(program: bytes, env: dict[bytes, bytes]) -> list[bytes]:
    """Return the files that a program may be, in the order in which a shell would try them."""
    if b"/" in program:
        return [program]
    return [os.path.join(folder, program) for folder in env.get(b"PATH", os.defpath.encode()).split(b":")]


def receive(orders: _socket.socket) -> tuple[bytes, list[int]]:
    """Return a byte and the descriptors that came with it; no byte if the agent is gone.

    Raises BlockingIOError if there is no order.
    """
    space = _socket.CMSG_SPACE(4 * (1 + STREAMS))
    try:
        data, ancillary, _, _ = orders.recvmsg(1, space, _socket.MSG_DONTWAIT)
    except ConnectionError:
        return b"", []
    whole = b"".join(body[: len(body) // 4 * 4] for _, _, body in ancillary)
    fds = [int.from_bytes(whole[at : at + 4], sys.byteorder) for at in range(0, len(whole), 4)]
    for fd in fds:  # No command is started between the two: this process has one thread.
        os.set_inheritable(fd, False)
    return data, fds
