"""What people are told before a prompt runs."""

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from linnet.core.loop.limits import Limits
from linnet.providers import catalog
from linnet.runtime.run.warnings import warnings

DAY = 86_400_000
THE_30TH = 1_795_996_800_000  # Of November 2026, midnight, UTC.


def job(at: int, **changes: Any) -> Any:
    model = catalog.find("anthropic", "claude-sonnet-4-5")
    assert model is not None
    info = catalog.PROVIDERS["anthropic"]
    model = catalog.completed(model, info, info.base_url)
    return SimpleNamespace(
        model=replace(model, **changes), limits=Limits(), asked_reasoning="off", reasoning="off", now=lambda: at
    )


def test_a_model_whose_day_has_come_warns_and_names_its_successor() -> None:
    ended = "anthropic has ended claude-sonnet-4-5 on 2026-11-30; take another model, such as claude-sonnet-5"
    assert warnings(job(THE_30TH)) == [ended]
    other = warnings(job(THE_30TH + 400 * DAY, id="claude-other", successor="claude-opus-5"))
    assert other == ["anthropic has ended claude-other on 2026-11-30; take another model, such as claude-opus-5"]


def test_a_month_before_its_day_a_model_warns_too() -> None:
    ends = "anthropic will end claude-sonnet-4-5 on 2026-11-30; take another model, such as claude-sonnet-5"
    assert warnings(job(THE_30TH - 30 * DAY - 1)) == []
    assert warnings(job(THE_30TH - 30 * DAY)) == [ends]


@pytest.mark.parametrize(
    ("at", "changes"),
    [
        (THE_30TH - 31 * DAY, {}),
        (THE_30TH, {"ends": ""}),
        (THE_30TH, {"base_url": "http://127.0.0.1:1"}),
        (THE_30TH, {"provider": "lan"}),
    ],
)
def test_before_that_and_at_a_server_of_ones_own_nothing_is_said(at: int, changes: dict[str, str]) -> None:
    assert warnings(job(at, **changes)) == []
