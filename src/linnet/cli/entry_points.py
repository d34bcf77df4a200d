"""The entry points of the three executables. They prepare the process such that the first answer comes soon."""

import _signal  # type: ignore[import-not-found]  # `signal` takes 5 ms more, for names of constants.
import gc
import sys
from typing import Any, NoReturn


def main() -> NoReturn:
    prepare()
    from linnet.cli.main import main

    main()


def pi() -> NoReturn:
    """Run `linnet-pi`, for clients that spawn pi."""
    prepare()
    from linnet.cli.drop_in import PI
    from linnet.cli.main import main

    main(PI)


def zot() -> NoReturn:
    """Run `linnet-zot`, for clients that spawn zot."""
    prepare()
    from linnet.cli.drop_in import ZOT
    from linnet.cli.main import main

    main(ZOT)


def prepare() -> None:
    """Undo what whoever starts us did to signals, and save time where it is safe. To be called before other imports."""
    # Whoever starts us may block or ignore signals, those that tell of a child's end among them.
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    gc.disable()  # Nothing that is made while starting is garbage. The server turns it on again.
    # Where typing_extensions is installed msgspec imports it, at 10 ms, for type hints that linnet does not use.
    absent: Any = None
    hiding = "typing_extensions" not in sys.modules
    if hiding:
        sys.modules["typing_extensions"] = absent
    import msgspec  # noqa: F401

    if hiding:
        del sys.modules["typing_extensions"]
