"""What a setting is called by whom, and all else that there is to know about it.

A sentence about a setting is written once, with the name that its reader knows.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

Spelling: TypeAlias = Callable[[str], str]
"""Given a field of the configuration, its name for whoever configures the agent: a flag, or a keyword of the SDK.
`no_session` and `no_mcp` stand for a `save` and an `mcp` that are false.
"""

_KEYWORDS = {"no_session": "save=False", "no_mcp": "mcp=False"}


def keyword(field: str) -> str:
    """Return what a field is called in the SDK."""
    return _KEYWORDS.get(field, field)


class Row(Struct, frozen=True):
    """What there is to know about a setting, besides its name and type.

    `about`: one phrase that says what it means. `flags`: how it is spelled on the command line, with what `--help` says
    of each if that is not `about`. A flag is one or more names and a word for its value; without such a word it means
    true, or false or an empty list if it begins with `--no`. `repeatable`: it may be given more than once.

    `default`: what holds unless somebody says otherwise; `otherwise`: the same in words, where nothing is said.
    `habits`: what holds instead for the protocols zot, pi and pi_legacy, for the sdk, and for linnet-zot and linnet-pi.

    `no_key`: why it cannot be said in `settings.json`. `project`: a trusted project may say it there. All else is the
    user's: where a key is sent, what may run, what is trusted. `guards`: without it more may be done, so that who has
    misspelt the key is told before anything is. `collected`: what all layers say counts, not only the last word.
    """

    about: str
    flags: str | Mapping[str, str] = ""
    default: Any = None
    otherwise: str = ""
    habits: Mapping[str, Any] = {}
    no_key: str = ""
    project: bool = False
    guards: bool = False
    collected: bool = False
    repeatable: bool = False

    def spelled(self) -> Mapping[str, str]:
        """Return what `--help` says of each flag."""
        flags, default = self.flags, self.default
        if not isinstance(flags, str):
            return flags
        said = self.otherwise
        if isinstance(default, int | float) and not isinstance(default, bool):
            said = f"{default:g}" if isinstance(default, float) else str(default)
        return {flags: f"{self.about} (default: {said})" if said else self.about} if flags else {}
