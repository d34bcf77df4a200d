"""Chooses the dialect that is spoken, by flags, by a variable and by the program's name, and makes it."""

import os

from linnet.flags.flags import Flags, Program, UsageError
from linnet.wire.dialect import Dialect

VARIABLE = "LINNET_PI_VERSION"


def chosen(flags: Flags, program: Program, otherwise: str) -> str:
    """Return the name of the dialect that is asked for, or else the program's. Raises UsageError."""
    if flags.pi_version is None and flags.dialect is not None:
        return flags.dialect
    version = _asked_version(flags, program)
    if version is None:
        return program.dialect or otherwise
    from linnet.wire.pi.generations import spoken_by

    found = spoken_by(version).name
    if flags.dialect not in (None, found):
        raise UsageError(f"--pi-version {version} speaks {found}, and --dialect says {flags.dialect}; give one of them")
    return found


def stood_in_for(flags: Flags, program: Program) -> str:
    """Return the version of pi that it speaks as: the one that was asked for, if all of it was said."""
    from linnet.wire.pi.generations import GENERATIONS, NAMES, named, spoken_by

    chosen(flags, program, "")  # What contradicts itself has no version.
    version = _asked_version(flags, program) if flags.pi_version is not None or flags.dialect is None else None
    if version is not None:
        return version if version.count(".") == 2 else spoken_by(version).version
    name = flags.dialect or program.dialect
    return named(name).version if name in NAMES else GENERATIONS[-1].version


def made(flags: Flags, name: str, *, shared: bool = False) -> Dialect:
    """Return the dialect of this name. With `shared`, its client is not the only one of its agent."""
    if name == "zot":
        from linnet.wire.zot.dialect import Zot

        return Zot(show_thinking=flags.show_thinking, shared=shared)
    if name == "pi-legacy":
        from linnet.wire.pi_legacy.dialect import PiLegacy

        return PiLegacy(stream=flags.stream)
    from linnet.wire.pi.dialect import Pi
    from linnet.wire.pi.generations import named

    return Pi(named(name), stream=flags.stream, settled=flags.settled, shared=shared)


def _asked_version(flags: Flags, program: Program) -> str | None:
    """Return the version of pi that the flag names, or else the variable, which is for `linnet-pi`. Raises UsageError
    if it is none.
    """
    if flags.pi_version is not None or program.stands_in_for != "pi":
        return flags.pi_version
    said = os.environ.get(VARIABLE)
    if not said:
        return None
    from linnet.wire.pi.generations import spoken_by

    try:
        spoken_by(said)
    except ValueError as error:
        raise UsageError(f"{VARIABLE} must be {error}, not {said!r}") from None
    return said.removeprefix("v")
