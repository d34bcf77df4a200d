"""Clients of the vendors' APIs: they send a request and stream the reply as deltas. They know no sessions or tools."""

from typing import Any


def provider_module(name: str) -> Any:
    """Return the module of this layer that a row of its tables names. Most runs need one of them, and none at first."""
    from importlib import import_module

    return import_module(f"linnet.providers.{name}")
