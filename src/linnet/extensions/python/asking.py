"""Makes the core's commands from the names that extensions call them by, such as `new_session` for NewSession."""

import re
from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from linnet.core import commands
from linnet.decoding import converted
from linnet.errors import BadInput

_NOT_FOR_EXTENSIONS = (commands.Hello, commands.RunCommand, commands.Reload)


def names() -> dict[str, type[msgspec.Struct]]:
    """Return the commands that extensions may give, by name."""
    kinds = (kind for kind in get_args(commands.Command) if kind not in _NOT_FOR_EXTENSIONS)
    return {re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in kinds}


def asked(name: str, fields: Mapping[str, Any]) -> commands.Command:
    """Return the command with these fields. Raises BadInput if there is no such command, or a field does not fit."""
    known = names()
    if name not in known:
        raise BadInput(f'no command is called "{name}"; choose one of {", ".join(sorted(known))}')
    kind = known[name]
    unknown = sorted(set(fields) - set(kind.__struct_fields__))
    if unknown:
        raise BadInput(
            f"{name} takes no {', '.join(unknown)}; it takes {', '.join(kind.__struct_fields__) or 'nothing'}"
        )
    try:
        command: commands.Command = converted(fields, kind)  # type: ignore[assignment]
    except msgspec.ValidationError as error:
        raise BadInput(f"{name}: {error}") from None
    return command
