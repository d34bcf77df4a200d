"""The program that opens the proxy's entrance inside of the sandbox, and then becomes the command.

A command there has a network of its own, in which nothing is reached. This makes a socket in it that listens, and hands
it to the proxy outside, which takes the connections from there on. So nothing of ours stays in the sandbox.
"""

import _socket
import os
import sys

from linnet.processes.launch import become

DOOR = "door"  # The name of the socket. Its folder may have a path that is too long for one.
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def main(words: list[str]) -> None:
    """Become the command that follows two words: the folder with the door, and the hosts that need no proxy."""
    folder, spared, *argv = words
    try:
        port = opened(folder)
    except OSError as error:
        os.write(2, f"linnet: the network cannot be reached: {error.strerror}\n".encode())
        os._exit(126)
    for name in VARIABLES:
        os.environ[name] = f"http://127.0.0.1:{port}"
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = spared
    os.environ["NODE_USE_ENV_PROXY"] = "1"
    become(argv)


def opened(folder: str) -> int:
    """Hand a listening socket to the proxy, and return its port. Raises OSError."""
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    door = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    here = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    os.chdir(folder)  # So that the address is short enough for a socket.
    door.connect(DOOR)
    os.fchdir(here)
    os.close(here)
    fd = listener.fileno().to_bytes(4, sys.byteorder)
    door.sendmsg([b"!"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fd)])
    if not door.recv(1):  # Until the proxy has the socket, this process must live: it is asked whose sandbox it is in.
        raise ConnectionRefusedError(111, "there are too many commands")
    port: int = listener.getsockname()[1]
    listener.close()
    door.close()
    return port
