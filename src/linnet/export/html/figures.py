"""Writes times, counts and money as people do. Times are UTC: a page says the same to everybody."""

from datetime import UTC, date, datetime
from functools import lru_cache

from linnet.core.messages import Usage
from linnet.core.text.timestamps import parsed
from linnet.store.entries import Entry, Said

HUGE = 10**15  # Larger numbers are shown as this one: as floats they could not be divided.


def moment(entry: Entry) -> datetime | None:
    """Return when the entry was written, or else when its message was said; None if neither is known."""
    if (
        (time := parsed(entry.time)) is not None
        or not isinstance(entry.content, Said)
        or not entry.content.message.time
    ):
        return time
    try:
        return datetime.fromtimestamp(entry.content.message.time / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def day(time: datetime) -> str:
    return _day(time.date())


@lru_cache(maxsize=512)
def _day(date: date) -> str:
    return f"{date.day} {date:%B} {date.year}"


def clock(time: datetime) -> tuple[str, str]:
    """Return the time as machines read it, to the second, and the hours, minutes and seconds alone."""
    clock = f"{time.hour:02}:{time.minute:02}:{time.second:02}"
    return f"{_date(time.date())}T{clock}Z", clock


@lru_cache(maxsize=512)
def _date(date: date) -> str:
    return f"{date:%Y-%m-%d}"


def count(number: int) -> str:
    """Return a number with at most three digits and a unit, such as 12.3k."""
    if -1000 < number < 1000:
        return str(number)
    number = max(-HUGE, min(number, HUGE))
    for unit, name in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        shown = number / unit
        if abs(shown) >= (0.9995 if unit > 1_000 else 1):  # What would be rounded to 1000k is 1.0M.
            return f"{shown:.1f}{name}" if abs(shown) < 99.95 else f"{shown:.0f}{name}"
    return str(number)


def duration(seconds: float) -> str:
    """Return how long something took, as people say it; "" for less than a tenth of a second."""
    if seconds < 0.1:
        return ""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(min(seconds, HUGE))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 48 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86400:,} days"


def paid(usage: Usage) -> str:
    """Return what a usage cost, with a question mark for what nobody knows the price of; "" if it was nothing."""
    known = money(usage.cost.total)
    return known if usage.cost_known else f"{known} + ?" if known else "?"


def money(dollars: float) -> str:
    if not dollars:
        return ""
    return f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.3f}" if dollars >= 0.01 else f"${dollars:.4f}"


def size(number: int) -> str:
    if number < 1024:
        return f"{number} bytes"
    return f"{number / 1_048_576:.1f} MB" if number >= 1_048_576 else f"{number / 1024:.1f} KB"


def spent(usage: Usage) -> str:
    """Return in a few characters what went in, what came out, and what that cost."""
    went_in = usage.input + usage.cache_read + usage.cache_write
    told = f"↑{count(went_in)} " if went_in else ""
    if usage.output:
        told += f"↓{count(usage.output)} "
    return (told + paid(usage)).rstrip(" ")


def spent_at_length(usage: Usage) -> str:
    parts = (
        ("in", usage.input),
        ("out", usage.output),
        ("read from cache", usage.cache_read),
        ("written to cache", usage.cache_write),
    )
    return ", ".join([f"{number:,} {name}" for name, number in parts if number])
