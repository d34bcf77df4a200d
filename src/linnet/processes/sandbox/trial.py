"""Tries a sandbox before the first command is run in it: by a script that tries to get out."""

import os
import subprocess
from collections.abc import Sequence

from linnet.errors import ConfigError

PATIENCE = 10.0  # Seconds.
SHOWN = 300  # Characters of what went wrong.
# Nothing but what every shell can do by itself: who knows which programs are seen in there.
SCRIPT = """
echo began
(while read -r line; do echo "outside: $line"; done < "$1") 2>/dev/null
(echo changed > "$1") 2>/dev/null
(echo written > "$2/trial") 2>/dev/null
while read -r line; do echo "status: $line"; done < /proc/self/status
while read -r line; do echo "device: $line"; done < /proc/net/dev
echo ended
"""


def argv(outside: str, temporary: str) -> list[str]:
    """Return the command that tries: it must not see the file `outside`, and must be able to write to `temporary`."""
    return ["/bin/sh", "-c", SCRIPT, "sh", outside, temporary]


def check(command: Sequence[str], fds: Sequence[int], outside: str, temporary: str, *, alone: bool, flag: str) -> None:
    """Run `command`, which is `argv` in a sandbox, with `fds` inherited, and check what it could do.

    With `alone`, it should have no network. Raises ConfigError with a sentence that begins with `flag`.
    """
    word = os.urandom(16).hex()
    with open(outside, "w", encoding="ascii") as file:
        file.write(f"{word}\n")
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={"PATH": "/usr/bin:/bin"},
            pass_fds=tuple(fds),
            timeout=PATIENCE,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"{flag} cannot be kept here: {command[0]} does not run: {error}") from None
    printed = done.stdout.decode(errors="replace")
    with open(outside, encoding="utf-8", errors="replace") as file:
        kept = file.read() == f"{word}\n"
    wrote = os.path.exists(os.path.join(temporary, "trial"))
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())[:SHOWN]
        raise ConfigError(f"{flag} cannot be kept here: {said or f'{command[0]} failed'}")
    if wrong := problem(printed, word, kept=kept, wrote=wrote, alone=alone):
        raise ConfigError(f"{flag} cannot be kept here: {command[0]} was tried, and {wrong}")
    os.unlink(os.path.join(temporary, "trial"))


def problem(printed: str, word: str, *, kept: bool, wrote: bool, alone: bool) -> str:
    """Say what is wrong with a sandbox whose command printed this; nothing if it is in order. Pure."""
    lines = printed.splitlines()
    said = {line.partition(": ")[2] for line in lines if line.startswith("status: ")}
    facts = {name: rest.strip() for name, _, rest in (line.partition(":") for line in said)}
    devices = [line.split(":")[1].strip() for line in lines if line.startswith("device: ") and line.count(":") > 1]
    if word in printed:
        return "a command in it can read files outside"
    if not kept:
        return "a command in it can change files outside"
    if lines[:1] != ["began"] or lines[-1:] != ["ended"]:
        return "it did not run the command"
    if not wrote:
        return "a command in it cannot write to its own temporary folder"
    if facts.get("Seccomp") != "2" or facts.get("NoNewPrivs") != "1":
        return "a command in it can make every call to the kernel"
    if alone and devices != ["lo"]:
        return "a command in it is not kept from the network"
    return ""
