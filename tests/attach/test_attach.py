"""`linnet attach` as a real process, against a server of the tests' own."""

import fcntl
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from linnet.attach.command_line import KEY_VARIABLES
from tests.attach.scripted_server import ACCEPTED, Attach, Connection, Server, block_signals, ended

ROOT = Path(__file__).parents[2]
SIZE = 48_000_000  # Bytes that are passed where the other end is slow.


def at(server: Server, *words: str) -> tuple[str, ...]:
    return ("--socket", str(server.path), *words)


def test_an_agent_is_attached_to_and_lines_pass_both_ways(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "abc", "--watch"))
    with listening.accepted() as server:
        assert server.line() == {"type": "attach", "agent": "abc", "role": "watch"}
        # The first event may come with the response.
        server.socket.sendall(json.dumps(ACCEPTED).encode() + b'\n{"type":"a"}\n{"ty')
        assert process.stdin
        process.stdin.write(b'{"id":1}\n')
        assert server.line() == {"id": 1}
        server.socket.sendall(b'pe":"b"}\n')
    assert ended(process) == (0, '{"type":"a"}\n{"type":"b"}\n', "")


def test_what_is_opened_gets_the_folder_the_keys_and_nothing_else_of_the_environment(
    attach: Attach, listening: Server, folder: Path
) -> None:
    env = {name: f'"{name}"\n\té' for name in KEY_VARIABLES} | {
        "HF_TOKEN": "",
        "SECRET": "x",
        "ANTHROPIC_BASE_URL": "y",
    }
    there = folder / 'a "folder" of a\tuser’s\\'
    there.mkdir()
    process = attach(*at(listening, "--open", "--", "rpc", "--model", "é\n"), env=env, cwd=there)
    with listening.accepted() as server:
        assert server.line() == {
            "type": "open",
            "flags": ["rpc", "--model", "é\n"],
            "keep": False,
            "cwd": str(there),
            "env": {name: env[name] for name in KEY_VARIABLES if name != "HF_TOKEN"},
        }
        server.send({**ACCEPTED, "data": {"agent": "a", "remarks": ["one \x1b[31m", "two"]}})
    assert ended(process) == (0, "", "linnet: one \\x1b[31m\nlinnet: two\n")


def test_a_failure_is_the_servers_sentence(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "abc"))
    with listening.accepted() as server:
        server.line()
        server.send({"type": "response", "success": False, "error": "There is no agent abc.", "code": "unknown_agent"})
    assert ended(process) == (1, "", "linnet: There is no agent abc.\n")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"", "the server at PATH hung up without an answer"),
        (b'{"type":"respon', "the server at PATH hung up without an answer"),
        (b"HTTP/1.1 400 Bad Request\n", "what answers at PATH is no server of linnet's"),
        (b"[1]\n", "what answers at PATH is no server of linnet's"),
        (b"[" * 100_000 + b"\n", "what answers at PATH is no server of linnet's"),
        (b"\xff\n", "what answers at PATH is no server of linnet's"),
        (b"{}\n", "the server refused it without saying why"),
    ],
    ids=["nothing", "half a line", "http", "a list", "a deep one", "no text", "an empty object"],
)
def test_another_answer_is_told(attach: Attach, listening: Server, answer: bytes, sentence: str) -> None:
    process = attach(*at(listening, "abc"))
    with listening.accepted() as server:
        server.line()
        server.socket.sendall(answer)
    assert ended(process) == (1, "", f"linnet: {sentence}\n".replace("PATH", str(listening.path)))


def missing(path: Path) -> None:
    pass


def stale(path: Path) -> None:
    Server(path).close()


def a_file(path: Path) -> None:
    path.write_text("")


@pytest.mark.parametrize("there", [missing, stale, a_file])
def test_without_a_server_it_says_how_to_start_one(attach: Attach, there: Callable[[Path], None], folder: Path) -> None:
    path = folder / "serve.sock"
    there(path)
    expected = (1, "", f"linnet: no server answers at {path}; start one with `linnet serve`\n")
    assert ended(attach(env={"LINNET_SOCKET": str(path)})) == expected


