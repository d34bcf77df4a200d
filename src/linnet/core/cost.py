"""Usage arithmetic."""

from collections.abc import Sequence

from linnet.core.messages import Cost, Usage
from linnet.core.models import Prices

MOST_TOKENS = 10**12  # Of one reply; whoever says more is mistaken.


def counted(tokens: int | None, otherwise: int = 0) -> int:
    """Return a count of tokens that a vendor reports, or something else if it makes no sense."""
    return tokens if tokens is not None and 0 <= tokens <= MOST_TOKENS else otherwise


def priced(usage: Usage, prices: Prices | None) -> Usage:
    """Return the same tokens, with what they cost; without prices, all of them are unpriced."""
    if prices is None:
        return Usage(usage.input, usage.output, usage.cache_read, usage.cache_write, unpriced=usage.total)
    return Usage(
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        Cost(
            _dollars(usage.input, prices.input),
            _dollars(usage.output, prices.output),
            _dollars(usage.cache_read, prices.cache_read),
            _dollars(usage.cache_write, prices.cache_write),
        ),
    )


def total(used: Sequence[Usage]) -> Usage:
    costs = [each.cost for each in used]
    return Usage(
        sum([each.input for each in used]),
        sum([each.output for each in used]),
        sum([each.cache_read for each in used]),
        sum([each.cache_write for each in used]),
        Cost(
            _sum([each.input for each in costs]),
            _sum([each.output for each in costs]),
            _sum([each.cache_read for each in costs]),
            _sum([each.cache_write for each in costs]),
        ),
        sum([each.unpriced for each in used]),
    )


def add(a: Usage, b: Usage) -> Usage:
    return total((a, b))


def subtract(a: Usage, b: Usage) -> Usage:
    """Return `a` less `b`."""
    return add(a, Usage(-b.input, -b.output, -b.cache_read, -b.cache_write, _negated(b.cost), -b.unpriced))


def _negated(cost: Cost) -> Cost:
    return Cost(-cost.input, -cost.output, -cost.cache_read, -cost.cache_write)


def _dollars(tokens: int, price: float) -> float:
    return round(tokens * price / 1_000_000, 10)


def _sum(dollars: Sequence[float]) -> float:
    return round(sum(dollars, 0.0), 10)  # Floats drift; a bill of 0.30000000000000004 looks broken.
