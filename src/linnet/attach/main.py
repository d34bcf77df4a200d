"""Attaches stdin and stdout to an agent of a server's: one line first, then byte for byte in both directions.

A client spawns this where it would spawn pi or zot, and waits for its first answer: that should come as soon as from
a compiled program. So Python runs without `site`, and nothing is imported here that is not built in or one small
shared object: `os`, `socket`, `json`, `signal` and `typing` would take longer than all the rest. See
docs/decisions/0104-attach-without-site.md.

Three threads, each of which waits for one thing: the main one for the server, one for stdin, and one for signals and
for the reader of stdout to go away. So no wait holds up another, and what is not read is not asked for.
"""

import _signal  # type: ignore[import-not-found]  # As in `cli/entry_points.py`.
import _socket
import _thread
import posix
import sys

from linnet.attach.command_line import KEY_VARIABLES, LONGEST, PLACE_VARIABLES, Asked, Refused, parse, socket_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

SIZE = 128 * 1024  # Bytes that are passed on at once; more than a pipe holds.


def main() -> "NoReturn":
    """Run `linnet attach` as this process, and exit: 0 when the server has ended the connection or nobody reads any
    more, 1 for a failure, 2 for a command line that makes no sense, 128 and the number of a signal.
    """
    try:
        code = _run(sys.argv[2:])
    except Refused as refused:
        _say(str(refused))
        code = refused.code
    posix._exit(code)


def _run(words: "list[str]") -> int:
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())  # Whoever starts us may block them.
    _fill_descriptors()
    asked = parse(words)
    if asked.help:
        from linnet.attach.shown import HELP

        _write_all(1, HELP.encode())
        return 0
    signals = _noted_signals()
    link = Link(socket_path(asked.socket, _variables(PLACE_VARIABLES)))
    first = _first(asked)
    link.send(first)
    _thread.start_new_thread(_await_end, (signals,))  # Not before: the server is at work meanwhile.
    data = link.answer()
    if first["type"] == "agents":
        chosen = _only(data, asked)
        if chosen is None:
            return 2
        link.send(chosen)
        data = link.answer()
    _thread.start_new_thread(link.pass_input, ())
    for remark in _strings(data.get("remarks")):
        _say(remark)
    return link.pass_output()


class Link:
    """The connection to the server. Requests come first, each with its response; then bytes are passed on, those in
    `_rest` before all others.
    """

    def __init__(self, path: str) -> None:
        """Connect. Raises Refused."""
        self._path = path
        self._rest = b""
        size = len(path.encode(sys.getfilesystemencoding(), "surrogateescape"))
        if size > LONGEST:
            raise Refused(f"the path of the socket has {size} bytes, and may have {LONGEST}: {path}")
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            self._socket.connect(path)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            raise Refused(f"no server answers at {path}; start one with `linnet serve`") from None
        except (OSError, ValueError) as error:
            raise Refused(f"{getattr(error, 'strerror', '') or error}: {path}") from None
        # Keys are for nobody else: who made the socket could be anybody, if the path is one in a shared folder.
        about = self._socket.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        owner = int.from_bytes(about[4:8], sys.byteorder)
        if owner not in (0, posix.geteuid()):
            raise Refused(f"the server at {path} belongs to another user ({owner})")
        # Who listens may be systemd. Who answers is the server: the kernel tells its process with the first answer.
        self._server = 0
        self._socket.setsockopt(_socket.SOL_SOCKET, _socket.SO_PASSCRED, 1)

    def send(self, request: "dict[str, object]") -> None:
        """Send a first line. Raises Refused if it cannot be said."""
        try:
            self._socket.sendall(_json_of(request).encode() + b"\n")
        except UnicodeEncodeError:
            raise Refused("an argument, this folder's name or a key is not UTF-8, and cannot be sent") from None
        except OSError:
            pass  # It has hung up, and may have said why.

    def answer(self) -> "dict[str, Any]":
        """Return the data of the response to what was sent. Raises Refused with the server's own sentence."""
        response = _parsed(self._line())
        if response is None:
            raise Refused(f"what answers at {self._path} is no server of linnet's")
        if response.get("success") is not True:
            raise Refused(str(response.get("error") or "the server refused it without saying why"))
        data = response.get("data")
        return data if isinstance(data, dict) else {}

    def pass_input(self) -> None:
        """Pass stdin to the server, and then its end. Called in a thread of its own."""
        try:
            while data := _read_input():
                self._socket.sendall(data)
            self._socket.shutdown(_socket.SHUT_WR)
        except OSError:
            pass  # The server has hung up: whoever reads from it sees that.

    def pass_output(self) -> int:
        """Pass what the server sends to stdout, until it ends the connection. Return the exit code."""
        buffer = bytearray(SIZE)
        view = memoryview(buffer)
        last = self._rest[-1:] or b"\n"
        try:
            _write_all(1, self._rest)
            while size := self._receive(view):
                _write_all(1, view[:size])
                last = view[size - 1 : size].tobytes()
        except BrokenPipeError:
            return 0  # Whoever read has seen enough.
        except OSError as error:
            raise Refused(f"{error.strerror}: stdout") from None
        if last != b"\n":
            raise Refused("the server ended in the middle of a line")
        if self._server and _is_ending(self._server):  # It was killed: nobody has said that this is the end.
            raise Refused(f"the server at {self._path} has ended")
        return 0

    def _line(self) -> bytes:
        while b"\n" not in self._rest:
            try:
                data, about, _, _ = self._socket.recvmsg(SIZE, _socket.CMSG_SPACE(12))
            except ConnectionError:
                raise Refused(f"the server at {self._path} has ended") from None
            if not data:
                raise Refused(f"the server at {self._path} hung up without an answer")
            for _, kind, value in about:
                if kind == _socket.SCM_CREDENTIALS:
                    self._server = int.from_bytes(value[:4], sys.byteorder)
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _receive(self, buffer: memoryview) -> int:
        try:
            return self._socket.recv_into(buffer)
        except ConnectionError:
            raise Refused(f"the server at {self._path} has ended") from None


