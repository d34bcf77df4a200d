"""Makes rules for Landlock, and is the program that restricts itself by them and then becomes the command.

The kernel refuses all use of files that no rule allows, for a process and all it starts. What Landlock has no word for
it does not refuse: see `files_only`.
"""

import marshal
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
# Before the third version a file could be cut off anywhere.
LEAST = 3
SCOPES = 0b11  # Abstract sockets, and signals, of processes that are not in it.
READ = EXECUTE | READ_FILE | READ_DIR
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


def handled(version: int) -> int:
    """Return the bits of all rights that this version can refuse."""
    return (1 << (13 if version < 2 else 14 if version < 3 else 15 if version < 5 else 16)) - 1


def rules(
    written: Iterable[str], read: Iterable[str], veiled: Iterable[str], version: int
) -> Iterator[tuple[str, int]]:
    """Yield paths, each with the rights to it and to what is below, leaving out what is `veiled` inside of `read`."""
    everything = handled(version)
    for path in written:
        yield path, everything & ~(MAKE_CHAR | MAKE_BLOCK)
    hidden = tuple(veiled)
    for path in read:
        yield from _uncovered(path, hidden)
    for name in DEVICES:
        yield f"/dev/{name}", (READ_FILE | WRITE_FILE | TRUNCATE | READ_DIR | IOCTL_DEV) & everything
    yield "/proc", READ & ~EXECUTE


def _uncovered(path: str, veiled: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Yield a path with the right to read it; where something in it is veiled, what else is in it, and its names."""
    if path in veiled:
        return
    if not any(each.startswith(path.rstrip("/") + "/") for each in veiled):
        yield path, READ
        return
    yield path, READ_DIR
    with suppress(OSError):
        for name in os.listdir(path):
            yield from _uncovered(os.path.join(path, name), veiled)


def version() -> int:
    """Return the version of the kernel's Landlock; 0 if it has none."""
    from ctypes import CDLL

    found: int = CDLL(None).syscall(_CREATE, None, 0, 1)
    return max(0, found)


def restrict(wanted: Iterable[tuple[str, int]], version: int, calls: bytes) -> None:
    """Confine this process for good, and all it starts; `calls` is the seccomp filter. Raises OSError."""
    from ctypes import CDLL, addressof, byref, c_size_t, c_uint64, create_string_buffer, get_errno, sizeof

    libc = CDLL(None, use_errno=True)

    def checked(result: int) -> int:
        if result < 0:
            raise OSError(get_errno(), os.strerror(get_errno()))
        return result

    fields = [handled(version), *([0] if version >= 4 else []), *([SCOPES] if version >= 6 else [])]
    attributes = (c_uint64 * len(fields))(*fields)
    ruleset = checked(libc.syscall(_CREATE, byref(attributes), c_size_t(sizeof(attributes)), 0))
    for path, rights in wanted:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # It is not there any more, or not for us.
            continue
        allowed = rights if os.path.isdir(path) else rights & OF_FILES
        beneath = (allowed & handled(version)).to_bytes(8, sys.byteorder) + fd.to_bytes(4, sys.byteorder)
        checked(libc.syscall(_ADD, ruleset, 1, beneath, 0))
        os.close(fd)
    checked(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    checked(libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)
    code = create_string_buffer(calls, len(calls))
    program = (c_uint64 * 2)(len(calls) // 8, addressof(code))  # The length has two bytes, and six follow it.
    checked(libc.prctl(_SECCOMP, _FILTER, byref(program), 0, 0))


def main(words: list[str]) -> None:
    """Take the file that says what is allowed, and what may be read besides; the rest is the command."""
    from linnet.processes.launch import become

    path, shown, *argv = words
    try:
        with open(path, "rb") as file:
            allowed, version, calls = marshal.load(file)
        restrict([*allowed, *((each, READ) for each in shown.split(os.pathsep) if each)], version, calls)
    except OSError as error:
        os.write(2, f"linnet: --sandbox-files cannot be kept: {error.strerror}\n".encode())
        os._exit(126)
    become(argv)
