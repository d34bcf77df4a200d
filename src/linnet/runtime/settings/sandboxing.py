"""Checks the settings about the sandbox, and builds the one that they ask for. Imported only where they do."""

import os
from typing import TYPE_CHECKING

from linnet.core.setting_names import Spelling
from linnet.errors import ConfigError, Contradiction
from linnet.runtime.config.config import Config

if TYPE_CHECKING:
    from linnet.processes.sandbox.bubblewrap import Sandbox
    from linnet.processes.sandbox.files_only import FilesOnly
    from linnet.runtime.settings.settings import Settings


def check(config: Config, spelled: Spelling) -> None:
    """Raise ConfigError for settings that contradict each other, or that are about a sandbox which is not asked for."""
    for one, other in (("sandbox", "sandbox_files"), ("sandbox_network", "sandbox_hosts")):
        if getattr(config, one) and getattr(config, other):
            raise Contradiction(spelled(one), spelled(other))
    for field, does in (
        ("sandbox_network", "lets commands in the sandbox use the network"),
        ("sandbox_hosts", "lets commands in the sandbox reach some hosts"),
        ("sandbox_extensions", "puts programs of extensions into the sandbox"),
    ):
        walled = config.sandbox or (config.sandbox_files and field == "sandbox_extensions")
        if getattr(config, field) and not walled:
            raise ConfigError(f"{spelled(field)} {does}; it goes with {spelled('sandbox')}")
    if config.sandbox_hosts:
        from linnet.processes.proxy.hosts import parsed

        parsed(config.sandbox_hosts, spelled("sandbox_hosts"))


def built(settings: "Settings") -> "Sandbox | FilesOnly":
    """Return the sandbox. Raises ConfigError, with a sentence, if commands cannot be confined on this machine."""
    if settings.sandbox_files:
        from linnet.processes.sandbox.files_only import FilesOnly

        return FilesOnly(settings.cwd, settings.sessions.home, os.environ)
    from linnet.processes.sandbox.bubblewrap import Sandbox

    network, hosts = settings.sandbox_network, settings.sandbox_hosts
    return Sandbox(settings.cwd, settings.sessions.home, os.environ, network=network, hosts=hosts)