def _is_ending(process: int) -> bool:
    """Return whether a process is gone, or was when its connections ended: it says so before it closes them."""
    try:
        stat = posix.open(f"/proc/{process}/stat", posix.O_RDONLY | posix.O_CLOEXEC)
    except FileNotFoundError:
        return posix.access("/proc/self/stat", posix.R_OK)  # Where there is no /proc, nobody can tell.
    except OSError:
        return False
    try:
        said = posix.read(stat, 4096).rpartition(b")")[2].split()
    except ProcessLookupError:
        return True
    finally:
        posix.close(stat)
    return said[0] in (b"Z", b"X") or bool(int(said[6]) & 4)  # PF_EXITING


def _first(asked: Asked) -> "dict[str, object]":
    """Return the first line: what was asked for, or a question for the agents if it leaves open which one is meant."""
    first = asked.first
    if first["type"] == "open":
        try:
            folder = posix.getcwd()
        except OSError as error:
            raise Refused(f"{error.strerror}: the current folder") from None
        return {**first, "cwd": folder, "env": _variables(KEY_VARIABLES)}
    return first if "agent" in first else {"type": "agents"}


def _only(data: "dict[str, Any]", asked: Asked) -> "dict[str, object] | None":
    """Return the line that attaches to the only agent. If there is not exactly one, show them, and return None."""
    agents = data.get("agents")
    found = [agent for agent in agents if isinstance(agent, dict)] if isinstance(agents, list) else []
    if len(found) == 1:
        return {**asked.first, "agent": str(found[0].get("id"))}
    from linnet.attach.shown import table

    _write_people(table(found))
    return None


def _variables(names: "tuple[str, ...]") -> "dict[str, str]":
    """Return those variables that say something."""
    encoding = sys.getfilesystemencoding()
    there = posix.environ
    return {name: str(there[key], encoding, "surrogateescape") for name in names if there.get(key := name.encode())}


def _json_of(value: object) -> str:
    """Return a value as JSON: an object of strings, truth values, whole numbers, lists and objects."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_json_of(name)}:{_json_of(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json_of, value)) + "]"
    if isinstance(value, str):
        if value.isprintable() and '"' not in value and "\\" not in value:
            return f'"{value}"'
        from _json import encode_basestring

        return encode_basestring(value)
    return str(value).lower()  # `True` and `False`, too.


class _Reading:
    """How `_json` is to read: as `json.loads` does."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int


def _parsed(line: bytes) -> "dict[str, Any] | None":
    """Return the object that a line is; None if it is none."""
    from _json import make_scanner  # `json` imports `re`.

    try:
        value, _ = make_scanner(_Reading)(line.decode(), 0)  # type: ignore[arg-type]
    except (ValueError, StopIteration, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _strings(value: object) -> "list[str]":
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _fill_descriptors() -> None:
    """Open what a spawner has closed: the connection must not become stdin, or stderr."""
    for number in (0, 1, 2):
        try:
            posix.fstat(number)
        except OSError:
            posix.open("/dev/null", posix.O_RDWR)  # It gets the lowest number that is free.


def _noted_signals() -> int:
    """Return the end of a pipe from which the numbers of signals that ask for an end can be read, once they come."""
    reading, writing = posix.pipe()
    posix.set_blocking(writing, False)
    _signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP):
        # `nohup`, and a shell that starts something in its background, have the latter two ignored: that stays.
        if number == _signal.SIGTERM or _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, _nothing)
    return reading


def _nothing(number: int, frame: object) -> None:
    """The number of a signal is in the pipe by now, for the thread that reads it."""


def _await_end(signals: int) -> None:
    """End the process with 128 and the number of a signal, or when whoever read stdout does not read any more; also
    while other threads wait for something.
    """
    import select

    poll = select.poll()
    poll.register(signals, select.POLLIN)
    poll.register(1, 0)  # Its error and its end are told without being asked for.
    ready = dict(poll.poll())
    posix._exit(128 + posix.read(signals, 1)[0] if signals in ready else 0)


def _read_input() -> bytes:
    """Return some bytes of stdin; none at its end, or where it cannot be read."""
    while True:
        try:
            return posix.read(0, SIZE)
        except BlockingIOError:
            _await(0, writing=False)
        except OSError:
            return b""


def _write_all(number: int, data: "bytes | memoryview") -> None:
    while data:
        try:
            data = data[posix.write(number, data) :]
        except BlockingIOError:  # Somebody who has the same pipe wants it so.
            _await(number, writing=True)


def _await(number: int, *, writing: bool) -> None:
    import select

    poll = select.poll()
    poll.register(number, select.POLLOUT if writing else select.POLLIN)
    poll.poll()


def _say(sentence: str) -> None:
    _write_people(f"linnet: {sentence}\n")


def _write_people(text: str) -> None:
    """Write to stderr what people read. Never fails: it may be a file on a full disk, or a closed pipe."""
    from linnet.core.text.terminal_text import spelled_out

    try:  # noqa: SIM105  # A remark may come before the first answer, and `contextlib` takes 2 ms.
        _write_all(2, spelled_out(text).encode())
    except OSError:
        pass
