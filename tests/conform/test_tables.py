"""The tables of checks, held against the list of promises."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from linnet.conform.check import DIALECTS, Check, Dialect
from linnet.conform.everything import all_checks
from linnet.conform.unjudged import UNJUDGED

PROMISES = {
    each["id"]: each
    for each in tomllib.loads((Path(__file__).parents[1] / "requirements.toml").read_text("utf-8"))["requirement"]
}
PREFIXES: dict[str, Dialect] = {"zot.": "zot", "pi.": "pi", "pi_legacy.": "pi-legacy"}
CHECKS: list[Check] = list({check.id: check for dialect in DIALECTS for check in all_checks(dialect)}.values())


@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_promise_of_a_document_has_a_check_or_a_reason_why_not(prefix: str) -> None:
    judged = {id for check in all_checks(PREFIXES[prefix]) for id in check.of}
    promised = {id for id, each in PROMISES.items() if each["source"] == "spec" and id.startswith(prefix)}
    assert promised - judged - UNJUDGED.keys() == set()
    assert judged & UNJUDGED.keys() == set(), "it is judged after all"
    assert {id for id in UNJUDGED if id.startswith(prefix)} <= promised


def test_what_a_check_belongs_to_is_promised() -> None:
    assert {id for check in CHECKS for id in check.of} <= PROMISES.keys()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_id_is_one_check_and_a_scene_has_one_name(dialect: Dialect) -> None:
    checks = all_checks(dialect)
    assert [id for id, count in Counter(check.id for check in checks).items() if count > 1] == []
    scenes = {check.scene.name: check.scene for check in checks}
    assert all(scenes[check.scene.name] is check.scene for check in checks)


def test_a_check_says_what_is_promised_and_where_in_one_sentence() -> None:
    for check in CHECKS:
        assert check.says.endswith("."), check.id
        assert "\n" not in check.says, check.id
        assert check.source in ("observed", "ours") or ", " in check.source, check.id
        assert check.tier != "defect" or check.source in ("observed", "ours") or check.originals, check.id


def test_what_originals_do_wrong_is_said_of_every_known_defect() -> None:
    assert [check.id for check in CHECKS if check.tier == "defect" and not check.originals] == []


def test_reasons_are_reasons() -> None:
    assert all(len(reason) > 20 for reason in UNJUDGED.values())
