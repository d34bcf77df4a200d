"""Golden requests: for each API the body that is sent for a conversation with everything in it.

A file in `requests` is one body; `--update-golden` writes it, and the diff is the review. The vendors' own types judge
the same bodies in `tests/providers/test_carried.py`.
"""

import json
from pathlib import Path

import pytest

from tests.providers.apis import APIS, Api
from tests.providers.conversations import eventful

HERE = Path(__file__).parent / "requests"


def golden(api: Api) -> Path:
    return HERE / f"{api.wire}.{api.vendor}.json"


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_a_conversation_with_everything_in_it_is_sent_as_it_was(api: Api, request: pytest.FixtureRequest) -> None:
    body = api.body(*eventful(api), reasoning="high")
    written = json.dumps(body, ensure_ascii=False, indent=2) + "\n"
    if request.config.getoption("--update-golden", default=False):
        golden(api).write_text(written, "utf-8")
    assert written == golden(api).read_text("utf-8")


def test_no_golden_request_is_left_over(request: pytest.FixtureRequest) -> None:
    left_over = set(HERE.iterdir()) - set(map(golden, APIS))
    if request.config.getoption("--update-golden", default=False):
        for file in left_over:
            file.unlink()
    else:
        assert left_over == set()
