"""Extensions in Python: a file or a package with a function `extend(linnet)`.

from linnet.extensions.python import Context, Linnet  # For annotations; nothing else need be imported.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linnet.extensions.python.api import Linnet as Linnet
    from linnet.extensions.python.context import Context as Context

__all__ = ["Context", "Linnet"]


def __getattr__(name: str) -> Any:
    if name == "Linnet":
        from linnet.extensions.python.api import Linnet

        return Linnet
    if name == "Context":
        from linnet.extensions.python.context import Context

        return Context
    raise AttributeError(name)
