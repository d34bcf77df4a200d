"""Carries out commands that set something: returns the change as events, and the answer. What may fail is
done first.
"""

from collections.abc import Sequence
from typing import assert_never

from linnet.core import commands
from linnet.core.events import (
    AutoCompactionSet,
    AutoRetrySet,
    Event,
    FollowUpModeSet,
    LevelChanged,
    ModelSet,
    PermissionSet,
    SessionNamed,
    SteeringModeSet,
    ThinkingSet,
)
from linnet.core.models import levels
from linnet.runtime.models.known_models import KnownModels
from linnet.runtime.sessions.storage import Storage
from linnet.runtime.state import SessionState
from linnet.runtime.tools.session_tools import SessionTools


class Setters:
    """All of it is called with the session's lock held. The caller publishes the events, and then gives the answer."""

    def __init__(
        self,
        state: SessionState,
        storage: Storage,
        known_models: KnownModels,
        session_tools: SessionTools,
        home: str,
        pi_home: str | None = None,
    ) -> None:
        """`home` has the settings.json that a command with `save` changes; in pi's place it is that of `pi_home`,
        unless the first says the same already.
        """
        self._state = state
        self._storage = storage
        self._known_models = known_models
        self._session_tools = session_tools
        self._home = home
        self._pi_home = pi_home

    def set(self, setting: commands.Setting) -> tuple[list[Event], commands.Answer]:
        """Return the events that change what was asked for, and the answer. Raises LinnetError, and then nothing has
        changed.
        """
        events, answer = self._set(setting)
        return [*events, *self._level_changed(events)], answer

    def _level_changed(self, events: Sequence[Event]) -> list[Event]:
        """Return the event that tells that the model thinks more or less after these events, if it does."""
        if not any(isinstance(event, ModelSet | ThinkingSet) for event in events):
            return []
        model, asked = self._state.model, self._state.asked_thinking
        for event in events:
            if isinstance(event, ModelSet):
                model = event.model
            elif isinstance(event, ThinkingSet):
                asked = event.level
        level = self._state.possible(model, asked)
        return [LevelChanged(level)] if level != self._state.thinking else []

    def _set(self, setting: commands.Setting) -> tuple[list[Event], commands.Answer]:
        match setting:
            case commands.SetModel(id, provider, save):
                model = self._known_models.choose(provider or self._state.model.provider, id)
                if save and not self._saved_in_pi(provider=model.provider, model=model.id):
                    from linnet.runtime.settings.saved_settings import model_written

                    model_written(self._home, model.provider, model.id)
                return [ModelSet(model)], commands.ModelChosen(model)
            case commands.CycleModel():
                return self._cycle_model()
            case commands.SetThinking(level, save):
                self._save(save, reasoning=level)
                return [ThinkingSet(level)], commands.Ok()
            case commands.CycleThinking():
                return self._cycle_thinking()
            case commands.SetPermission(mode):
                return [PermissionSet(mode)], commands.Ok()
            case commands.SetSteeringMode(mode, save):
                self._save(save, steering_mode=mode)
                return [SteeringModeSet(mode)], commands.Ok()
            case commands.SetFollowUpMode(mode, save):
                self._save(save, follow_up_mode=mode)
                return [FollowUpModeSet(mode)], commands.Ok()
            case commands.SetAutoCompaction(enabled, save):
                self._save(save, auto_compaction=enabled)
                return [AutoCompactionSet(enabled)], commands.Ok()
            case commands.SetAutoRetry(enabled, save):
                self._save(save, retry_runs=enabled)
                return [AutoRetrySet(enabled)], commands.Ok()
            case commands.SetSessionName(name):
                self._storage.kept.name(name)
                return [SessionNamed(name)], commands.Ok()
            case commands.SetTools(tools):
                self._session_tools.declare(tools)
                return [], commands.Ok()
            case _:
                assert_never(setting)

    def _save(self, wanted: bool, **values: str | bool) -> None:
        """Write these values to the user's settings, if that is wanted. Raises ConfigError if they cannot be
        written.
        """
        if wanted and not self._saved_in_pi(**values):
            from linnet.runtime.settings.saved_settings import user_file, written

            written(user_file(self._home), values, self._home)

    def _saved_in_pi(self, **values: str | bool) -> bool:
        """Write these values to pi's settings, if linnet stands in for pi and its own settings, which count for more,
        say nothing about them. Returns whether that was done. Raises ConfigError.
        """
        if self._pi_home is None:
            return False
        from linnet.runtime.settings.saved_in_pi import written
        from linnet.runtime.settings.saved_settings import says

        if says(self._home, values):
            return False
        written(self._pi_home, values)
        return True

    def _cycle_model(self) -> tuple[list[Event], commands.Answer]:
        """Set the model that comes after this one in the list of those that can be used, if there is another, and the
        level of thinking that the list says for it.
        """
        offers = self._known_models.offers()
        keys = [(model.provider, model.id) for model, _ in offers]
        here = (self._state.model.provider, self._state.model.id)
        if not offers or keys == [here]:
            return [], commands.ModelCycled(None)
        after = keys.index(here) + 1 if here in keys else 0
        model, said = offers[after % len(offers)]
        level = said or self._state.asked_thinking
        thinking = [ThinkingSet(level)] if level != self._state.asked_thinking else []
        possible = self._state.possible(model, level)
        return [ModelSet(model), *thinking], commands.ModelCycled(model, possible, bool(self._known_models.scope))

    def _cycle_thinking(self) -> tuple[list[Event], commands.Answer]:
        """Set the level of thinking that comes after this one, if the model can think."""
        state = self._state
        known = levels(state.model, with_tools=state.has_tools())
        if len(known) == 1:
            return [], commands.ThinkingCycled(None)
        level = known[(known.index(state.thinking) + 1) % len(known)]
        return [ThinkingSet(level)], commands.ThinkingCycled(level)
