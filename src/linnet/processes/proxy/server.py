"""The HTTP proxy by which commands in the sandbox reach the hosts that they may, and no others."""

import os
import socket
import struct
from contextlib import suppress
from ipaddress import ip_address
from select import POLLIN, poll
from threading import BoundedSemaphore, Lock, Thread

from linnet.processes.descendants import contents
from linnet.processes.proxy.entrance import DOOR
from linnet.processes.proxy.hosts import Hosts, is_public
from linnet.processes.proxy.request import END, MOST_HEAD, ProxyRefused, ProxyRequest, answer, parsed

MOST_ENTRANCES = 256  # Commands at once.
MOST_CONNECTIONS = 128
PATIENCE = 30.0  # Seconds to say what is wanted, or to connect.
ENDING = 1.0  # Seconds for a command to hand over its socket, and for our thread to end.
PIECE = 64 * 1024


class Proxy:
    """Accepts connections from inside of sandboxes, in one thread, and serves each in two of its own.

    Commands hand over sockets that listen in their own network. One is closed when the first process of its sandbox has
    ended, and with it all others. Invariants: a connection goes to an address that was checked, never to one that is
    looked up again; after `close` no socket of it is open, and no thread of it runs but one that waits for an answer
    about a name.
    """

    def __init__(self, hosts: Hosts, folder: str) -> None:
        """Start it. `folder` is where its door is put, a Unix socket; commands must see it."""
        self._hosts = hosts
        self._lock = Lock()  # For `_open` and `_closed`.
        self._room = BoundedSemaphore(MOST_CONNECTIONS)
        self._open: set[socket.socket] = set()  # Both ends of all connections.
        self._closed = False
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        at = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._door.bind(f"/proc/self/fd/{at}/{DOOR}")  # A whole path may be too long.
        finally:
            os.close(at)
        self._door.listen(64)
        self._door.setblocking(False)
        self._entrances: dict[int, tuple[socket.socket, int]] = {}  # By descriptor; with that of the first process.
        self._woken, self._wake = os.pipe()
        self._thread = Thread(target=self._serve, name="linnet-proxy", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End every connection. Nothing is connected from here on. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        with suppress(BrokenPipeError):  # The thread was awake, and has seen by itself that it is to end.
            os.write(self._wake, b"!")
        self._thread.join(ENDING)
        os.close(self._wake)

    def _serve(self) -> None:
        """Admit commands and accept their connections until `close`. Runs in the proxy's thread, as all it calls."""
        poller = poll()
        for fd in (self._woken, self._door.fileno()):
            poller.register(fd, POLLIN)
        while not self._closed:
            ready = {fd for fd, _ in poller.poll()}
            if self._door.fileno() in ready and (entrance := self._admitted()):
                listener, first = entrance
                self._entrances[listener.fileno()] = entrance
                poller.register(listener.fileno(), POLLIN)
                poller.register(first, POLLIN)
            for fd, (listener, first) in list(self._entrances.items()):
                if first in ready:
                    poller.unregister(fd)
                    poller.unregister(first)
                    self._shut(fd)
                elif fd in ready:
                    self._accept(listener)
        for fd in list(self._entrances):
            self._shut(fd)
        self._door.close()
        os.close(self._woken)

    def _shut(self, fd: int) -> None:
        """Close what a command handed over."""
        listener, first = self._entrances.pop(fd)
        listener.close()
        os.close(first)

    def _admitted(self) -> tuple[socket.socket, int] | None:
        """Return a socket that a command hands over, and a descriptor that becomes readable when its sandbox ends.

        None if it hands over no IPv4 socket that listens, or there are too many commands.
        """
        with suppress(OSError, ValueError), self._door.accept()[0] as visitor:
            visitor.settimeout(ENDING)
            _, fds, _, _ = socket.recv_fds(visitor, 1, 1, socket.MSG_CMSG_CLOEXEC)
            listener = socket.socket(fileno=fds[0]) if fds else None
            for fd in fds[1:]:
                os.close(fd)
            if listener is None:
                return None
            try:
                listens = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                if not listens or listener.family != socket.AF_INET or len(self._entrances) >= MOST_ENTRANCES:
                    raise ValueError
                (pid, _, _) = struct.unpack("3i", visitor.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                first = os.pidfd_open(_first_of(pid))
            except BaseException:
                listener.close()
                raise
            listener.setblocking(False)
            visitor.sendall(b"!")
            return listener, first
        return None

    def _accept(self, listener: socket.socket) -> None:
        """Accept a connection, and start a thread for it."""
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.setblocking(True)
        if not self._room.acquire(blocking=False):
            with suppress(OSError):
                connection.send(answer(503, f"more than {MOST_CONNECTIONS} connections at once"))
            connection.close()
            return
        if not self._keep(connection):
            self._room.release()
            return
        try:
            Thread(target=self._handle, args=(connection,), name="linnet-proxied", daemon=True).start()
        except RuntimeError:  # No room for a thread.
            self._drop(connection)
            self._room.release()

    def _handle(self, connection: socket.socket) -> None:
        """Serve one connection to its end, in a thread of its own."""
        try:
            connection.settimeout(PATIENCE)
            self._connect(connection)
        except ProxyRefused as refused:
            with suppress(OSError):
                connection.sendall(answer(refused.status, str(refused)))
        except OSError:  # One of the two has gone.
            pass
        finally:
            self._drop(connection)
            self._room.release()

    def _connect(self, connection: socket.socket) -> None:
        """Read what is asked for, connect to it, and pass bytes on until both ends are done. Raises ProxyRefused."""
        head, rest = _head(connection)
        if not head:
            return
        request = parsed(head)
        server = self._reached(request)
        if not self._keep(server):
            return
        try:
            if request.tunnel:
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            server.sendall(request.head + rest)
            for each in (connection, server):
                each.settimeout(None)
            back = Thread(target=_pass_on, args=(server, connection), name="linnet-proxied", daemon=True)
            back.start()
            _pass_on(connection, server)
            back.join()
        finally:
            self._drop(server)

    def _reached(self, request: ProxyRequest) -> socket.socket:
        """Return a socket that is connected to what is asked for. Raises ProxyRefused if it may not or cannot be."""
        host, port = request.host, request.port
        if not self._hosts.names(host, port):
            raise ProxyRefused(403, f"{host}:{port} is not among the hosts that commands may reach (--sandbox-hosts)")
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise ProxyRefused(502, f"{host} is not known: {error}") from None
        why = ""
        for family, kind, protocol, _, place in found:
            address = ip_address(str(place[0]).partition("%")[0])
            if not self._hosts.has_address(address, port) and (not is_public(address) or is_ours(place, family)):
                why = why or (
                    f"{host} leads to {address}, which is this machine's or of a private network; "
                    f"if that is meant, name {address} among the hosts, too (--sandbox-hosts)"
                )
                continue
            server = socket.socket(family, kind, protocol)
            server.settimeout(PATIENCE)
            try:
                server.connect(place)
            except OSError as error:
                server.close()
                why = f"{host}:{port} is not reached: {error.strerror or error}"
                continue
            return server
        raise ProxyRefused(403 if "if that is meant" in why else 502, why or f"{host} has no address")

    def _keep(self, connection: socket.socket) -> bool:
        """Have `close` end this connection, too. Return False, with it closed, if that was called already."""
        with self._lock:
            if self._closed:
                connection.close()
                return False
            self._open.add(connection)
            return True

    def _drop(self, connection: socket.socket) -> None:
        """Close a connection, with the lock held, so that `close` does not shut down another's descriptor."""
        with self._lock:
            self._open.discard(connection)
            connection.close()


def is_ours(place: tuple[object, ...], family: int) -> bool:
    """Return whether an address is this machine's own: only those can be bound to."""
    with socket.socket(family, socket.SOCK_DGRAM) as trying, suppress(OSError):
        trying.bind((place[0], 0, *place[2:]))
        return True
    return False


def _head(connection: socket.socket) -> tuple[bytes, bytes]:
    """Return the head of a request, and what came after it already; nothing if the connection ends before."""
    data = b""
    while END not in data:
        if len(data) > MOST_HEAD:
            raise ProxyRefused(400, "the head of the request is too long")
        piece = connection.recv(PIECE)
        if not piece:
            return b"", b""
        data += piece
    head, _, rest = data.partition(END)
    return head + END, rest


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Pass bytes on until the source ends or the target breaks; then end the target's input."""
    with suppress(OSError):
        while piece := source.recv(PIECE):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _first_of(pid: int) -> int:
    """Return the first process of the sandbox that a process is in. Raises ValueError if that cannot be seen."""
    while pid > 1:
        status = contents(f"/proc/{pid}/status").decode(errors="replace")
        facts = {name: rest.split() for name, _, rest in (line.partition(":") for line in status.splitlines())}
        numbers = facts.get("NSpid", [])
        if len(numbers) > 1 and numbers[-1] == "1":
            return pid
        pid = int(facts["PPid"][0]) if "PPid" in facts else 0
    raise ValueError
