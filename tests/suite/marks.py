"""Which tests are run when: `make test` leaves out what only `make judges` and `make chaos` run, and `make quick`
leaves out other people's programs, too. What `make test` leaves out is no promise's only proof
(`tests/test_requirements.py`).
"""

from typing import Any

import pytest

FOREIGN = (
    "is about a program of others: pi, Go, Node, a browser, a type checker, bubblewrap, MCP servers, a vendor's own "
    "client. Not in `quick`."
)
JUDGE = "one more pair, or one more example, of what `make test` has one of. Only in `judges`."
CHAOS = "one more fault. Only in `chaos`."
DRAWN = "draws by chance as many as `times` says: `chaos` runs it, too, and has it draw more."


def pytest_configure(config: pytest.Config) -> None:
    for name, words in (("foreign", FOREIGN), ("judge", JUDGE), ("chaos", CHAOS), ("drawn", DRAWN)):
        config.addinivalue_line("markers", f"{name}: {words}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have what takes longest begin first: no worker is left with it at the end, when the others have nothing to do."""
    for item in items:
        _keep_group(item)
    items.sort(key=_turn)


def _keep_group(item: Any) -> None:
    """Put a test's group where pytest 9.2 looks for it. pytest-xdist 3.8 writes it where earlier ones did, and tests of
    one group ran anywhere (pytest-xdist#1386): several browsers, and what is imported once in each worker.
    """
    written = getattr(item, "_nodeid", item.nodeid)
    if written != item.nodeid:
        item._id = type(item._id).parse(written)


def _turn(item: pytest.Item) -> int:
    """Return 0 for what one worker has to itself, 1 for what waits for programs of others, and 2 for all else."""
    if item.get_closest_marker("xdist_group"):
        return 0
    return 1 if item.get_closest_marker("foreign") else 2
