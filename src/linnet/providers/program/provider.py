"""A provider around one that somebody else wrote. Whatever that does, the reply ends as the others do."""

from collections.abc import Iterator, Sequence
from threading import Condition, Thread
from typing import Any, get_args

from linnet.core.cancel import Cancel
from linnet.core.deltas import CallDelta, CallOpened, CallSigned, Delta, ReplyOpened, Stopped, TextDelta
from linnet.errors import Cancelled, ProviderError, ProviderRejected
from linnet.providers.base import Request
from linnet.providers.program.contract import ModelProvider

MOST_WAITING = 4_096  # Deltas that may wait to be taken; then the generator is not asked for more.
_DELTAS = get_args(Delta)


class ProgramProvider:
    """Implements Provider. The generator runs in a thread of its own, so that an abort never waits for it."""

    def __init__(self, provider: ModelProvider) -> None:
        self.name = provider.name
        self._provider = provider

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        cancel.check()
        reply = _Reply(self._provider, request, cancel)
        Thread(target=reply.run, name="linnet-provider", daemon=True).start()
        opened = stopped = False
        calls: set[str] = set()
        try:
            while batch := reply.take(cancel):
                if not opened:
                    opened = True
                    batch = batch if isinstance(batch[0], ReplyOpened) else [ReplyOpened(), *batch]
                self._follow(batch, calls)
                ends = [at for at, delta in enumerate(batch) if isinstance(delta, Stopped)]
                if ends:
                    stopped = True
                    batch = batch[: ends[0] + 1]
                yield batch
                if stopped:
                    return
        finally:
            reply.abandon()
        if reply.failure is not None:
            raise reply.failure
        yield [*([] if opened else [ReplyOpened()]), Stopped("tool_use" if calls else "end")]

    def _follow(self, batch: Sequence[Delta], calls: set[str]) -> None:
        """Add the calls that are opened. Raises ProviderRejected for one that is opened twice, and for a piece of
        one that is not.
        """
        for delta in batch:
            if isinstance(delta, CallOpened):
                if delta.id in calls:
                    raise ProviderRejected(self.name, f"opened the call {delta.id!r} twice; each has an id of its own")
                calls.add(delta.id)
            elif isinstance(delta, CallDelta | CallSigned) and delta.id not in calls:
                raise ProviderRejected(self.name, f"yielded a piece of the call {delta.id!r}, which it has not opened")

    def warm(self) -> None:
        pass

    def close(self) -> None:
        if (close := getattr(self._provider, "close", None)) is not None:
            close()


class _Reply:
    """What the generator has yielded and nobody has taken yet."""

    def __init__(self, provider: ModelProvider, request: Request, cancel: Cancel) -> None:
        self.failure: ProviderError | Cancelled | None = None
        self._provider = provider
        self._request = request
        self._cancel = cancel
        self._changed = Condition()
        self._waiting: list[Delta] = []
        self._over = False
        self._abandoned = False

    def run(self) -> None:
        """Ask the generator, until it ends or nobody wants to hear more."""
        failure: ProviderError | Cancelled | None = None
        try:
            for yielded in self._provider.stream(self._request, self._cancel):
                if not self._put(_understood(yielded, self._provider.name)):
                    break
        except (ProviderError, Cancelled) as error:
            failure = error
        except BaseException as error:
            failure = ProviderRejected(self._provider.name, f"{type(error).__name__}: {error}")
        with self._changed:
            self.failure, self._over = failure, True
            self._changed.notify_all()

    def take(self, cancel: Cancel) -> list[Delta]:
        """Return what waits, as soon as something does; nothing at the end. Raises Cancelled."""
        with cancel.interrupting(self.abandon), self._changed:
            self._changed.wait_for(lambda: self._waiting or self._over or self._abandoned)
            taken, self._waiting = self._waiting, []
            self._changed.notify_all()
        return taken

    def abandon(self) -> None:
        """Wake whoever waits. The generator is asked for no more."""
        with self._changed:
            self._abandoned = True
            self._changed.notify_all()

    def _put(self, deltas: list[Delta]) -> bool:
        """Return whether more is wanted."""
        with self._changed:
            self._waiting += deltas
            self._changed.notify_all()
            self._changed.wait_for(lambda: len(self._waiting) < MOST_WAITING or self._abandoned)
            return not self._abandoned


def _understood(yielded: Any, provider: str) -> list[Delta]:
    """Return what a generator yielded as deltas. Raises ProviderRejected if it is none."""
    if isinstance(yielded, str):
        return [TextDelta(yielded)] if yielded else []
    if isinstance(yielded, _DELTAS):
        return [yielded]
    if isinstance(yielded, Sequence):
        return [delta for each in yielded for delta in _understood(each, provider)]
    raise ProviderRejected(provider, f"yielded {yielded!r}, which is no piece of a reply")
