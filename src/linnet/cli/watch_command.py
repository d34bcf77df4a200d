"""The command `linnet watch`: any agent on a page, while another program uses it."""

import sys
from collections.abc import Sequence
from contextlib import suppress

from linnet.cli.monitor_command import DIALECT, HELP, parsed
from linnet.flags.flags import Flag, Flags, Program, UsageError, help_text
from linnet.server.terminal import tell


def _whole(word: str) -> int:
    if not word.isdecimal() or not 0 < int(word) < 1 << 62:
        raise ValueError("a whole number, 1 or more")
    return int(word)


WATCH = Program(
    "linnet watch",
    """\
linnet watch: the conversation of any agent on a page, while another program uses it

  linnet watch [flags] -- COMMAND…    run an agent; its stdin and stdout pass through byte for byte

  The address of the page is said on stderr, with a token for this run. Nothing can be changed there.

Flags
""",
    (
        Flag(("--http",), "http", "where the page is served (default: 127.0.0.1:0, any port)", str, "ADDRESS"),
        Flag(("--open",), "show", "show the page in a browser"),
        Flag(("--keep-bytes",), "keep_bytes", "bytes of lines that are kept for it (default: 64 MiB)", _whole, "N"),
        DIALECT,
    ),
    table=HELP,
)


def watch(argv: Sequence[str]) -> int:
    """Run an agent, serve its page, and return its exit code. Raises UsageError and ConfigError."""
    flags, command = parsed(argv, WATCH)
    if flags.help:
        tell(help_text(WATCH))
        return 0
    if flags.words or not command:
        raise UsageError("say what to watch: linnet watch -- COMMAND…")
    return _run(command, flags)


def _run(command: list[str], flags: Flags) -> int:
    import gc
    import subprocess

    from linnet.monitor.passthrough import pass_through
    from linnet.monitor.watched_child import start
    from linnet.serve.watching.watch_server import WatchServer
    from linnet.serve.watching.watched import Watched
    from linnet.serve.watching.watched_lines import MOST

    said = flags.config
    kept = said.get("keep_bytes", MOST)
    watched = Watched(flags.dialect, kept)  # type: ignore[arg-type]  # The flag lets nothing else through.
    server = WatchServer(watched, said.get("http", "127.0.0.1:0"))
    process = start(command, stdout=subprocess.PIPE, bufsize=0)
    sys.setswitchinterval(0.0005)  # Seconds that the agent's bytes wait at most for those who look at them.
    gc.freeze()
    gc.enable()
    server.begin(_say, show=bool(said.get("show")))
    code = pass_through(process, watched.stream(), watched.tap)
    server.end()
    return code


def _say(sentence: str) -> None:
    """Write a line to stderr in a thread that may wait for its reader for ever: `sys.stderr` would be locked by it."""
    from linnet.core.text.terminal_text import spelled_out
    from linnet.monitor.tap import put

    with suppress(OSError):
        put(2, spelled_out(f"linnet: {sentence}\n").encode())