def test_a_path_that_no_socket_can_have_is_told(attach: Attach, folder: Path) -> None:
    code, out, err = ended(attach("--socket", f"{folder}/{'x' * 120}"))
    assert (code, out) == (1, "")
    assert re.search(r"has \d+ bytes, and may have 107", err)


def test_what_is_no_text_cannot_be_sent(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "--open", "--", "a\udcff"))
    with listening.accepted():
        code, out, err = ended(process)
    assert (code, out) == (1, "")
    assert "not UTF-8" in err


def test_a_command_line_that_makes_no_sense_is_told_before_anything_else(attach: Attach) -> None:
    assert ended(attach("--watch", "--open")) == (
        2,
        "",
        "linnet: --watch is not for --open; see linnet attach --help\n",
    )
    code, out, err = ended(attach("--help"))
    assert (code, err) == (0, "")
    assert out.startswith("linnet attach: ")


def test_without_a_name_the_only_agent_is_meant(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "--cursor"))
    with listening.accepted() as server:
        assert server.line() == {"type": "agents"}
        server.send({"type": "response", "success": True, "data": {"agents": [{"id": "abc", "state": "idle"}]}})
        assert server.line() == {"type": "attach", "cursor": True, "agent": "abc"}
        server.send(ACCEPTED)
    assert ended(process) == (0, "", "")


@pytest.mark.parametrize("agents", [[], [{"id": "abc", "state": "idle"}, {"id": "def", "state": "tool"}]])
def test_where_it_is_not_clear_which_agent_is_meant_they_are_listed(
    attach: Attach, listening: Server, agents: list[dict[str, str]]
) -> None:
    process = attach(*at(listening))
    with listening.accepted() as server:
        server.line()
        server.send({"type": "response", "success": True, "data": {"agents": agents}})
        code, out, err = ended(process)
    assert (code, out) == (2, "")
    assert [agent["id"] for agent in agents if agent["id"] not in err] == []


def test_long_lines_of_any_bytes_pass_both_ways_at_once(attach: Attach, listening: Server) -> None:
    drawn = random.Random(1)
    sent, answered = (b"".join(drawn.randbytes(1 << 20) + b"\n" for _ in range(5)) for _ in range(2))
    process = attach(*at(listening, "abc"))
    received: list[bytes] = []

    def converse(server: Connection) -> None:
        writing = Thread(target=server.socket.sendall, args=(answered,))
        writing.start()
        received.append(server.file.read(len(sent)))
        writing.join()
        assert server.file.read() == b""

    with listening.attached() as server:
        conversing = Thread(target=lambda: converse(server))
        conversing.start()
        assert process.stdin
        assert process.stdout
        feeding = Thread(target=feed, args=(process, sent))
        feeding.start()
        got = b""
        while len(got) < len(answered):
            got += os.read(process.stdout.fileno(), 1 << 20)
        feeding.join()
        conversing.join()
    assert (got == answered, received[0] == sent) == (True, True)
    assert ended(process) == (0, "", "")


def feed(process: "subprocess.Popen[bytes]", data: bytes) -> None:
    """Write it to stdin, and close that."""
    assert process.stdin
    view = memoryview(data)
    while view:
        view = view[process.stdin.write(view) or 0 :]
    process.stdin.close()
    process.stdin = None


def has_attached(process: "subprocess.Popen[bytes]", server: Connection) -> None:
    """Wait until lines pass."""
    assert process.stdin
    process.stdin.write(b"attached\n")
    assert server.file.readline() == b"attached\n"


