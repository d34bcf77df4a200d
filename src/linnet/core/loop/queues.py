"""The queues in which what is said while the agent works waits until it can be said to the model."""

from linnet.core.events import QueueMode
from linnet.core.inputs import Input


class Queues:
    """Steering, for the next interruption, and follow-ups, for when the agent has nothing left to do.

    Invariant: within each queue, what came first is said first. Steering goes before follow-ups.
    """

    def __init__(self) -> None:
        self.steering: list[Input] = []
        self.follow_ups: list[Input] = []
        self.steering_mode: QueueMode = "one-at-a-time"
        self.follow_up_mode: QueueMode = "one-at-a-time"

    def __len__(self) -> int:
        return len(self.steering) + len(self.follow_ups)

    def take_steering(self) -> list[Input]:
        """Take out and return what is to be said at the next interruption; empty if nobody steers."""
        if not self.steering:
            return []
        taken, self.steering = _cut(self.steering, self.steering_mode)
        return taken

    def take_next(self) -> list[Input]:
        """Take out and return what is to be said to an agent that has nothing left to do: steering, else follow-ups."""
        if self.steering:
            return self.take_steering()
        if not self.follow_ups:
            return []
        taken, self.follow_ups = _cut(self.follow_ups, self.follow_up_mode)
        return taken

    def clear(self) -> list[Input]:
        """Empty both queues, and return what was in them, steering first."""
        waiting = self.steering + self.follow_ups
        self.steering, self.follow_ups = [], []
        return waiting


def _cut(queue: list[Input], mode: QueueMode) -> tuple[list[Input], list[Input]]:
    return (queue, []) if mode == "all" else (queue[:1], queue[1:])
