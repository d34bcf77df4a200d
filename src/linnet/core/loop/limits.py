"""The limits on the steps, the cost and the time of a prompt, and the errors for a prompt that has reached one."""

from msgspec import Struct

from linnet.core.setting_names import Spelling, keyword
from linnet.errors import LimitReached


class Limits(Struct, frozen=True):
    """How much a prompt may take. None means as much as it needs.

    `cost` and `seconds` bound the whole prompt, with all its runs, retries and compactions.
    """

    steps: int | None = None  # Of each run.
    cost: float | None = None  # In US dollars.
    seconds: float | None = None
    spelled: Spelling = keyword  # Returns what whoever set a limit calls it.

    def between_steps(self, steps: int, dollars: float) -> LimitReached | None:
        """Return the limit that is reached after so many steps of a run, in a prompt that has cost so much; or None."""
        if self.steps is not None and steps >= self.steps:
            return LimitReached("max_steps", f"max steps ({self.steps}) exceeded")
        return self.after_spending(dollars)

    def after_spending(self, dollars: float) -> LimitReached | None:
        """Return the limit that is reached by a prompt that has cost so much; or None."""
        if self.cost is None or dollars < self.cost:
            return None
        name = self.spelled("max_cost")
        return LimitReached(
            "max_cost", f"max cost (${self.cost:g}) reached: this prompt has cost ${dollars:.6g} ({name})"
        )

    def out_of_time(self) -> LimitReached:
        """Return the error for a prompt whose time is up."""
        seconds, name = self.seconds or 0, self.spelled("max_seconds")
        return LimitReached("max_seconds", f"max seconds ({seconds:g}) reached: the run was interrupted ({name})")