def peak(process: "subprocess.Popen[bytes]") -> int:
    """The most memory that it has had, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    assert found
    return int(found[1]) * 1024


def test_nothing_piles_up_for_a_slow_reader(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "abc"))
    assert process.stdout
    with listening.attached() as server:
        data = bytes(SIZE - 1) + b"\n"
        sending = Thread(target=server.socket.sendall, args=(data,))
        sending.start()
        left = SIZE
        while left:
            left -= len(os.read(process.stdout.fileno(), 20_000))
        sending.join()
        assert peak(process) < SIZE // 2
    assert ended(process) == (0, "", "")


def test_nothing_piles_up_for_a_slow_server(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "abc"))
    with listening.attached() as server:
        feeding = Thread(target=feed, args=(process, bytes(SIZE)))
        feeding.start()
        left = SIZE
        while left:
            left -= len(server.socket.recv(20_000))
        feeding.join()
        assert peak(process) < SIZE // 2
        assert server.socket.recv(1) == b""
    assert ended(process) == (0, "", "")


def test_a_client_may_write_more_than_fits_before_it_reads(attach: Attach, listening: Server) -> None:
    """A server that waits for its answers to be read reads nothing more, and neither holds up the other direction."""
    process = attach(*at(listening, "abc"))
    with listening.attached() as server:
        answering = Thread(target=server.socket.sendall, args=(bytes(999_999) + b"\n",))  # Nobody reads them yet.
        answering.start()
        feeding = Thread(target=feed, args=(process, bytes(1_000_000)))
        feeding.start()
        assert len(server.file.read()) == 1_000_000
        feeding.join()
        assert process.stdout
        left = 1_000_000
        while left:
            left -= len(os.read(process.stdout.fileno(), 1 << 20))
        answering.join()
    assert ended(process) == (0, "", "")


def test_the_end_of_stdin_is_passed_on_and_what_comes_then_is_still_read(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "abc"))
    with listening.attached() as server:
        feed(process, b"last\n")
        assert server.file.read() == b"last\n"
        server.send({"type": "done"})
    assert ended(process) == (0, '{"type": "done"}\n', "")


def test_a_connection_that_ends_within_a_line_is_a_failure(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "abc"))
    with listening.attached() as server:
        server.socket.sendall(b'{"type":')
    assert ended(process) == (1, '{"type":', "linnet: the server ended in the middle of a line\n")


def test_a_server_that_was_killed_is_told(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "abc"))
    assert process.stdin
    with listening.attached() as server:
        process.stdin.write(b"unread\n")
        server.socket.recv(1, socket.MSG_PEEK)  # What it had not read is lost with it.
    code, out, err = ended(process)
    assert (code, out, err) == (1, "", f"linnet: the server at {listening.path} has ended\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_with_its_number(attach: Attach, listening: Server, number: signal.Signals) -> None:
    process = attach(*at(listening, "abc"), before=block_signals)
    with listening.attached() as server:
        has_attached(process, server)
        process.send_signal(number)
        assert ended(process) == (128 + number, "", "")
        assert server.file.read() == b""


def test_a_signal_ends_it_while_it_waits_for_the_first_answer(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "abc"))
    with listening.accepted() as server:
        server.line()
        process.terminate()
        assert ended(process) == (143, "", "")


def test_a_signal_ends_it_while_nobody_reads(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "abc"))
    assert process.stdout
    room = fcntl.fcntl(process.stdout, fcntl.F_GETPIPE_SZ)
    with listening.attached() as server:
        sending = Thread(target=send_in_vain, args=(server.socket, bytes(4_000_000)))
        sending.start()
        while waiting(process.stdout.fileno()) < room:
            os.sched_yield()
        process.terminate()
        assert process.wait(60) == 143
        sending.join()


def send_in_vain(link: socket.socket, data: bytes) -> None:
    with pytest.raises(OSError, match=r"Broken pipe|reset"):
        link.sendall(data)


def waiting(pipe: int) -> int:
    """How many bytes lie in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_signal_that_was_ignored_stays_so(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "abc"), before=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    with listening.attached() as server:
        has_attached(process, server)
        process.send_signal(signal.SIGINT)
        assert process.stdin
        process.stdin.write(b"b\n")
        assert server.file.readline() == b"b\n"
    assert ended(process) == (0, "", "")


