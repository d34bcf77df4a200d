"""Usage arithmetic."""

from linnet.core.messages import Cost, Usage
from linnet.core.models import Prices


def priced(usage: Usage, prices: Prices) -> Usage:
    """The same tokens, with what they cost."""
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


def add(a: Usage, b: Usage) -> Usage:
    return Usage(
        a.input + b.input,
        a.output + b.output,
        a.cache_read + b.cache_read,
        a.cache_write + b.cache_write,
        Cost(
            _sum(a.cost.input, b.cost.input),
            _sum(a.cost.output, b.cost.output),
            _sum(a.cost.cache_read, b.cost.cache_read),
            _sum(a.cost.cache_write, b.cost.cache_write),
        ),
    )


def subtract(a: Usage, b: Usage) -> Usage:
    """What `a` is more than `b`."""
    return add(a, Usage(-b.input, -b.output, -b.cache_read, -b.cache_write, _negated(b.cost)))


def _negated(cost: Cost) -> Cost:
    return Cost(-cost.input, -cost.output, -cost.cache_read, -cost.cache_write)


def _dollars(tokens: int, price: float) -> float:
    return round(tokens * price / 1_000_000, 10)


def _sum(a: float, b: float) -> float:
    return round(a + b, 10)  # Floats drift; a bill of 0.30000000000000004 looks broken.
