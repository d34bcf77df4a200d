"""Settings that change while the agent lives: taken over between runs, since a run keeps what it began with."""

from collections.abc import Callable, Sequence

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
    events: list[Event] = []
    if after.model != before.model:
        events.append(ModelSet(after.model))
    if after.reasoning != before.reasoning:
        events.append(ThinkingSet(after.reasoning))
    if after.steering_mode != before.steering_mode:
        events.append(SteeringModeSet(after.steering_mode))
    if after.follow_up_mode != before.follow_up_mode:
        events.append(FollowUpModeSet(after.follow_up_mode))
    if after.auto_compaction != before.auto_compaction:
        events.append(AutoCompactionSet(after.auto_compaction))
    if after.retry_runs != before.retry_runs:
        events.append(AutoRetrySet(after.retry_runs))
    return [*events, ProjectTrustSet(after.project.trusted)]
