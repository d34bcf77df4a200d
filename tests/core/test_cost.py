"""Usage arithmetic."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from linnet.core.context.cost import add, priced, subtract, total
from linnet.core.messages import Cost, Usage
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


@given(usages, usages)
def test_two_are_added_as_many_are(a: Usage, b: Usage) -> None:
    two = priced(a, PRICES), priced(b, None)
    assert add(*two) == total(two)
    assert add(two[0], priced(b, PRICES)) == total([two[0], priced(b, PRICES)])


@given(usages)
def test_nothing_added_changes_nothing(usage: Usage) -> None:
    assert add(priced(usage, PRICES), Usage()) == priced(usage, PRICES)


@given(usages)
def test_tokens_without_a_price_cost_nothing_that_is_known(usage: Usage) -> None:
    used = priced(usage, None)
    assert (used.total, used.cost.total, used.unpriced) == (usage.total, 0, usage.total)
    assert used.cost_known == (usage.total == 0)


@given(st.lists(st.tuples(usages, st.booleans())))
def test_a_sum_is_known_if_every_part_is(parts: list[tuple[Usage, bool]]) -> None:
    sum = total([priced(usage, PRICES if known else None) for usage, known in parts])
    assert sum.cost_known == all(known or not usage.total for usage, known in parts)
    assert sum.cost == total([priced(usage, PRICES) for usage, known in parts if known]).cost


@given(usages, usages)
def test_what_was_unknown_before_says_nothing_of_what_came_after(before: Usage, after: Usage) -> None:
    spent = priced(before, None)
    known = subtract(add(spent, priced(after, PRICES)), spent)
    assert known.cost_known
    assert subtract(add(spent, priced(after, None)), spent).cost_known == (after.total == 0)


def test_a_bill_shows_no_rounding_dust() -> None:
    total = Usage()
    for _ in range(3):
        total = add(total, priced(Usage(output=6_667), PRICES))
    assert str(total.cost.total) == "0.300015"


def test_what_is_kept_for_an_hour_costs_its_own_price() -> None:
    prices = Prices(2, 10, 0.2, 2.5, cache_write_long=4)
    usage = Usage(1_000, 500, 20_000, 3_000, cache_write_long=1_000)
    assert priced(usage, prices).cost == Cost(0.002, 0.005, 0.004, 0.009)
    assert priced(replace(usage, cache_write_long=0), prices).cost.cache_write == 0.0075
    assert priced(usage, Prices(2, 10, 0.2, 2.5)).cost.cache_write == 0.0075


def test_a_long_prompt_costs_more_from_its_first_token_on() -> None:
    prices = Prices(0.1, 0.5, 0.01, 0.125, long_prompt=100_000, long=Prices(0.5, 2.5, 0.05, 0.625))
    assert priced(Usage(40_000, 1_000, 50_000, 10_000), prices).cost == Cost(0.004, 0.0005, 0.0005, 0.00125)
    assert priced(Usage(40_001, 1_000, 50_000, 10_000), prices).cost == Cost(0.0200005, 0.0025, 0.0025, 0.00625)


def test_prices_change_on_their_day() -> None:
    prices = Prices(2, 10, changes_on="2026-12-01", changed=Prices(4, 20))
    usage = Usage(1_000_000, 1_000_000)
    december = 1_796_083_200_000  # The first, midnight, UTC.
    assert priced(usage, prices, december - 1).cost == Cost(2, 10)
    assert priced(usage, prices, december).cost == Cost(4, 20)
