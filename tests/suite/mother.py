"""A linnet that has loaded everything and serves nobody: for each request it forks a child that becomes `linnet …`.

It is started with the flags of the launcher and knows nothing of pytest. It never has a second thread, so a fork of it
is a whole process. A request comes over the socket that stands where stdin would: what to become, with its files; it is
answered with a process id. An ended child is a zombie until somebody asks how it ended, as for any other parent.
"""

import ctypes  # noqa: F401 (it, and the next one, are imported when they are needed)
import difflib  # noqa: F401
import fcntl
import json
import os
import resource
import signal
import socket
import sys
import traceback
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pkgutil import walk_packages
from threading import active_count
from typing import Any, NoReturn

import linnet
from linnet.cli import entry_points

LEFT_OUT = ("linnet.__main__", "linnet.testing", "linnet.extensions.mcp")  # The last, unless it is asked for.
LENGTH = 8  # Bytes that say how long a request is.
ABOVE = 200  # Where files wait until each has its number.


def serve(link: socket.socket) -> None:
    while True:
        head, files, _, _ = socket.recv_fds(link, LENGTH, 16)
        if not head:
            return
        request = json.loads(_exactly(link, int(head)))
        if "reap" in request:
            answer(link, os.waitpid(request["reap"], 0)[1])
        elif not os.fork():
            _become(request, files, link)
        for file in files:
            os.close(file)


def answer(link: socket.socket, number: int) -> None:
    link.sendall(b"%8d" % number)


def _exactly(link: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += link.recv(size - len(data))
    return data


def _become(request: dict[str, Any], files: list[int], link: socket.socket) -> NoReturn:
    """Run `linnet`, or the program that is named, with these words, variables and files, in this folder.

    Its id is told by itself, when it has all of that: whoever asked may look at it at once.
    """
    code = 1
    try:
        waiting = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, ABOVE) for file in files]
        for file in files:
            os.close(file)
        for file, number in zip(waiting, request["numbers"], strict=True):
            os.dup2(file, number)
            os.close(file)
        if request["session"]:
            os.setsid()
        if request["group"] >= 0:
            os.setpgid(0, request["group"])
        for limit, values in request["limits"]:
            resource.setrlimit(limit, values)
        os.umask(request["umask"])
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
        sys.argv[1:] = request["flags"]
        answer(link, os.getpid())
        link.close()
        {"linnet": entry_points.main, "linnet-pi": entry_points.pi, "linnet-zot": entry_points.zot}[
            request["program"]
        ]()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def load(also: tuple[str, ...]) -> None:
    """Import all that an agent may need, as its launcher would have it imported."""
    entry_points.prepare()
    for module in walk_packages(linnet.__path__, "linnet."):
        if module.name.startswith(also) or not module.name.startswith(LEFT_OUT):
            import_module(module.name)
    assert active_count() == 1, "a fork has only the thread that forked it"


if __name__ == "__main__":
    link = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    also = tuple(sys.argv[1:])
    sys.argv[0] = "-c"
    load(also)
    if path := os.environ.get("LINNET_TEST_LINES"):
        spec = spec_from_file_location("printed", os.path.join(os.path.dirname(__file__), "printed.py"))
        assert spec is not None
        assert spec.loader is not None
        printed = module_from_spec(spec)
        spec.loader.exec_module(printed)
        printed.install(path)
    serve(link)
