"""Imports an extension in Python, and calls its `extend`. What goes wrong is raised as a sentence."""

import os
import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING, Any

from linnet.errors import ConfigError
from linnet.extensions.host import Host
from linnet.extensions.loader import MODULES
from linnet.extensions.python.api import Linnet
from linnet.extensions.python.extension import PythonExtension, is_async
from linnet.extensions.python.workers import Broke, Call, Workers

if TYPE_CHECKING:
    from linnet.extensions.loader import FoundExtensions

NO_EXTEND = "it has no function extend(linnet)"


class _Fresh(SourceFileLoader):
    """Compiles the source, whatever was compiled before: bytecode does not show a change within the same second."""

    def path_stats(self, path: Any) -> Mapping[str, Any]:
        """Raise OSError, by which the import system knows that there is no bytecode to use."""
        raise OSError


def load(place: "FoundExtensions", name: str, host: Host, patience: float, hook_timeout: float) -> PythonExtension:
    """Return the extension, once it has registered all. Raises ConfigError; TimeoutError after `patience` seconds."""
    registered = register(place, name, host.flags, host.home, host.cwd, patience)
    return PythonExtension(registered, place.location, host, hook_timeout)


def register(
    place: "FoundExtensions", name: str, flags: Mapping[str, Any], home: str, cwd: str, patience: float
) -> Linnet:
    """Call its `extend`, and return what that registered. Raises as `load`.

    In a thread of its own, since nothing can interrupt an import.
    """
    linnet = Linnet(name, place.path, flags, home, cwd)
    workers = Workers()

    def work(call: Call[None]) -> None:
        if place.entry is not None:
            from importlib import import_module

            extend = getattr(import_module(place.entry.module), place.entry.function, None)
        else:
            extend = getattr(_module(place.path, name, of_project=place.location == "project"), "extend", None)
        if not callable(extend):
            raise ConfigError(NO_EXTEND)
        if is_async(extend):
            import asyncio

            asyncio.run(extend(linnet))
        else:
            extend(linnet)

    try:
        workers.call(work, None, patience)
    except (ConfigError, TimeoutError):
        raise
    except SyntaxError as fault:
        raise ConfigError(f"{type(fault).__name__}: {fault}") from None
    except Broke as fault:
        raise ConfigError(str(fault)) from None
    except Exception as fault:
        raise ConfigError(f"{type(fault).__name__}: {fault}{_where(fault, place.path)}") from None
    finally:
        workers.close()
    return linnet


def _module(path: str, name: str, *, of_project: bool) -> ModuleType:
    """Import a file or a package under a name that no other module has, and return the module.

    No bytecode is written into a project: it was trusted as it is.
    """
    full = MODULES + "".join(letter if letter.isalnum() else "_" for letter in name)
    package = None if path.endswith(".py") else path
    source = path if package is None else os.path.join(path, "__init__.py")
    again = full in sys.modules
    for each in [each for each in sys.modules if each == full or each.startswith(f"{full}.")]:
        del sys.modules[each]
    loader = (_Fresh if again or of_project else SourceFileLoader)(full, source)
    spec = ModuleSpec(full, loader, origin=source, is_package=package is not None)
    spec.has_location = True
    if package is not None:
        spec.submodule_search_locations = [package]
    module = ModuleType(full)
    module.__spec__, module.__loader__, module.__file__ = spec, loader, source
    module.__package__ = full if package is not None else ""
    if package is not None:
        module.__path__ = [package]
    sys.modules[full] = module
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, sys.dont_write_bytecode or of_project
    try:
        loader.exec_module(module)
    except BaseException:
        sys.modules.pop(full, None)
        raise
    finally:
        sys.dont_write_bytecode = before
    return module


def _where(fault: Exception, path: str) -> str:
    """Name the last line of the extension's own that the fault passed through; nothing if there is none."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    at, line = fault.__traceback__, 0
    file = ""
    while at is not None:
        if at.tb_frame.f_code.co_filename.startswith(folder):
            file, line = at.tb_frame.f_code.co_filename, at.tb_lineno
        at = at.tb_next
    return f" ({os.path.basename(file)}, line {line})" if file else ""
