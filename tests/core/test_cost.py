"""Usage arithmetic."""

from hypothesis import given
from hypothesis import strategies as st

from linnet.core.cost import add, priced
from linnet.core.messages import Usage
from linnet.core.models import Prices

counts = st.integers(0, 10_000_000)
usages = st.builds(Usage, counts, counts, counts, counts)
PRICES = Prices(3, 15, 0.3, 3.75)


def test_a_million_tokens_cost_the_price() -> None:
    cost = priced(Usage(10**6, 10**6, 10**6, 10**6), PRICES).cost
    assert (cost.input, cost.output, cost.cache_read, cost.cache_write) == (3, 15, 0.3, 3.75)
    assert cost.total == 22.05


@given(usages, usages)
def test_the_order_of_addition_does_not_matter(a: Usage, b: Usage) -> None:
    assert add(priced(a, PRICES), priced(b, PRICES)) == add(priced(b, PRICES), priced(a, PRICES))


@given(usages)
def test_nothing_added_changes_nothing(usage: Usage) -> None:
    assert add(priced(usage, PRICES), Usage()) == priced(usage, PRICES)


def test_a_bill_shows_no_rounding_dust() -> None:
    total = Usage()
    for _ in range(3):
        total = add(total, priced(Usage(output=6_667), PRICES))
    assert str(total.cost.total) == "0.300015"
