"""Makes what opens sessions from what a command line says, with the habits of the protocol and of the program."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from linnet.flags.flags import Flags

if TYPE_CHECKING:
    from linnet.runtime.config.config import Config
    from linnet.runtime.session_factory import SessionFactory
    from linnet.store.factory import LogFactory


def factory(
    flags: Flags,
    dialect: str,
    environ: Mapping[str, str],
    *besides: "Config",
    keyless: bool = False,
    client_tools: bool = False,
    logs: "LogFactory | None" = None,
    own_process: bool = True,
) -> "SessionFactory":
    """Return what opens sessions, in `logs` or else in files. With `keyless`, a missing key does not keep it from that;
    with `client_tools`, clients may bring tools. `besides` are habits that come last. `own_process` is that of
    SessionFactory.
    """
    from linnet.runtime.config import config as habits
    from linnet.runtime.config.config import KEYLESS, PI_073, PI_1, Config
    from linnet.runtime.session_factory import SessionFactory

    executable = {"pi": habits.LINNET_PI, "zot": habits.LINNET_ZOT}.get(flags.stands_in_for or "", Config())
    later = {"pi-0.73": PI_073, "pi-0.87": PI_1, "pi-1": PI_1}
    spoken = {"zot": habits.ZOT, "pi-legacy": habits.PI_LEGACY, **later}.get(dialect, habits.PI)
    today = habits.PI_TODAY if flags.stands_in_for == "pi" and dialect in later else Config()
    below = (spoken, executable, today, KEYLESS if keyless else Config(), *besides)
    return SessionFactory(
        Config(**flags.config), environ, *below, client_tools=client_tools, own_process=own_process, logs=logs
    )
