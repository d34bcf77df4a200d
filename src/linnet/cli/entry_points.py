"""The entry points of the three executables. They prepare the process such that the first answer comes soon."""

import _datetime  # type: ignore[import-not-found]
import _signal  # type: ignore[import-not-found]  # `signal` takes 5 ms more, for names of constants.
import _sre  # type: ignore[import-not-found]
import gc
import os
import sys

TYPE_CHECKING = False  # As in `linnet/__init__.py`: what `typing` makes should not be looked through for garbage.
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, NoReturn
else:
    ModuleType = type(sys)


def main() -> "NoReturn":
    prepare()
    from linnet.cli.main import main

    main()


def pi() -> "NoReturn":
    """Run `linnet-pi`, for clients that spawn pi. What it starts is told so, as by pi."""
    prepare()
    os.environ |= {"PI_CODING_AGENT": "true", "AI_AGENT": "pi"}
    from linnet.cli.main import main
    from linnet.flags.drop_in import PI

    main(PI)


def zot() -> "NoReturn":
    """Run `linnet-zot`, for clients that spawn zot."""
    prepare()
    from linnet.cli.main import main
    from linnet.flags.drop_in import ZOT

    main(ZOT)


def prepare() -> None:
    """Undo what whoever starts us did to signals, and save time where it is safe. To be called before other imports."""
    # Whoever starts us may block or ignore signals, those that tell of a child's end among them.
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    gc.disable()  # Nothing that is made while starting is garbage. The server turns it on again.
    _import_msgspec()


def _import_msgspec() -> None:
    """Import it, and typing, without what they import for others: 20 ms where typing_extensions is installed, else 10.

    What is hidden can be imported afterwards, by whoever needs it.
    """
    absent: Any = None  # For type hints that linnet does not use.
    system, schemas, patterns = ModuleType("platform"), ModuleType("msgspec._json_schema"), ModuleType("re")
    vars(system)["system"] = lambda: os.uname().sysname  # All that `uuid` asks it.
    vars(schemas).update({name: _later(schemas.__name__, name) for name in ("schema", "schema_components")})
    matching = _sre.compile("", 0, [1], 0, {}, ())  # One that only succeeds: the types are all that is asked for.
    vars(patterns).update(Pattern=type(matching), Match=type(matching.match("")), compile=_later("re", "compile"))
    others = [_Later(f"msgspec.{name}") for name in ("inspect", "msgpack", "toml", "yaml")]
    instead = {"typing_extensions": absent, "datetime": _datetime}  # `datetime` is that, and the same in Python.
    instead |= {each.__name__: each for each in (system, schemas, patterns, *others)}
    hiding = [name for name in instead if name not in sys.modules]
    sys.modules.update({name: instead[name] for name in hiding})
    import typing

    real = typing.ForwardRef
    vars(typing)["ForwardRef"] = lambda *args, **kwargs: None  # Only what it takes is tried; to make one takes 2 ms.
    import msgspec  # noqa: F401

    vars(typing)["ForwardRef"] = real
    for name in hiding:
        del sys.modules[name]


class _Later(ModuleType):
    """Stands for a module, which is imported when something of it is used."""

    def __getattr__(self, name: str) -> "Any":
        return getattr(_imported(self.__name__), name)


def _later(module: str, name: str) -> "Callable[..., Any]":
    return lambda *args, **kwargs: getattr(_imported(module), name)(*args, **kwargs)


def _imported(name: str) -> ModuleType:
    __import__(name)
    return sys.modules[name]
