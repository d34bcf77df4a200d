"""Events about the extensions, settings and other files that a project brings, and whether they are trusted."""

from msgspec import Struct


class Brought(Struct, frozen=True):
    """Something that a project brings."""

    kind: str  # extension, template, skill, settings, mcp or system_prompt.
    path: str


class ProjectUntrusted(Struct, frozen=True):
    """Nobody has said whether this folder is trusted, so what was `found` in it is left out."""

    path: str
    found: tuple[Brought, ...]
    changed: tuple[str, ...] = ()  # Files that are not as they were when the folder was trusted.


class ProjectTrustSet(Struct, frozen=True):
    """What the project brings is used from now on, or no longer. Told only while no job is active."""

    trusted: bool
