"""The option that rewrites the golden transcripts."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Known from the start when tests/golden is named on the command line, as `make golden` does. In a run of
    everything this file is loaded later, and the option then has its default.
    """
    parser.addoption(
        "--update-golden",
        action="store_true",
        default=False,
        help="rewrite the golden transcripts with what is printed",
    )
