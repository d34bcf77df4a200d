"""Hints of a depot in Postgres end when they are to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from linnet.depot.postgres.notices import Notices


def test_an_end_that_comes_just_before_something_is_sent_is_not_missed() -> None:
    quiet, _ = ends = os.pipe()

    class Quiet:
        """A connection on which nothing ever comes. The end is asked for while it is looked at."""

        pgconn: Any

        def notifies(self) -> None:
            if not closing.is_alive():
                closing.start()
            while not notices._closed:
                os.sched_yield()

        def execute(self, *_: object) -> None: ...
        def add_notify_handler(self, *_: object) -> None: ...
        def fileno(self) -> int:
            return quiet

    @contextmanager
    def connected() -> Iterator[Any]:
        made = Quiet()
        made.pgconn = made
        yield made

    notices = Notices(connected)  # type: ignore[arg-type]
    closing = Thread(target=notices.close)
    stop = notices.listen(lambda agent: None)
    assert notices._thread is not None
    notices._thread.join()
    closing.join()
    stop()
    for end in ends:
        os.close(end)