def test_it_ends_when_nobody_reads_any_more_though_nothing_is_written(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "abc"))
    with listening.attached() as server:
        assert process.stdout
        has_attached(process, server)
        process.stdout.close()
        assert server.file.read() == b""
        assert process.wait(60) == 0


def test_it_ends_when_what_it_writes_is_not_read(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "abc"), before=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    with listening.attached() as server:
        assert process.stdout
        server.send({"type": "a"})
        assert os.read(process.stdout.fileno(), 1)
        process.stdout.close()
        assert server.file.read() == b""
        assert process.wait(60) == 0


def test_a_socket_may_be_stdin_and_stdout(attach: Attach, listening: Server) -> None:
    """As Node has it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        process = attach(*at(listening, "abc"), stdin=theirs, stdout=theirs)
        theirs.close()
        with listening.attached() as server:
            ours.sendall(b"a\n")
            ours.shutdown(socket.SHUT_WR)
            assert server.file.read() == b"a\n"
            sending = Thread(target=server.socket.sendall, args=(bytes(999_999) + b"\n",))
            sending.start()
            left = 1_000_000
            while left:
                left -= len(ours.recv(1 << 20))
            sending.join()
        assert ours.recv(1) == b""
        assert process.wait(60) == 0


def test_descriptors_that_were_closed_are_not_the_connection(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "abc"), before=lambda: os.closerange(0, 3))
    with listening.attached() as server:
        assert server.file.read() == b""  # Its input has ended: there was none.
        server.send({"type": "a"})
    assert ended(process) == (0, "", "")


def test_it_is_found_by_the_module_too(attach: Attach, listening: Server) -> None:
    process = attach(*at(listening, "abc"), command=(sys.executable, "-m", "linnet"))
    with listening.attached() as server:
        server.send({"type": "a"})
    assert ended(process) == (0, '{"type": "a"}\n', "")


def test_it_needs_none_of_what_takes_long_to_import() -> None:
    code = "import sys; sys.path.append(sys.argv[1]); import linnet.attach.main; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-IS", "-c", code, ROOT / "src"], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.split())
    assert not loaded & {"os", "re", "json", "enum", "typing", "socket", "signal", "contextlib", "msgspec", "threading"}
    assert {name for name in loaded if name.startswith("linnet")} == {
        *("linnet", "linnet.attach", "linnet.attach.main", "linnet.attach.command_line")
    }


def test_an_ordinary_install_is_found_without_site(attach: Attach, listening: Server, folder: Path) -> None:
    """The modules lie beside the launcher, and not in a folder that a `.pth` file names."""
    version = f"python3.{sys.version_info.minor}"
    modules = folder / "environment" / "lib" / version / "site-packages"
    modules.mkdir(parents=True)
    (modules / "linnet").symlink_to(ROOT / "src" / "linnet")
    launchers = folder / "environment" / "bin"
    launchers.mkdir()
    (folder / "environment" / "pyvenv.cfg").write_text((Path(sys.prefix) / "pyvenv.cfg").read_text())
    (launchers / "python").symlink_to(os.path.realpath(sys.executable))
    (launchers / "linnet").write_bytes((ROOT / "scripts" / "linnet").read_bytes())
    (launchers / "linnet").chmod(0o755)
    process = attach(*at(listening, "abc"), command=(str(launchers / "linnet"),), env={"PYTHONPROFILEIMPORTTIME": "1"})
    with listening.attached() as server:
        server.send({"type": "a"})
    code, out, err = ended(process)
    assert (code, out) == (0, '{"type": "a"}\n')
    imported = {line.rpartition("|")[2].strip() for line in err.splitlines()}
    assert "linnet.attach.main" in imported
    assert not imported & {"site", "os"}
