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
from linnet.runtime.settings import Settings

_TOLD: dict[str, Callable[[Any], Event]] = {
    "model": ModelSet,
    "reasoning": ThinkingSet,
    "steering_mode": SteeringModeSet,
    "follow_up_mode": FollowUpModeSet,
    "auto_compaction": AutoCompactionSet,
    "retry_runs": AutoRetrySet,
}


class Adoption(Listener):
    """Invariant: what was offered last is adopted when no job is active, and not before. Called under the lock."""

    def __init__(self, settings: Settings, adopt: Callable[[Settings, list[Event]], None]) -> None:
        self.settings = settings
        self._adopt = adopt
        self._offered: Settings | None = None

    def offer(self, settings: Settings, *, active: bool) -> None:
        self._offered = settings
        if not active:
            self._take()

    def hear(self, events: Sequence[Event]) -> None:
        if self._offered is not None and any(isinstance(event, Settled) for event in events):
            self._take()

    def _take(self) -> None:
        if self._offered is not None:
            before, self.settings, self._offered = self.settings, self._offered, None
            self._adopt(self.settings, differences(before, self.settings))


def differences(before: Settings, after: Settings) -> list[Event]:
    """What has been set by going from one to the other."""
    changed = [name for name in _TOLD if getattr(after, name) != getattr(before, name)]
    return [*(_TOLD[name](getattr(after, name)) for name in changed), ProjectTrustSet(after.project.trusted)]
