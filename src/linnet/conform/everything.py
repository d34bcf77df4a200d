"""All checks, and the choice among them."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from linnet.conform.check import Check, Dialect
from linnet.errors import ConfigError


class UnknownCheck(ConfigError):
    """No check is called so."""

    code = "usage"


def all_checks(dialect: Dialect) -> list[Check]:
    """Return the checks of a dialect, those of one scene together, in a fixed order."""
    from linnet.conform.tables import TABLES

    found = [check for table in TABLES for check in table.checks if dialect in check.dialects]
    places: dict[str, int] = {}
    for check in found:
        places.setdefault(check.scene.name, len(places))
    return sorted(found, key=lambda check: places[check.scene.name])


def chosen(dialect: Dialect, words: Sequence[str]) -> list[Check]:
    """Return the checks that these words mean, all if there are none. Raises UnknownCheck."""
    checks = all_checks(dialect)
    meant: set[str] = set()
    for word in words:
        ids = {check.id for check in checks if _means(word, check.id)}
        if not ids:
            raise UnknownCheck(f"no check of {dialect} is called {word!r}; --list shows all")
        meant |= ids
    return [check for check in checks if check.id in meant] if words else checks


def _means(word: str, id: str) -> bool:
    return fnmatchcase(id, word) if "*" in word else f"{id}.".startswith(f"{word}.")
