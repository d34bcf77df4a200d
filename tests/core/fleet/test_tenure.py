"""A worker stops before anybody else may begin, however long the answers to its renewals take."""

from hypothesis import given
from hypothesis import strategies as st

from linnet.core.fleet.tenure import STOPS_AT, Tenure

seconds = st.floats(0, 100)


@given(st.lists(st.tuples(seconds, seconds, seconds, st.booleans()), max_size=10), st.floats(0.1, 60))
def test_it_is_over_before_the_lease_is_whatever_answers_take(
    renewals: list[tuple[float, float, float, bool]], lease: float
) -> None:
    now = 0.0
    tenure = Tenure(lease, now)
    ends = now + lease  # As the depot counts: from when the question came there.
    for pause, way, back, answered in renewals:
        sent = now = now + pause
        ends = max(ends, sent + way + lease)
        now += way + back
        if answered:
            tenure.renewed(sent)
        assert tenure.ends <= ends - lease * (1 - STOPS_AT) + 1e-9
        assert tenure.is_over(now) is (now - tenure.sent >= lease * STOPS_AT)


def test_answers_that_overtake_each_other_do_not_shorten_it() -> None:
    tenure = Tenure(15, 0)
    tenure.renewed(10)
    tenure.renewed(5)
    assert tenure.ends == 10 + 12
    assert not tenure.is_due(14)
    assert tenure.is_due(15)
