"""Calls to the kernel that no command in the sandbox may make, as the program that the kernel checks them with. Pure.

Namespaces keep a command away from the machine's files, processes and network. This is for what has no namespace:
sockets to whoever runs the virtual machine, keys that the kernel keeps, rings that make calls past every check.
"""

import struct
from errno import EAFNOSUPPORT, ENOSYS, EPERM

from msgspec import Struct


class Machine(Struct, frozen=True):
    """The numbers of calls. `denied` are for whoever administers a machine; a program is told that it may not."""

    audit: int
    socket: int
    ioctl: int
    denied: tuple[int, ...]
    foreign: bool = False  # Whether numbers above FOREIGN are another way to make the same calls.


FOREIGN = 0x40000000
# The same everywhere. A program is told that there are none, and does without.
RINGS = (425, 426, 427)
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
        foreign=True,
    ),
    "aarch64": Machine(
        0xC00000B7, 198, 29,
        (89, 217, 280, 106, 273, 105, 294, 104, 219, 40, 265, 241, 41, 142, 218, 268, 225, 224, 39, 97, 282),
    ),
}  # fmt: skip

_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24  # Where they are in what the kernel shows.
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


def program(machine: Machine) -> bytes:
    """Instructions of eight bytes: code, how many to skip if so and if not, and a number."""
    lines = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, machine.audit), (_RETURN, 0, 0, _ERROR | ENOSYS)]
    lines += [(_LOAD, 0, 0, _NUMBER)]
    if machine.foreign:
        lines += [(_AT_LEAST, 0, 1, FOREIGN), (_RETURN, 0, 0, _ERROR | ENOSYS)]
    for numbers, error in ((RINGS, ENOSYS), ((*machine.denied, *MOUNTS), EPERM)):
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
    lines += [(_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
