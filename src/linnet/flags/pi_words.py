"""Says what is wrong with a command line, or with what it names, as pi does: clients look for its words on stderr."""

from linnet.errors import Contradiction, UnknownModel, UnknownProvider
from linnet.flags.flags import BadValue, UnknownFlag
from linnet.runtime.settings.session_options import BadSessionId
from linnet.store.session_folder import NoSuchSession

_LEADING = ("--fork", "--session-id")


def in_pis_words(error: Exception) -> str:
    """Return the sentence that pi says for this; linnet's own, where pi has none."""
    match error:
        case UnknownFlag(name=name):
            return f"Unknown option: {name}"
        case BadValue(name="--mode", value=None):
            return "--mode requires text, json, or rpc"
        case BadValue(name="--mode", value=value):
            return f'Invalid mode "{value}". Valid values: text, json, rpc'
        case BadValue(name="--name" | "-n" as name, value=None):
            return f"{name} requires a value"
        case Contradiction(flags=flags) if any(flag in _LEADING for flag in flags):
            first = next(flag for flag in _LEADING if flag in flags)
            return f"{first} cannot be combined with {', '.join(flag for flag in flags if flag != first)}"
        case BadSessionId():
            return (
                "Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', and start and "
                "end with an alphanumeric character"
            )
        case NoSuchSession(word=word):
            return f"No session found matching '{word}'"
        case UnknownProvider(name=name):
            return f'Unknown provider "{name}". Use --list-models to see available providers/models.'
        case UnknownModel(name=name):
            return f'Model "{name}" not found. Use --list-models to see available models.'
        case _:
            return str(error)
