"""Converts times between ISO 8601 in UTC, as JavaScript writes it, and milliseconds since 1970."""

from datetime import UTC, datetime, timedelta

END = 253_402_300_800_000  # The year 10000, which no calendar here knows.
_EPOCH = datetime(1970, 1, 1)  # In UTC, without a zone.
_MILLISECOND = timedelta(milliseconds=1)


def stamp(milliseconds: int) -> str:
    """Return a time as text, such as 2026-01-01T12:00:00.000Z. What is before the year 1 or after 9999 is cut there."""
    try:
        time = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        time = datetime.max if milliseconds > 0 else datetime.min
    return time.isoformat(timespec="milliseconds") + "Z"


def parsed(stamp: str) -> datetime | None:
    """Return the time that a text says, in UTC, also if it names no zone; None for what is no time."""
    try:
        time = datetime.fromisoformat(stamp)
        if time.tzinfo is UTC:
            return time
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def milliseconds(stamp: str) -> int:
    """Return a time in milliseconds since 1970; 0 for what is no time."""
    time = parsed(stamp)
    return 0 if time is None else round((time.replace(tzinfo=None) - _EPOCH) / _MILLISECOND)
