"""What a run needs besides its conversation: a model to ask, tools to run, and the children they start.

Built on first use, because none of it is needed to answer a ping and all of it is slow to import.
"""

from msgspec import Struct

from linnet.providers.base import Provider
from linnet.runtime.config import Settings
from linnet.runtime.prompt import system_prompt
from linnet.tools.process import Processes
from linnet.tools.registry import Registry


class Machinery(Struct, frozen=True):
    provider: Provider
    tools: Registry
    processes: Processes
    system: str

    def close(self) -> None:
        self.processes.close()
        self.provider.close()


def build(settings: Settings, *, adopt_orphans: bool) -> Machinery:
    """`adopt_orphans`: whether children of children become ours when their parents die, so that they can be killed too.
    A process that is all linnet's own wants that; a program that merely hosts a runtime does not.
    """
    from linnet.tools.standard import standard_tools

    tools = Registry(standard_tools(settings.tools))
    system = system_prompt(
        settings.cwd,
        [spec.name for spec in tools.specs],
        settings.system_prompt,
        settings.append_system_prompt,
    )
    return Machinery(_provider(settings), tools, Processes(adopt_orphans=adopt_orphans), system)


def _provider(settings: Settings) -> Provider:
    if settings.provider == "scripted":
        from linnet.providers.script import built_in
        from linnet.providers.scripted import Scripted

        return Scripted(settings.script or built_in())
    from linnet.providers.factory import build
    from linnet.providers.http import Timeouts

    return build(
        settings.provider,
        settings.api_key,
        settings.base_url,
        attempts=settings.retries + 1,
        timeouts=Timeouts(idle=settings.timeout),
    )
