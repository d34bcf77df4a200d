"""`linnet serve`: any number of agents in one process, for any number of clients.

`app` is an ASGI application that has the agents of the usual state folder, and `App` the same, to be configured. Both
need the extra `[serve]`, and nothing else here does.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linnet.serve.http.app import App as App

    app: App

_made: dict[str, Any] = {}


def __getattr__(name: str) -> Any:
    if name not in ("App", "app"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from linnet.serve.http.app import App
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("linnet"):
            raise
        sentence = (
            f"linnet.serve.{name} needs the extra `serve`: pip install 'linnet-agent[serve]' ({error.name} is missing)"
        )
        raise ModuleNotFoundError(sentence, name=error.name) from None

    if name == "App":
        return App
    if "app" not in _made:
        _made["app"] = App()
    return _made["app"]
