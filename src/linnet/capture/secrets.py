"""Knows what else must not be in a capture: the secrets of a command line, and of a request. Pure."""

import re
from collections.abc import Sequence

from linnet.capture.record import as_object
from linnet.core.text.known_secrets import is_secret_name

_FIELDS = re.compile(r"(?:^|[a-z_-])(?:key|token|secret|password)$", re.IGNORECASE)


def of_flags(argv: Sequence[str]) -> list[str]:
    """Return the secrets in `--api-key VALUE`, `--api-key=VALUE`, and `NAME_KEY=VALUE` as `env` takes it."""
    found = []
    for word, following in zip(argv, [*argv[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if is_secret_name(name.lstrip("-")) and (equals or word.startswith("-")):
            found.append(value if equals else following)
    return found


def of_request(line: bytes) -> list[str]:
    """Return the secrets in a request, by the names of its fields, such as in the `hello` of the zot protocol."""
    fields = as_object(line) or {}
    return [value for name, value in fields.items() if isinstance(value, str) and _FIELDS.search(name)]
