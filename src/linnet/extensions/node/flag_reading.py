"""Loads extensions for pi without a session, to know the flags that they register."""

from collections.abc import Mapping, Sequence
from threading import Event as Signal
from typing import Any

from linnet.errors import Closed, ConfigError
from linnet.extensions.node import frames
from linnet.extensions.node.carrier import host_settings
from linnet.extensions.node.link import Link
from linnet.extensions.node.node_program import node_program
from linnet.extensions.programs.log import ExtensionLog
from linnet.processes.process import Processes

NO_SESSION = "there is no session yet"


def registered(
    paths: Sequence[str], cwd: str, environ: Mapping[str, str], patience: float
) -> dict[str, tuple[str, Any]]:
    """Return the flags of the extensions in these files: a description and a default by name, False for one that is
    given alone. Those of an extension that cannot be loaded are missing: the session will say why.
    """
    known: dict[str, tuple[str, Any]] = {}
    over = Signal()

    def heard(frame: frames.Incoming) -> None:
        match frame:
            case frames.Offers(flags=flags):
                known.update({each.name: (each.description, _default(each)) for each in flags})
            case frames.Call(id, _, "ownTool", args):
                link.send(frames.Return(id, _own_tool(str(args.get("name")))))
            case frames.Call(id):
                link.send(frames.Return(id, error=NO_SESSION))
            case frames.Ready() | frames.Ended():
                over.set()
            case _:
                pass

    link = Link(ExtensionLog("/dev/null"), heard)
    processes = Processes()
    try:
        link.start(processes, node_program(environ), cwd)
        link.send(frames.Start(list(paths), host_settings(cwd)))
        over.wait(patience)
    except (ConfigError, Closed, OSError, ValueError):
        pass
    finally:
        link.end(frames.End(), 0)
        processes.close()
    return known


def _default(flag: frames.OfferedFlag) -> Any:
    """Return the default by which the command line knows whether the flag has a value."""
    return False if flag.type == "boolean" else str(flag.default or "")


def _own_tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": "", "parameters": {"type": "object", "properties": {}}}
