"""Turns exceptions into errors for clients, and starts threads so that a system without any is such an error, too."""

from collections.abc import Callable
from contextlib import suppress
from threading import Thread, Timer

from linnet.errors import LinnetError
from linnet.logs import broke

AT_ITS_LIMITS = "the system is at its limits: it gives this process no further thread"


def as_error(fault: Exception, what: str) -> LinnetError:
    """Return the exception as an error for the client. What is no LinnetError or OSError is logged as a bug
    in `what`.
    """
    return fault if isinstance(fault, LinnetError) else LinnetError(explained(fault, what))


def explained(fault: Exception, what: str) -> str:
    """Return a sentence for the client. What is no LinnetError or OSError is logged as a bug in `what`."""
    if isinstance(fault, LinnetError):
        return str(fault)
    if isinstance(fault, OSError) and fault.strerror:
        return f"{fault.strerror}: {fault.filename}" if fault.filename else fault.strerror
    broke(__name__, what)
    return f"internal error: {fault!r}"


def start(thread: Thread) -> None:
    """Start the thread. Raises LinnetError if the system gives none: whoever asked is told, and may try again later."""
    try:
        thread.start()
    except RuntimeError:
        raise LinnetError(AT_ITS_LIMITS) from None


def hand_over(name: str, function: Callable[[], None]) -> None:
    """Call the function in a thread that waits for work, or in a new one if none does. Raises LinnetError as `start`
    does.
    """
    from linnet.concurrency.threads import parked

    try:
        parked.hand_over(function, name=name)
    except RuntimeError:
        raise LinnetError(AT_ITS_LIMITS) from None


def park() -> None:
    """Start the threads that wait for work. If the system gives none, `hand_over` will raise that."""
    from linnet.concurrency.threads import KEPT, parked

    with suppress(RuntimeError):
        parked.park(KEPT)


def later(seconds: float, act: Callable[[], None]) -> Timer:
    """Return a started timer that calls `act` after so many seconds. Raises LinnetError as `start` does."""
    timer = Timer(seconds, act)
    timer.name, timer.daemon = "linnet-timer", True
    start(timer)
    return timer
