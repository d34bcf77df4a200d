"""What a session says was last used in it: a model, a level of thinking."""

from typing import TYPE_CHECKING, get_args

from linnet.core.events import ModelSet, Setting, ThinkingSet
from linnet.core.models import Reasoning
from linnet.errors import ConfigError, UnknownModel

if TYPE_CHECKING:
    from linnet.runtime.accounts import Accounts
    from linnet.runtime.sessions import Place


def remembered(place: "Place", accounts: "Accounts") -> tuple[list[Setting], str]:
    """What is to be set again, and why the model cannot be, if it cannot."""
    settings: list[Setting] = [ThinkingSet(level) for level in get_args(Reasoning) if level == place.thinking]
    if place.model is None:
        return settings, ""
    try:
        model = accounts.choose(place.model.provider, place.model.model, unlisted=True)
    except ConfigError as error:
        reason = "" if isinstance(error, UnknownModel) else f" ({error})"
        return settings, f"the session's model {place.model.provider}/{place.model.model} cannot be used here{reason}"
    return [ModelSet(model), *settings], ""
