"""Decides how long a worker may act for the agents that it owns. Its own monotonic clock counts, in seconds.

The depot counts a lease from when it is asked; the worker counts it from before it asks, so that it never believes to
own an agent for longer than the depot does, however long the answer takes.
"""

from msgspec import Struct

STOPS_AT = 0.8
"""The part of a lease after which commands are stopped, so that they have ended when another owner may come."""
RENEWS_AT = 1 / 3


class Tenure(Struct):
    """One renewal for all agents of a worker."""

    lease: float
    sent: float
    """When the last renewal was sent that succeeded."""

    def renewed(self, sent: float) -> None:
        """Take note that a renewal that was sent at this moment has succeeded."""
        self.sent = max(self.sent, sent)

    def is_due(self, now: float) -> bool:
        """Return whether the lease is to be renewed."""
        return now - self.sent >= self.lease * RENEWS_AT

    def is_over(self, now: float) -> bool:
        """Return whether nothing may be done any more for what was owned since before the last renewal."""
        return now - self.sent >= self.lease * STOPS_AT

    @property
    def ends(self) -> float:
        """Return when it is over."""
        return self.sent + self.lease * STOPS_AT
