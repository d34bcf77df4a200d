"""What the user says while the agent works: it waits here until the agent can hear it."""

from typing import Literal, TypeAlias

from linnet.core.messages import UserMessage

Mode: TypeAlias = Literal["all", "one-at-a-time"]


class Queues:
    """Invariant: within each queue, what came first is said first. Steering goes before follow-ups."""

    def __init__(self) -> None:
        self.steering: list[UserMessage] = []
        self.follow_ups: list[UserMessage] = []
        self.steering_mode: Mode = "one-at-a-time"
        self.follow_up_mode: Mode = "one-at-a-time"

    def __len__(self) -> int:
        return len(self.steering) + len(self.follow_ups)

    def take_steering(self) -> list[UserMessage]:
        """What to say at the next interruption; nothing if nobody steers."""
        taken, self.steering = _cut(self.steering, self.steering_mode)
        return taken

    def take_next(self) -> list[UserMessage]:
        """What to say to an agent that has nothing left to do."""
        taken = self.take_steering()
        if not taken:
            taken, self.follow_ups = _cut(self.follow_ups, self.follow_up_mode)
        return taken

    def clear(self) -> list[UserMessage]:
        """Everything that waited."""
        waiting = self.steering + self.follow_ups
        self.steering, self.follow_ups = [], []
        return waiting


def _cut(queue: list[UserMessage], mode: Mode) -> tuple[list[UserMessage], list[UserMessage]]:
    return (queue, []) if mode == "all" else (queue[:1], queue[1:])
