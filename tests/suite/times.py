"""How much is drawn by chance, and how long that may take: `chaos` has more of it than `make test`, `quick` less."""

import os

TIMES = float(os.environ.get("LINNET_TEST_TIMES", "1"))


def times(number: int) -> int:
    """Return how many examples to draw, or rounds to play, where `make test` has this number."""
    return max(1, round(number * TIMES))


def patience(seconds: float) -> float:
    """Return how long a test may take, where `make test` gives it these seconds."""
    return seconds * max(1.0, TIMES)
