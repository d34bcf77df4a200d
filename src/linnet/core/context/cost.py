"""Sums of token counts and of what they cost."""

from collections.abc import Sequence

from linnet.core.messages import Cost, Usage
from linnet.core.models import Prices

MOST_TOKENS = 10**12  # Of one reply; whoever says more is mistaken.


def counted(tokens: int | None, otherwise: int = 0) -> int:
    """Return a count of tokens that a vendor reports, or `otherwise` if there is none or it makes no sense."""
    return tokens if tokens is not None and 0 <= tokens <= MOST_TOKENS else otherwise


def priced(usage: Usage, prices: Prices | None, time: int = 0) -> Usage:
    """Return the same tokens, with what they cost at a time, in milliseconds since 1970; without prices, all of them
    are unpriced.
    """
    long = min(usage.cache_write_long, usage.cache_write)
    if prices is None:
        cost, unpriced = Cost(), usage.total
    else:
        rate, unpriced = _rate(prices, usage.input + usage.cache_read + usage.cache_write, time), 0
        written = (usage.cache_write - long) * rate.cache_write + long * (rate.cache_write_long or rate.cache_write)
        cost = Cost(
            round(usage.input * rate.input / 1_000_000, 10),
            round(usage.output * rate.output / 1_000_000, 10),
            round(usage.cache_read * rate.cache_read / 1_000_000, 10),
            round(written / 1_000_000, 10),
        )
    return Usage(usage.input, usage.output, usage.cache_read, usage.cache_write, cost, unpriced, long)


def _rate(prices: Prices, prompt: int, time: int) -> Prices:
    """Return the prices that hold for a prompt of so many tokens at this time."""
    if prices.changed is not None:
        from linnet.core.text.timestamps import stamp  # Few prices have a date.

        prices = prices.changed if stamp(time)[:10] >= prices.changes_on else prices
    while prices.long is not None and prompt > prices.long_prompt:
        prices = prices.long
    return prices


class Bill:
    """A sum of many usages, which need not be there at the same time. Their order changes nothing but rounding."""

    def __init__(self) -> None:
        self._tokens = [0] * 6
        self._dollars = [0.0] * 4

    def add(self, used: Sequence[Usage]) -> None:
        tokens, dollars = self._tokens, self._dollars
        tokens[0] += sum([each.input for each in used])
        tokens[1] += sum([each.output for each in used])
        tokens[2] += sum([each.cache_read for each in used])
        tokens[3] += sum([each.cache_write for each in used])
        tokens[4] += sum([each.unpriced for each in used])
        tokens[5] += sum([each.cache_write_long for each in used])
        costs = [each.cost for each in used]
        dollars[0] = sum([each.input for each in costs], dollars[0])
        dollars[1] = sum([each.output for each in costs], dollars[1])
        dollars[2] = sum([each.cache_read for each in costs], dollars[2])
        dollars[3] = sum([each.cache_write for each in costs], dollars[3])

    @property
    def total(self) -> Usage:
        went_in, came_out, read, written, unpriced, long = self._tokens
        # Floats drift; a bill of 0.30000000000000004 looks broken.
        cost = Cost(*[round(each, 10) for each in self._dollars])
        return Usage(went_in, came_out, read, written, cost, unpriced, long)


def total(used: Sequence[Usage]) -> Usage:
    """Return the sum of many usages."""
    bill = Bill()
    bill.add(used)
    return bill.total


def add(a: Usage, b: Usage) -> Usage:
    """Return the sum of two usages, as `total` does of many."""
    one, other = a.cost, b.cost
    return Usage(
        a.input + b.input,
        a.output + b.output,
        a.cache_read + b.cache_read,
        a.cache_write + b.cache_write,
        Cost(
            round(one.input + other.input, 10),
            round(one.output + other.output, 10),
            round(one.cache_read + other.cache_read, 10),
            round(one.cache_write + other.cache_write, 10),
        ),
        a.unpriced + b.unpriced,
        a.cache_write_long + b.cache_write_long,
    )


def subtract(a: Usage, b: Usage) -> Usage:
    """Return `a` less `b`."""
    tokens = -b.input, -b.output, -b.cache_read, -b.cache_write
    return add(a, Usage(*tokens, _negated(b.cost), -b.unpriced, -b.cache_write_long))


def _negated(cost: Cost) -> Cost:
    return Cost(-cost.input, -cost.output, -cost.cache_read, -cost.cache_write)
