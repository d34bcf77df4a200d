"""The versions of the protocol that are spoken, as a table, and what is said of oneself in each."""

from typing import Any

VERSIONS = (1,)
"""A connection speaks one of them; the last is the newest."""


def answered(asked: int | str) -> int:
    """Return the version that is spoken with a client that asks for this one."""
    return asked if isinstance(asked, int) and asked in VERSIONS else VERSIONS[-1]


def capabilities(*, saves: bool) -> dict[str, Any]:
    """Return what can be done; `saves`: sessions are kept."""
    kept = ("resume", "list", "delete", "fork") if saves else ()
    session: dict[str, Any] = {name: {} for name in ("close", *kept)}
    return {
        "loadSession": saves,
        "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
        "mcpCapabilities": {"http": True, "sse": False},
        "sessionCapabilities": session,
        "auth": {},
    }


def auth_methods(*, terminal: bool) -> list[dict[str, Any]]:
    """Return the ways to log in; `terminal`: the client can start a command in one."""
    keys = {
        "id": "linnet-keys",
        "name": "Keys that are there",
        "description": "Use the variables (ANTHROPIC_API_KEY, …) and what `linnet login PROVIDER` has kept",
    }
    login = {
        "id": "linnet-login",
        "name": "Log in with a key",
        "description": "Choose a provider and enter its API key in a terminal",
        "type": "terminal",
        "args": ["--login"],
    }
    return [keys, login] if terminal else [keys]
