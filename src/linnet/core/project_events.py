"""What a project brings, and what was said about it: events, apart since most projects bring nothing."""

from msgspec import Struct


class Brought(Struct, frozen=True):
    """Something that a project brings. `kind`: extension, template, skill, settings, mcp or system_prompt."""

    kind: str
    path: str


class ProjectUntrusted(Struct, frozen=True):
    """Nobody has said whether this folder is trusted, so what was `found` in it is left out. `changed` are the files
    that are not as they were when it was trusted.
    """

    path: str
    found: tuple[Brought, ...]
    changed: tuple[str, ...] = ()


class ProjectTrustSet(Struct, frozen=True):
    """What the project brings is used from now on, or no longer. No job is active."""

    trusted: bool
