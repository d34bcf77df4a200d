"""Opens the session that an agent begins with, and chooses its model and level of thinking."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from linnet.core.events import ModelSet, SessionEntered, ThinkingSet
from linnet.errors import ConfigError, MissingKey
from linnet.runtime.sessions.storage import Storage
from linnet.runtime.settings.settings import LiveSettings, Settings, lacking_key
from linnet.runtime.state import SessionState

if TYPE_CHECKING:
    from linnet.runtime.sessions.places import Place, Sessions
    from linnet.runtime.sessions.telling import Telling
    from linnet.store.factory import LogFactory

LEAVING = 1.0  # Seconds to close a session that could not be used, if its log may wait.


def sessions_of(
    live: LiveSettings,
    clock: Callable[[], int],
    new_id: Callable[[], str],
    new_session_id: Callable[[], str],
    logs: "LogFactory | None" = None,
    telling: "Telling | None" = None,
) -> "Sessions":
    """Return the sessions that an agent may open and make; the arguments are those of Session and Sessions."""
    from linnet.runtime.sessions.places import Sessions
    from linnet.store.store import EntrySources

    return Sessions(live, EntrySources(clock, new_id, live.now.session_format), new_session_id, logs, telling)


def open_first(settings: Settings, state: SessionState, storage: Storage, sessions: "Sessions") -> list[str]:
    """Open the session that the command line asked for. Returns sentences for whoever started the program.

    Raises SessionError or ConfigError if it cannot be used, and then nothing is left behind.
    """
    storage.sessions = sessions
    try:
        place = sessions.begin()
        try:
            unusable = _choose(settings, state, place)
            state.apply(storage.enter(place, state.model, state.asked_thinking))
            if settings.sessions.name is not None:
                storage.kept.name(settings.sessions.name)
        except BaseException:
            place.discard()
            raise
    except BaseException:
        if storage.broadcast is not None:
            storage.broadcast.close(LEAVING)
        raise
    sessions.note(place.store)
    remarks = [*sessions.remarks]
    if place.problem:
        remarks.append(f"this session is not saved: {place.problem}")
    if unusable:
        remarks.append(f"{unusable}; going on with {state.model.provider}/{state.model.id}")
    return [*remarks, *_lacking(settings, state)]


def begin_unsaved(
    settings: Settings, state: SessionState, storage: Storage, sessions: "Callable[[], Sessions]", id: str, now: int
) -> list[str]:
    """Begin a new session that is not saved. Its entries are made when somebody asks for them or adds one: the first
    answer need not wait for all that writes them. Otherwise as `open_first`; `id` is the session's.
    """
    try:
        if settings.needs_key:
            settings.accounts.require(state.model.provider)
    except BaseException:
        if storage.broadcast is not None:
            storage.broadcast.close(LEAVING)
        raise
    model, thinking = state.model, state.asked_thinking

    def begin() -> None:
        storage.sessions = found = sessions()
        storage.enter(found.begin_unsaved(id, now), model, thinking)

    storage.begin_later(begin)
    state.apply(SessionEntered(session_id=id, reason="startup"))
    return _lacking(settings, state)


def _lacking(settings: Settings, state: SessionState) -> list[str]:
    """Return what is said of a key that is missing and not needed yet, unless it was said."""
    if settings.needs_key:
        return []
    lacking = lacking_key(settings.accounts, state.model, needed=False)
    return [each for each in lacking if each not in settings.remarks]


def _choose(settings: Settings, state: SessionState, place: "Place") -> str:
    """Set the model and the level of thinking: those of the command line, or else those that the session used last.
    Returns why the session's model cannot be used, if it cannot and nobody asked for another; else an empty string.

    Raises ConfigError if the provider's key is missing and needed.
    """
    from linnet.runtime.sessions.places import remembered

    remembers, unusable = remembered(place, settings.known_models)
    other = place.model is not None and place.model.provider != settings.model.provider
    asked = settings.asked
    if asked.model is not None or (other and (asked.provider is not None or asked.script is not None)):
        remembers = [each for each in remembers if not isinstance(each, ModelSet)]
        unusable = ""
    if asked.reasoning is not None:
        remembers = [each for each in remembers if not isinstance(each, ThinkingSet)]
    for each in remembers:
        state.apply(each)
    try:
        if settings.needs_key:
            settings.accounts.require(state.model.provider)
    except MissingKey as error:
        raise (ConfigError(f"{unusable}, and {error}") if unusable else error) from None
    return unusable
