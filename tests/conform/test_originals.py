"""pi itself keeps what it is judged by, but for what is known of it: else the checks would be wrong."""

import pytest

from linnet.conform.check import Dialect
from linnet.conform.everything import all_checks
from tests.conform.conftest import failed, judged
from tests.conform.page import PIS
from tests.suite.real_pi import program


@pytest.mark.foreign
@pytest.mark.judge
@pytest.mark.timeout(600)
@pytest.mark.parametrize("dialect", PIS)
def test_what_pi_does_not_keep_is_known(dialect: Dialect) -> None:
    report = judged(dialect, [*program(PIS[dialect]), "--mode", "rpc"], timeout=550)
    known = {check.id for check in all_checks(dialect) if dialect in check.originals}
    assert {id: saw for id, saw in failed(report).items() if id not in known} == {}
