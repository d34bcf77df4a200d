"""What a run needs besides its conversation: models to ask, tools to run, and the children they start.

Built on first use, because none of it is needed to answer a ping and all of it is slow to import.
"""

from threading import Lock

from linnet.providers.base import Provider
from linnet.runtime.config import Settings
from linnet.runtime.prompt import system_prompt
from linnet.tools.process import Processes
from linnet.tools.registry import Registry
from linnet.tools.standard import standard_tools


class Machinery:
    """`adopt_orphans`: whether children of children become ours when their parents die, so that they can be killed too.
    A process that is all linnet's own wants that; a program that merely hosts a runtime does not.
    """

    def __init__(self, settings: Settings, *, adopt_orphans: bool) -> None:
        self._settings = settings
        self._lock = Lock()
        self._providers: dict[str, Provider] = {}
        self.tools = Registry(standard_tools(settings.tools))
        self.processes = Processes()
        self.system = system_prompt(
            settings.cwd,
            [spec.name for spec in self.tools.specs],
            settings.system_prompt,
            settings.append_system_prompt,
        )

    def provider(self, name: str) -> Provider:
        with self._lock:
            if name not in self._providers:
                self._providers[name] = self._open(name)
            return self._providers[name]

    def warm(self) -> None:
        self.provider(self._settings.model.provider).warm()

    def close(self) -> None:
        self.processes.close()
        with self._lock:
            for provider in self._providers.values():
                provider.close()

    def _open(self, name: str) -> Provider:
        settings = self._settings
        attempts = 1 if settings.policy.retries_runs else settings.retries + 1
        if name == "scripted":
            from linnet.providers.retry import Retrying
            from linnet.providers.script import built_in
            from linnet.providers.scripted import Scripted

            return Retrying(Scripted(settings.script or built_in()), attempts)
        from linnet.providers.factory import build
        from linnet.providers.http import Timeouts

        return build(
            name,
            settings.accounts.key(name),
            settings.accounts.base_url(name),
            attempts=attempts,
            timeouts=Timeouts(idle=settings.timeout),
        )
