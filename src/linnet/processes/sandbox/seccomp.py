"""Assembles the seccomp filter that refuses calls to the kernel which no command in the sandbox may make. Pure.

Namespaces keep a command away from the machine's files, processes and network. This is for what has no namespace:
sockets to whoever runs the virtual machine, keys that the kernel keeps, rings that make calls past every check. And for
what is written in the working folder: a file there that runs as its owner, or with its group, would do so outside too.
"""

import struct
from errno import EAFNOSUPPORT, ENOSYS, EPERM

from msgspec import Struct


class Machine(Struct, frozen=True):
    """The numbers of calls on one architecture."""

    audit: int  # The architecture's own number.
    socket: int
    ioctl: int
    denied: tuple[int, ...]  # For whoever administers a machine; a program is told that it may not.
    modes: tuple[tuple[int, int], ...]  # Calls that set the mode of a file, and which argument it is.
    opens: tuple[tuple[int, int], ...]  # Calls that open a file, and which argument the flags are. The mode follows.
    foreign: bool = False  # Whether numbers above FOREIGN are another way to make the same calls.


FOREIGN = 0x40000000
# The same everywhere. A program is told that there are none, and does without.
RINGS = (425, 426, 427)
OPENAT2 = 437  # Its flags and mode are in memory, where nothing can be checked that does not change afterwards.
CHMOD_AT_2 = 452
SET_ID = 0o6000
CREATES = 0o100 | 0o20000000  # Only with O_CREAT or O_TMPFILE has opening a mode; else there is anything in its place.
MOUNTS = (428, 429, 430, 431, 432, 433, 442)
FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, and netlink, by which programs ask for their own addresses.
TERMINALS = (0x5412, 0x541C)  # To type into one, and to control the console.
MACHINES = {
    # acct … unshare, in the order of the names: add_key, bpf, delete_module, finit_module, init_module,
    # kexec_file_load, kexec_load, keyctl, mount, open_by_handle_at, perf_event_open, pivot_root, reboot, request_key,
    # setns, swapoff, swapon, umount2, unshare, userfaultfd.
    "x86_64": Machine(
        0xC000003E, 41, 16,
        (163, 248, 321, 176, 313, 175, 320, 246, 250, 165, 304, 298, 155, 169, 249, 308, 168, 167, 166, 272, 323),
        # chmod, fchmod, fchmodat, creat, mknod, mknodat; open, openat.
        ((90, 1), (91, 1), (268, 2), (85, 1), (133, 1), (259, 2)), ((2, 1), (257, 2)),
        foreign=True,
    ),
    "aarch64": Machine(
        0xC00000B7, 198, 29,
        (89, 217, 280, 106, 273, 105, 294, 104, 219, 40, 265, 241, 41, 142, 218, 268, 225, 224, 39, 97, 282),
        ((52, 1), (53, 2), (33, 2)), ((56, 2),),  # fchmod, fchmodat, mknodat; openat.
    ),
}  # fmt: skip

_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24  # Where they are in what the kernel shows.
_ARGUMENT = 8  # The size of one. Of flags and modes all that counts is in the first half.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


def program(machine: Machine) -> bytes:
    """Return the filter: instructions of eight bytes, each a code, how many to skip if so and if not, and a number."""
    lines = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, machine.audit), (_RETURN, 0, 0, _ERROR | ENOSYS)]
    lines += [(_LOAD, 0, 0, _NUMBER)]
    if machine.foreign:
        lines += [(_AT_LEAST, 0, 1, FOREIGN), (_RETURN, 0, 0, _ERROR | ENOSYS)]
    for numbers, error in (((*RINGS, OPENAT2), ENOSYS), ((*machine.denied, *MOUNTS), EPERM)):
        for number in numbers:
            lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | error)]
    families = [(_LOAD, 0, 0, _FIRST)]
    families += [(_EQUAL, len(FAMILIES) - at, 0, family) for at, family in enumerate(FAMILIES)]
    families += [(_RETURN, 0, 0, _ERROR | EAFNOSUPPORT), (_RETURN, 0, 0, _ALLOW)]
    lines += [(_EQUAL, 0, len(families), machine.socket), *families]
    terminals = [(_LOAD, 0, 0, _SECOND)]
    terminals += [(_EQUAL, len(TERMINALS) - at, 0, request) for at, request in enumerate(TERMINALS)]
    terminals += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERROR | EPERM)]
    lines += [(_EQUAL, 0, len(terminals), machine.ioctl), *terminals]
    for number, mode in (*machine.modes, (CHMOD_AT_2, 2)):
        lines += [(_EQUAL, 0, 4, number), (_LOAD, 0, 0, _FIRST + mode * _ARGUMENT)]
        lines += [(_ANY_BIT, 0, 1, SET_ID), (_RETURN, 0, 0, _ERROR | EPERM), (_RETURN, 0, 0, _ALLOW)]
    for number, flags in machine.opens:
        lines += [(_EQUAL, 0, 6, number), (_LOAD, 0, 0, _FIRST + flags * _ARGUMENT), (_ANY_BIT, 0, 3, CREATES)]
        lines += [(_LOAD, 0, 0, _FIRST + (flags + 1) * _ARGUMENT), (_ANY_BIT, 0, 1, SET_ID)]
        lines += [(_RETURN, 0, 0, _ERROR | EPERM), (_RETURN, 0, 0, _ALLOW)]
    lines += [(_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
