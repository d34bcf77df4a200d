"""Starts the watched program as a child process that does not outlive us."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from linnet.errors import ConfigError


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a program. Raises ConfigError with a sentence if it cannot be started.

    On Linux the kernel kills it when the thread that called this is gone, so call it from the main thread. Elsewhere it
    ends only if we end it.
    """
    try:
        return subprocess.Popen(list(command), preexec_fn=_dies_with_us(), **options)
    except (FileNotFoundError, NotADirectoryError):
        raise ConfigError(f"{command[0]}: there is no such program") from None
    except PermissionError:
        raise ConfigError(f"{command[0]}: it may not be run") from None
    except OSError as error:
        raise ConfigError(f"{command[0]}: {error.strerror}") from None


def exit_code(returned: int) -> int:
    """Return the exit code as a shell would: 128 plus the signal's number, if one ended the program."""
    return returned if returned >= 0 else 128 - returned


def _dies_with_us() -> Callable[[], None] | None:
    """Return what a child calls before it becomes the program, so that it is killed when we are gone."""
    if sys.platform != "linux":
        return None
    from ctypes import CDLL  # Loaded before the fork: afterwards little is allowed.

    prctl = CDLL(None).prctl
    set_parent_death_signal = 1
    parent = os.getpid()

    def arm() -> None:
        prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # It was gone before the kernel was told.
            os._exit(1)

    return arm
