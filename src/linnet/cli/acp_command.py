"""`linnet acp`: the agent of an editor, on stdin and stdout."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnet.errors import ConfigError
from linnet.flags.flags import TABLE, Flag, Program, UsageError, help_text, parse
from linnet.server.terminal import ask, say, tell

if TYPE_CHECKING:
    from linnet.runtime.session_factory import SessionFactory
    from linnet.runtime.settings.settings import Settings

USAGE = """\
linnet acp: speak the Agent Client Protocol on stdin and stdout, for an editor that starts this

  linnet acp [flags]       the flags are what every session begins with, unless the editor sets something else
  linnet acp --login       ask for a provider and its key, in a terminal, and keep it

Flags
"""
# A session is begun by the editor, in a folder that it names; the protocol is this one.
_NOT_OURS = frozenset(
    (
        *("mode", "dialect", "pi_version", "stream", "settled", "print", "output_schema", "show_thinking"),
        *("cwd", "session", "resume", "fork", "session_id", "session_name"),
    )
)
ACP = Program(
    "linnet acp",
    USAGE,
    (Flag(("--login",), "login", "ask for a provider and its key, and keep it"),),
    table=tuple(flag for flag in TABLE if flag.field not in _NOT_OURS),
)


def acp(argv: Sequence[str]) -> int:
    """Serve the editor that started this, and return the exit code. Raises UsageError and ConfigError."""
    flags = parse(argv, ACP)
    if flags.help:
        tell(help_text(ACP))
        return 0
    if flags.words:
        raise UsageError(f"linnet acp takes no words, only flags: {flags.words[0]!r}; see linnet acp --help")
    if flags.config.pop("login", False):
        return _login()
    from linnet.acp.editor import Editor
    from linnet.server.serve import Server
    from linnet.server.stdio import claim

    def factory() -> "SessionFactory":
        from linnet.flags import session_habits
        from linnet.runtime.config import config as habits

        return session_habits.factory(flags, "pi-1", os.environ, habits.ACP, keyless=True)

    if os.isatty(0):
        say("waiting for an editor that speaks the Agent Client Protocol; Ctrl-D ends")
    server, stdio = Server(owns_process=True), claim()
    saves = flags.config.get("save") is not False
    server.add(lambda wake: Editor(stdio, wake, factory, saves=saves, look=_concealed))
    return server.run()


def _concealed(settings: "Settings") -> "Settings":
    from linnet.cli.main import concealed

    return concealed(settings)


def _login() -> int:
    """Ask for a provider, and then for its key. Raises ConfigError."""
    import sys

    from linnet.cli.auth_command import login

    ask("Provider (anthropic, openai, google, …): ")
    provider = sys.stdin.readline().strip() if sys.stdin is not None else ""
    if not provider:
        raise ConfigError("nothing was kept")
    return login(provider)
