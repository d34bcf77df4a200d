"""Merges layers of configuration into one."""

from collections.abc import Mapping
from typing import Any

from linnet.runtime.config.config import DEFAULT_PROVIDER, PLAYERS, ROWS, Config

_COLLECTED = tuple(name for name, row in ROWS.items() if row.collected)


def layered(*layers: Config) -> Config:
    """Merge layers, the weakest first, into one: of each field, the last layer that says something wins.

    Rules, templates, skills and extensions are collected from all layers, and MCP servers by name. A layer that names a
    provider drops the model and the address of the layers below that are meant for another one.
    """
    said: dict[str, Any] = {}
    for layer in layers:
        values = ((name, getattr(layer, name)) for name in Config.__struct_fields__)
        own = {name: value for name, value in values if value is not None}
        if _other_provider(own, said):
            for name in ("provider", "model", "base_url", "api"):
                said.pop(name, None)
        if "mcp_servers" in own:
            own["mcp_servers"] = {**said.get("mcp_servers", {}), **own["mcp_servers"]}
        said.update(own)
    for name in _COLLECTED:
        if added := [each for layer in layers for each in getattr(layer, name) or ()]:
            said[name] = added
    return Config(**said)


def _other_provider(own: Mapping[str, Any], below: Mapping[str, Any]) -> bool:
    """Return whether this layer and those below it name different providers."""
    named = all(said.keys() & {"provider", *PLAYERS} for said in (own, below))
    return named and provider_of(own) != provider_of(below)


def provider_of(said: Mapping[str, Any]) -> str:
    """Return the provider that a layer means: the one that it names, that of the script or the recording that it names,
    or the default.
    """
    played = [name for field, name in PLAYERS.items() if said.get(field) is not None]
    named = said.get("provider")
    return getattr(named, "name", named) or (played[0] if played else DEFAULT_PROVIDER)
