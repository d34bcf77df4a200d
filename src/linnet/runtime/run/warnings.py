"""Warns people, before a prompt runs, of options that its model cannot honour, and of a model that goes away."""

from linnet.core.models import Model
from linnet.providers.catalog import PROVIDERS
from linnet.runtime.run.active_job import ActiveJob

_NEAR = 30 * 86_400_000  # Milliseconds before the end of a model from which people are told.


def warnings(job: ActiveJob) -> list[str]:
    """Return one sentence for each option that this model cannot honour, and one if its vendor ends the model or has
    ended it. A session tells each sentence once.
    """
    model, limits = job.model, job.limits
    said: list[str] = []
    if job.asked_reasoning != "off" and job.reasoning == "off" and model.reasoning and not model.thinks_with_tools:
        said.append(
            f"{model.id} is asked not to think, instead of {job.asked_reasoning}: through {model.api} it is refused "
            f"tools if it is to think; leave out the tools, or take another model or API"
        )
    if limits.cost is not None and model.prices is None:
        name = limits.spelled("max_cost")
        said.append(f"{name} cannot be held for {model.provider}/{model.id}: nobody knows what it costs")
    if ending := end_of(model, job.now()):
        said.append(ending)
    return said


def end_of(model: Model, now: int) -> str:
    """Return a sentence about the end of a model that is over by now, or that is near; empty if it is not, or if the
    model is asked for at another server than its vendor's. `now` is in milliseconds since 1970.
    """
    vendor = PROVIDERS.get(model.provider)
    if not model.ends or vendor is None or model.base_url != vendor.base_url or _day(now + _NEAR) < model.ends:
        return ""
    newer = model.successor or vendor.default_model
    verb = "has ended" if _day(now) >= model.ends else "will end"
    return f"{model.provider} {verb} {model.id} on {model.ends}; take another model, such as {newer}"


def _day(milliseconds: int) -> str:
    """Return the day, in UTC, as YYYY-MM-DD."""
    from time import gmtime, strftime

    return strftime("%Y-%m-%d", gmtime(milliseconds / 1000))
