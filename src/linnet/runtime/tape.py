"""Records what the providers of a session stream, or plays what was recorded instead of asking them."""

from collections.abc import Callable

from linnet import __version__
from linnet.providers.base import Provider
from linnet.providers.recorded.recorder import Recorder
from linnet.providers.recorded.recording import FORMAT, Header
from linnet.providers.recorded.recording import model as written
from linnet.providers.recorded.replay import Replay
from linnet.runtime.settings.settings import Settings


class Tape:
    """One recording of one session: it goes on where other settings hold."""

    def __init__(self, settings: Settings, trace: Callable[[str], None] | None = None) -> None:
        """Begin to record, or to play. `trace` is told what is played. Raises ConfigError."""
        self._trace = trace
        self.replay: Replay | None = None
        self._recorder: Recorder | None = None
        home = settings.sessions.home
        if settings.recording is not None:
            match, paced = settings.recording_match, settings.recording_paced
            self.replay = Replay(settings.recording, settings.cwd, home, match, paced=paced)
        elif settings.record is not None:
            header = Header(FORMAT, __version__, settings.cwd, home, written(settings.model))
            self._recorder = Recorder(settings.record, header, _secrets(settings))

    def provider(self, open: Callable[[], Provider], key: str) -> Provider:
        """Return the provider that is played, or else the one that `open` returns, recorded. `key` is its key."""
        if self.replay is not None:
            return self.replay if self._trace is None else _traced(self.replay, self._trace)
        provider = open()
        if self._recorder is None:
            return provider
        self._recorder.hiding.add([key])
        return self._recorder.around(provider)

    def close(self) -> None:
        """End the recording. Idempotent."""
        if self._recorder is not None:
            self._recorder.close()


def _traced(provider: Provider, trace: Callable[[str], None]) -> Provider:
    from linnet.providers.trace import Traced

    return Traced(provider, trace)


def _secrets(settings: Settings) -> list[str]:
    """Return all keys that are known, and the values of variables whose names say that they are secret."""
    from linnet.core.text.known_secrets import of_environment

    return [*of_environment(settings.environ), *settings.accounts.secrets()]
