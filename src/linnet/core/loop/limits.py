"""How much a prompt may take, and the sentence for one that has taken as much."""

from msgspec import Struct

from linnet.core.setting_names import Spelling, keyword
from linnet.errors import LimitReached


class Limits(Struct, frozen=True):
    """None: as much as it needs. `steps` bounds each run. `cost`, in US dollars, and `seconds` bound the whole prompt,
    with all its runs, retries and compactions. `spelled`: what whoever set them calls them.
    """

    steps: int | None = None
    cost: float | None = None
    seconds: float | None = None
    spelled: Spelling = keyword

    def between_steps(self, steps: int, dollars: float) -> LimitReached | None:
        """Return the limit that a run of so many steps has reached, in a prompt that has cost so much; None if none."""
        if self.steps is not None and steps >= self.steps:
            return LimitReached("max_steps", f"max steps ({self.steps}) exceeded")
        return self.after_spending(dollars)

    def after_spending(self, dollars: float) -> LimitReached | None:
        """Return the limit that a prompt has reached which has cost so much; None if it has not."""
        if self.cost is None or dollars < self.cost:
            return None
        name = self.spelled("max_cost")
        return LimitReached(
            "max_cost", f"max cost (${self.cost:g}) reached: this prompt has cost ${dollars:.6g} ({name})"
        )

    def out_of_time(self) -> LimitReached:
        seconds, name = self.seconds or 0, self.spelled("max_seconds")
        return LimitReached("max_seconds", f"max seconds ({seconds:g}) reached: the run was interrupted ({name})")
