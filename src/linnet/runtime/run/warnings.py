"""Warns people, before a prompt runs, of options that its model cannot honour."""

from linnet.core.models import thinks_with_tools
from linnet.providers.catalog import PROVIDERS
from linnet.runtime.run.active_job import ActiveJob


def warnings(job: ActiveJob) -> list[str]:
    """Return one sentence for each option that this model cannot honour, and one if its vendor has ended the model."""
    model, limits = job.model, job.limits
    said: list[str] = []
    if job.asked_reasoning != "off" and job.reasoning == "off" and model.reasoning and not thinks_with_tools(model):
        said.append(
            f"{model.id} is asked not to think, instead of {job.asked_reasoning}: Chat Completions refuses tools to "
            f"this model if it is to think; leave out the tools, or take another model"
        )
    if limits.cost is not None and model.prices is None:
        name = limits.spelled("max_cost")
        said.append(f"{name} cannot be held for {model.provider}/{model.id}: nobody knows what it costs")
    if model.ends and model.base_url == PROVIDERS[model.provider].base_url and _day(job.now()) >= model.ends:
        newer = PROVIDERS[model.provider].default_model
        said.append(f"{model.provider} has ended {model.id} on {model.ends}; take another model, such as {newer}")
    return said


def _day(milliseconds: int) -> str:
    """Return the day, in UTC, as YYYY-MM-DD."""
    from time import gmtime, strftime

    return strftime("%Y-%m-%d", gmtime(milliseconds / 1000))
