"""linnet keeps every promise that is judged, in every dialect."""

import pytest

from tests.conform.conftest import failed, judged, linnet


def sound(dialect: str) -> None:
    report = judged(dialect, linnet(dialect))
    assert failed(report) == {}
    assert {check["outcome"] for check in report["checks"]} == {"passed"}
    assert report["transcripts"] == {}


@pytest.mark.parametrize(
    "dialect",
    [
        *("zot", "pi", "pi-legacy", "pi-1"),
        *(pytest.param(f"pi-0.{n}", marks=pytest.mark.judge) for n in (73, 87)),
    ],
)
def test_linnet_keeps_every_promise(dialect: str) -> None:
    sound(dialect)


def test_an_address_in_the_command_is_replaced_and_then_nothing_is_added() -> None:
    command = [*linnet("zot"), "--base-url", "{url}", "--api-key", "mine"]
    only = ("zot.command.prompt", "zot.flag.api-key", "zot.flag.model")
    report = judged("zot", command, *(word for id in only for word in ("--only", id)))
    outcomes = {check["id"]: check["outcome"] for check in report["checks"]}
    assert outcomes.pop("zot.flag.model") == "not judged"
    assert outcomes.pop("zot.flag.api-key") == "failed"  # The key is the one that the command said.
    assert set(outcomes.values()) == {"passed"}


def test_the_report_has_the_order_of_the_list_however_many_run_at_once() -> None:
    only = ("--only", "zot.event", "--only", "zot.auth")
    orders = [
        [check["id"] for check in judged("zot", linnet("zot"), *only, "--jobs", jobs)["checks"]] for jobs in ("1", "8")
    ]
    assert orders[0] == orders[1]
