"""What whoever configures the agent calls a setting: a flag of the command line, or a keyword of the SDK.

A sentence about a setting is written once, with the name that its reader knows.
"""

from collections.abc import Callable
from typing import TypeAlias

Spelling: TypeAlias = Callable[[str], str]
"""Given a field of the configuration, its name; `no_session` and `no_mcp` stand for a `save` and an `mcp` that are
false.
"""

_FLAGS = {
    "resume": "--continue",
    "template_paths": "--prompt-template",
    "skill_paths": "--skill",
    "extensions": "--extension",
    "find_extensions": "--no-extensions",
    "context_files": "--no-context-files",
    "templates": "--no-prompt-templates",
    "skills": "--no-skills",
    "sandbox_extensions": "sandbox_extensions",
}
_KEYWORDS = {"no_session": "save=False", "no_mcp": "mcp=False"}


def flag(field: str) -> str:
    return _FLAGS.get(field) or "--" + field.replace("_", "-")


def keyword(field: str) -> str:
    return _KEYWORDS.get(field, field)
