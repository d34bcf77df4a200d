"""Settings that change while the agent lives: taken over between runs, since a run keeps what it began with."""

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
    """Invariant: what was offered last holds as soon as no job is active, and not before."""

    def __init__(self, live: LiveSettings, changed: Callable[[Settings, list[Event]], None]) -> None:
        """`changed` is given what held before, and the events to publish."""
        self._live = live
        self._changed = changed
        self._offered: Settings | None = None

    def offer_locked(self, settings: Settings, *, active: bool) -> None:
        """Let these hold: at once, unless a job is `active`; then, when it has settled."""
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
    """What has been set by going from one to the other."""
    changed = [name for name in _TOLD if getattr(after, name) != getattr(before, name)]
    return [*(_TOLD[name](getattr(after, name)) for name in changed), ProjectTrustSet(after.project.trusted)]
