"""Runs the scenes that some checks need, several at once, and judges them in the order of the table."""

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Literal, TypeAlias

from msgspec import Struct

from linnet.conform.check import Broken, Check, Dialect, Scene
from linnet.conform.play import Play, Stuck
from linnet.conform.seen import Line, Seen
from linnet.conform.stage import prepare, takes_flags
from linnet.errors import ConfigError
from linnet.processes.spawner import Spawner
from linnet.testing.model_server import ModelServer

Outcome: TypeAlias = Literal["passed", "failed", "not judged"]


class NotStarted(ConfigError):
    """The program cannot be started."""


class Verdict(Struct, frozen=True):
    """What came of one check."""

    check: Check
    outcome: Outcome
    saw: str = ""
    """What was seen instead, or why it was not judged."""


class Played(Struct, frozen=True):
    """What came of one scene."""

    verdicts: list[Verdict]
    transcript: list[Line]
    """Only if a check failed."""
    seconds: float
    silent: bool
    """Whether nothing that could be understood was printed."""


class Judging:
    """One program, and how it is run. Nothing that was started is running after `close`."""

    def __init__(self, command: Sequence[str], dialect: Dialect, *, jobs: int, seconds: float) -> None:
        self._command = command
        self._dialect = dialect
        self._jobs = jobs
        self._seconds = seconds
        self._spawner = Spawner()
        self._root = Path(tempfile.mkdtemp(prefix="linnet-conform-"))
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="conform")
        self._lock = Lock()  # For what follows.
        self._playing: set[Play] = set()
        self._closed = False

    def __enter__(self) -> "Judging":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End whatever is still running, and remove the folders. Idempotent."""
        with self._lock:
            self._closed = True
            playing = list(self._playing)
        for play in playing:
            play.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._spawner.close()
        shutil.rmtree(self._root, ignore_errors=True)

    def judge(self, checks: Sequence[Check]) -> Iterator[tuple[Scene, Played]]:
        """Yield what came of each scene that these checks need, in the order of the table.

        If the program never says a word in the first scene, the others are not played: they would say the same.
        Raises NotStarted.
        """
        scenes: dict[str, list[Check]] = {}
        for check in checks:
            scenes.setdefault(check.scene.name, []).append(check)
        groups = list(scenes.values())
        if not groups:
            return
        first = self._played(groups[0])
        yield groups[0][0].scene, first
        if first.silent:
            for group in groups[1:]:
                yield group[0].scene, _left_out(group)
            return
        futures: list[Future[Played]] = [self._pool.submit(self._played, group) for group in groups[1:]]
        for group, future in zip(groups[1:], futures, strict=True):
            yield group[0].scene, future.result()

    def _played(self, checks: Sequence[Check]) -> Played:
        """Play the scene of these checks, and judge them."""
        scene = checks[0].scene
        if scene.flags and not takes_flags(self._command):
            why = f"it needs {' '.join(scene.flags)} behind the command, and nothing is added to one that has {{url}}"
            return Played([Verdict(check, "not judged", why) for check in checks], [], 0.0, silent=False)
        began = time.monotonic()
        folder = Path(tempfile.mkdtemp(dir=self._root))
        try:
            seen = self._run(scene, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        verdicts = [judged(check, seen) for check in checks]
        failed = any(verdict.outcome == "failed" for verdict in verdicts)
        transcript = seen.transcript() if failed else []
        silent = not seen.frames
        return Played(verdicts, transcript, time.monotonic() - began, silent)

    def _run(self, scene: Scene, folder: Path) -> Seen:
        with ModelServer() as server:
            stage = prepare(self._command, self._dialect, scene, server.url, folder)
            try:
                play = Play(stage, scene, self._dialect, server, self._spawner, self._seconds)
            except OSError as error:
                raise NotStarted(f"{stage.argv[0]} cannot be started: {error.strerror}") from None
            with self._lock:
                self._playing.add(play)
                late = self._closed
            stuck = "it was interrupted"
            try:
                if not late:
                    scene.play(play)
                    stuck = ""
            except Stuck as reason:
                stuck = str(reason)
            except Broken as reason:  # What it must have, to go on, is not there.
                stuck = str(reason)
            except Exception as odd:  # Whatever a program prints, it has a verdict.
                stuck = _misshapen(odd)
            finally:
                seen = play.finish(stuck)
                with self._lock:
                    self._playing.discard(play)
        return seen


def judged(check: Check, seen: Seen) -> Verdict:
    """Return whether a check holds for what was seen."""
    try:
        check.judge(seen)
        if check.whole and seen.stuck:
            raise Broken(f"it could not be seen to the end: {seen.stuck}")
    except Broken as broken:
        return Verdict(check, "failed", _sentence(str(broken), seen.stuck))
    except Exception as odd:  # Whatever a program prints, it has a verdict.
        return Verdict(check, "failed", _sentence(_misshapen(odd), seen.stuck))
    return Verdict(check, "passed")


def _misshapen(odd: Exception) -> str:
    return (
        f"what came has another shape than the document's ({': '.join(filter(None, (type(odd).__name__, str(odd))))})"
    )


def _sentence(saw: str, stuck: str) -> str:
    return saw if not stuck or stuck in saw else f"{saw} ({stuck})"


def _left_out(checks: Sequence[Check]) -> Played:
    why = "not one frame came in the first scene, and the others were not played"
    return Played([Verdict(check, "failed", why) for check in checks], [], 0.0, silent=True)
