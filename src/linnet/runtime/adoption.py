"""Replaces the settings of a living agent: between jobs, since a job keeps the settings that it began with."""

from collections.abc import Callable, Sequence
from typing import Any

from linnet.core.events import (
    AutoCompactionSet,
    AutoRetrySet,
    Event,
    FollowUpModeSet,
    ModelSet,
    ProjectTrustSet,
    Settled,
    SteeringModeSet,
    ThinkingSet,
)
from linnet.runtime.listener import Listener
from linnet.runtime.settings.settings import LiveSettings, Settings

_TOLD: dict[str, Callable[[Any], Event]] = {
    "model": ModelSet,
    "reasoning": ThinkingSet,
    "steering_mode": SteeringModeSet,
    "follow_up_mode": FollowUpModeSet,
    "auto_compaction": AutoCompactionSet,
    "retry_runs": AutoRetrySet,
}


class Adoption(Listener):
    """Invariant: the settings that were offered last hold as soon as no job is active, and not before."""

    def __init__(self, live: LiveSettings, changed: Callable[[Settings, list[Event]], None]) -> None:
        """`changed` is called under the session's lock, with the settings that held before and the events to
        publish.
        """
        self._live = live
        self._changed = changed
        self._offered: Settings | None = None

    def offer_locked(self, settings: Settings, *, active: bool) -> None:
        """Let these settings hold: at once, or if a job is `active`, when it has settled."""
        self._offered = settings
        if not active:
            self._take_locked()

    def hear(self, events: Sequence[Event]) -> None:
        if any(isinstance(event, Settled) for event in events):
            self._take_locked()

    def _take_locked(self) -> None:
        if self._offered is not None:
            before, self._live.now, self._offered = self._live.now, self._offered, None
            self._changed(before, differences(before, self._live.now))


def differences(before: Settings, after: Settings) -> list[Event]:
    """Return the events that tell clients what going from `before` to `after` has set, trust in the project last."""
    changed = [name for name in _TOLD if getattr(after, name) != getattr(before, name)]
    return [*(_TOLD[name](getattr(after, name)) for name in changed), ProjectTrustSet(after.project.trusted)]
