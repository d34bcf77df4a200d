"""The plug-in for pytest: a fixture whose runs are recorded once, and played from then on.

pytest loads this wherever linnet is installed, so nothing else of linnet is imported before the fixture is used.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from linnet.sdk.runtime import Runtime

FOLDER = "recordings"
_ASKING = ("provider", "api_key", "base_url", "script")  # Of no use to a run that plays.


class Replays:
    """Makes the runtimes of one test. It is what the fixture gives."""

    def __init__(self, test: pytest.Item, *, record: bool) -> None:
        self._test = test
        self._record = record
        self._playing: list[Runtime] = []
        self._recording: list[tuple[Runtime, Path]] = []
        self.failed = False

    def __call__(self, file: str | os.PathLike[str] | None = None, **settings: Any) -> "Runtime":
        """Return a Runtime that plays a recording, or one that makes it, if there is none and `--linnet-record` is
        given. `settings` are its keywords.

        `file` is in the folder of the test's module; without one, it is recordings/NAME OF THE TEST.jsonl there.
        """
        from linnet.sdk.runtime import Runtime

        path = self._test.path.parent / (file or self._own)
        if path.exists():
            played = {name: value for name, value in settings.items() if name not in _ASKING}
            self._playing.append(Runtime(recording=path, **played))
            return self._playing[-1]
        if not self._record:
            pytest.fail(f"there is no recording {path}; pytest --linnet-record makes it", pytrace=False)
        path.parent.mkdir(exist_ok=True)
        self._recording.append((Runtime(record=path, **settings), path))
        return self._recording[-1][0]

    @property
    def _own(self) -> str:
        made = len(self._playing) + len(self._recording)
        name = re.sub(r"[^\w.-]+", "-", self._test.name).strip("-")
        return f"{FOLDER}/{name}{f'-{made + 1}' if made else ''}.jsonl"

    def unlike(self, *, whole: bool) -> str:
        """Return how the runs differ from what was recorded; "" if they do not."""
        from linnet.testing.replayed import unlike

        return "\n".join(filter(None, (unlike(runtime, whole=whole) for runtime in self._playing)))

    def close(self) -> None:
        """Close all runtimes. A test that has failed leaves no recording."""
        for runtime in self._playing:
            runtime.close()
        for runtime, path in self._recording:
            runtime.close()
            if self.failed:
                path.unlink(missing_ok=True)


_REPLAYS = pytest.StashKey[Replays]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("linnet").addoption(
        "--linnet-record",
        action="store_true",
        default=False,
        help="let the fixture linnet_replay ask the model, and make the recordings that are missing",
    )


@pytest.fixture
def linnet_replay(request: pytest.FixtureRequest) -> Iterator[Replays]:
    """Call it for a linnet.Runtime that plays the recording of this test; see docs/record-replay.md of linnet."""
    replays = Replays(request.node, record=request.config.getoption("--linnet-record"))
    request.node.stash[_REPLAYS] = replays
    yield replays
    replays.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test whose runs are not what was recorded, with the difference, whatever else it failed with."""
    try:
        made = yield
    except (Exception, pytest.fail.Exception):
        replays = item.stash.get(_REPLAYS, None)
        if replays is not None:
            replays.failed = True
            if problem := replays.unlike(whole=False):
                raise pytest.fail.Exception(problem, pytrace=False) from None
        raise
    replays = item.stash.get(_REPLAYS, None)
    if replays is not None and (problem := replays.unlike(whole=True)):
        pytest.fail(problem, pytrace=False)
    return made
