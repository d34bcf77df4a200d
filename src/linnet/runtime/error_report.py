"""What went wrong, for whoever asked and for whoever looks after the program."""

from collections.abc import Callable
from contextlib import suppress
from threading import Thread, Timer

from linnet.errors import LinnetError
from linnet.logs import broke

AT_ITS_LIMITS = "the system is at its limits: it gives this process no further thread"


def as_error(fault: Exception, what: str) -> LinnetError:
    """An error with a sentence for the client. What nobody foresaw is logged, too."""
    return fault if isinstance(fault, LinnetError) else LinnetError(explained(fault, what))


def explained(fault: Exception, what: str) -> str:
    """A sentence for the client. What nobody foresaw is logged, too."""
    if isinstance(fault, LinnetError):
        return str(fault)
    if isinstance(fault, OSError) and fault.strerror:
        return f"{fault.strerror}: {fault.filename}" if fault.filename else fault.strerror
    broke(__name__, what)
    return f"internal error: {fault!r}"


def start(thread: Thread) -> None:
    """Raises LinnetError where the system is at its limits: whoever asked can be told, and try again later."""
    try:
        thread.start()
    except RuntimeError:
        raise LinnetError(AT_ITS_LIMITS) from None


def hand_over(name: str, function: Callable[[], None]) -> None:
    """Have a thread call this that waits for work, or else a new one. Raises LinnetError, as `start` does."""
    from linnet.concurrency.threads import parked

    try:
        parked.hand_over(function, name=name)
    except RuntimeError:
        raise LinnetError(AT_ITS_LIMITS) from None


def park() -> None:
    """See that threads wait for what is handed over. Where the system gives none, whoever hands over will be told."""
    from linnet.concurrency.threads import KEPT, parked

    with suppress(RuntimeError):
        parked.park(KEPT)


def later(seconds: float, act: Callable[[], None]) -> Timer:
    """Return a timer that has been started. Raises LinnetError, as `start` does."""
    timer = Timer(seconds, act)
    timer.name, timer.daemon = "linnet-timer", True
    start(timer)
    return timer
