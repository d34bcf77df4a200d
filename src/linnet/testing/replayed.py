"""Plays a recording in a test, and fails it in words if the run no longer asks what was recorded."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from linnet.sdk.configured import Configured
from linnet.sdk.runtime import Runtime


@contextmanager
def replayed(file: str | os.PathLike[str], **settings: Any) -> Iterator[Runtime]:
    """Give a Runtime that plays a recording; `settings` are its other keywords. Close it in the end.

    Raises AssertionError if the run asked something else than was recorded, or less. Raises ConfigError at once if the
    file cannot be played.
    """
    with Runtime(recording=file, **settings) as runtime:
        try:
            yield runtime
        except Exception as error:
            if problem := unlike(runtime, whole=False):
                raise AssertionError(problem) from error
            raise
        if problem := unlike(runtime):
            raise AssertionError(problem)


def unlike(runtime: Configured, *, whole: bool = True) -> str:
    """Return how what a runtime asked differs from the recording that it plays; "" if it does not. `whole`: calls that
    nobody asked for are a difference.
    """
    replay = runtime._tape and runtime._tape.replay
    if not replay:
        return ""
    if replay.problems:
        return "\n".join(replay.problems)
    left = replay.unplayed if whole else 0
    many = "1 call is" if left == 1 else f"{left} calls are"
    return f"{many} left in the recording {replay.file}, and nobody has asked for what was recorded there" * bool(left)
