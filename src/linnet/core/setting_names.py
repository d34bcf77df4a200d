"""The description of a setting, and its name for each kind of reader: a flag, a keyword, a key in a file.

A sentence about a setting is written once, with the name that its reader knows.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, ParamSpec, TypeAlias

from msgspec import Struct

Mode: TypeAlias = Literal["auto", "ask", "read-only", "deny"]
"""What happens to tool calls that no rule matches."""
Spelling: TypeAlias = Callable[[str], str]
"""Returns the name of a field of the configuration for whoever configures the agent: a flag, or a keyword of the SDK.
`no_session` and `no_mcp` stand for a `save` and an `mcp` that are false.
"""

_KEYWORDS = {"no_session": "save=False", "no_mcp": "mcp=False"}


def keyword(field: str) -> str:
    """Return what a field is called in the SDK."""
    return _KEYWORDS.get(field, field)


class Row(Struct, frozen=True):
    """What there is to know about a setting, besides its name and type."""

    about: str
    """One phrase that says what it means."""
    flags: str | Mapping[str, str] = ""
    """How it is spelled on the command line, with what `--help` says of each flag if that is not `about`.

    A flag is one or more names and a word for its value; without such a word it means true, or false or an empty list
    if it begins with `--no`.
    """
    default: Any = None
    """What holds unless somebody says otherwise."""
    otherwise: str = ""
    """The same in words, where `default` says nothing."""
    habits: Mapping[str, Any] = {}
    """What holds instead for the protocols zot, pi and pi_legacy, for the sdk, for linnet-zot and linnet-pi, and for
    linnet-pi where it stands in for a pi from 0.73 on (linnet-pi-today).
    """
    no_key: str = ""
    """Why it cannot be said in `settings.json`; empty if it can."""
    project: bool = False
    """A trusted project may say it there. All else is the user's: where a key is sent, what may run, what is trusted.
    """
    guards: bool = False
    """Without it more may be done: whoever has misspelt its key is told so before anything is done."""
    collected: bool = False
    """What all layers say counts, not only the last word."""
    repeatable: bool = False
    """Its flag may be given more than once."""

    def spelled(self) -> Mapping[str, str]:
        """Return what `--help` says of each flag."""
        flags, default = self.flags, self.default
        if not isinstance(flags, str):
            return flags
        said = self.otherwise
        if isinstance(default, int | float) and not isinstance(default, bool):
            said = f"{default:g}" if isinstance(default, float) else str(default)
        return {flags: f"{self.about} (default: {said})" if said else self.about} if flags else {}


P = ParamSpec("P")


def collecting(make: Callable[P, Row], rows: list[Row]) -> Callable[P, Any]:
    """Return a function that takes what a Row takes, and keeps that row. It is typed Any, to be a field's default."""

    def row(*args: P.args, **kwargs: P.kwargs) -> None:
        """Keep a row for the field that this is assigned to, and return None, its default: nothing is said."""
        rows.append(make(*args, **kwargs))

    return row
