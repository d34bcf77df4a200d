"""What may be asked for over HTTP. Whatever is not listed here is refused, by a sentence that names it.

On the unix socket whoever may connect is the user. A token may be in a browser, on a phone, or with somebody else: who
has it may open agents in some folders, with some flags, and never gives a path.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from linnet.core import commands
from linnet.core.permissions.rule import Mode
from linnet.errors import BadInput, ConfigError
from linnet.flags.flags import LINNET, Flag, parse
from linnet.runtime.config.config import PI, Config
from linnet.runtime.config.merged_layers import layered
from linnet.runtime.project.project import Project
from linnet.runtime.settings.folders import home_folder
from linnet.runtime.settings.layers import found
from linnet.serve.http.replies import not_allowed

STRICTER: Final[tuple[Mode, ...]] = ("auto", "ask", "read-only", "deny")
"""Each is stricter than those before it."""
DEFAULT_FLAGS: Final = (
    *("--provider", "--model", "--reasoning", "--name", "--tools", "--no-tools", "--exclude-tools"),
    *("--max-steps", "--max-cost", "--max-seconds", "--permission", "--session", "--session-id", "--fork"),
)
_LIMITS: Final = ("max_steps", "max_cost", "max_seconds")
_OF_SESSIONS: Final = ("session", "fork")
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
# The fields of commands that say where something is, and what they must be over HTTP instead. A session is named by
# its id, and a page is fetched by a request of its own.
_PATHS: Final[Mapping[type[Any], str]] = {
    commands.SwitchSession: "session",
    commands.NewSession: "parent",
    commands.ExportHtml: "path",
}


class Allowance(Struct, frozen=True):
    """Which folders agents may be opened in, and which flags they may be opened with."""

    roots: tuple[str, ...] = ()
    """Folders without links in their paths."""
    flags: frozenset[str] = frozenset()
    """Names of flags that are allowed with any value, beside the usual ones."""
    defaults: tuple[str, ...] = ()
    """Words that the server opens every agent with."""

    def named(self) -> list[str]:
        """Return the names of all flags that are allowed."""
        return sorted({name for each in (*DEFAULT_FLAGS, *self.flags) for name in _KNOWN[each].names})

    def covers(self, folder: str) -> bool:
        """Return whether a folder, once links are followed, is one of the roots or in one."""
        try:
            real = os.path.realpath(folder)
            return any(os.path.commonpath((root, real)) == root for root in self.roots)
        except ValueError:
            return False  # A NUL in the name, or no whole path.

    def folder(self, cwd: str) -> str:
        """Return the folder to work in, without links. Raises Problem, with the same sentence for whatever is outside
        of the roots, whether it is there or not.
        """
        if not self.roots:
            raise not_allowed(f"cwd {cwd} is not allowed: the server was started without --root")
        if not os.path.isabs(cwd) or not self.covers(cwd) or not os.path.isdir(real := os.path.realpath(cwd)):
            raise not_allowed(f"cwd {cwd} is not a folder under one of the roots")
        return real

    def words(
        self, said: Sequence[str], cwd: str, environ: Mapping[str, str], session: Callable[[str], str]
    ) -> tuple[str, ...]:
        """Return the words of a command line again, each flag with its value in one word. `session` returns the file of
        a session by its id. Raises Problem if one is not allowed, and BadInput if it cannot be understood.
        """
        rest, accepted = list(said), []
        while rest:
            name, equals, value = rest.pop(0).partition("=")
            flag = _KNOWN.get(name) if name.startswith("-") else None
            if flag is None or not self._lists(flag):
                raise not_allowed(
                    f"{name} is not among the flags that may be asked for here: {', '.join(self.named())}"
                )
            if flag.parse is None:
                if equals:
                    raise BadInput(f"{name} takes no value")
                accepted.append(name)
                continue
            if not equals:
                if not rest:
                    raise BadInput(f"{name} needs a value: {flag.word}")
                value = rest.pop(0)
            accepted.append(f"{name}={self._value(flag, name, value, cwd, environ, session)}")
        return tuple(accepted)

    def _lists(self, flag: Flag) -> bool:
        return any(name in DEFAULT_FLAGS or name in self.flags for name in flag.names)

    def _value(
        self,
        flag: Flag,
        name: str,
        word: str,
        cwd: str,
        environ: Mapping[str, str],
        session: Callable[[str], str],
    ) -> str:
        """Return the word that is passed on for the value of a flag."""
        assert flag.parse is not None
        if flag.field in (*_OF_SESSIONS, "session_id"):
            id = session_id(word, name)
            return session(id) if flag.field in _OF_SESSIONS else id
        try:
            value = flag.parse(word)
        except ValueError as error:
            raise BadInput(f"{name} must be {error}, not {word!r}") from None
        if self.flags.intersection(flag.names):
            return word
        if flag.field == "exclude_tools":  # What the server leaves out stays out.
            return ",".join([*parse(self.defaults).config.get("exclude_tools", ()), *value])
        if flag.field == "permission" and STRICTER.index(value) < STRICTER.index(own := self._permission(cwd, environ)):
            raise not_allowed(f"{name} {word} is less strict than {own}, which holds on this server")
        if flag.field in _LIMITS:
            limit = getattr(self._settings(cwd, environ), flag.field)
            if limit is not None and value > limit:
                raise not_allowed(f"{name} {word} is over {limit:g}, which holds on this server")
        return word

    def check(self, command: commands.Command, cwd: str, environ: Mapping[str, str]) -> None:
        """Raise Problem if the command must not be given over HTTP to an agent that works in this folder."""
        field = _PATHS.get(type(command))
        value = None if field is None else getattr(command, field)
        if value is not None and isinstance(command, commands.ExportHtml):
            raise not_allowed("outputPath is not allowed over HTTP; fetch the page: GET /v1/agents/ID/export")
        if value is not None:
            session_id(value, "sessionPath" if isinstance(command, commands.SwitchSession) else "parentSession")
        if getattr(command, "save", False):
            raise not_allowed("save is not allowed over HTTP: the user's settings are for all agents")
        match command:
            case commands.Trust("once" | "always") if "--trust" not in self.flags:
                raise not_allowed("trust is not allowed over HTTP, unless --open-flags has --trust")
            case commands.Bash() if (holds := self._permission(cwd, environ)) in ("read-only", "deny"):
                raise not_allowed(f"bash is not allowed over HTTP where the permission is {holds}")
            case commands.ListSessions(everywhere) if everywhere or not self.covers(cwd):
                raise not_allowed(
                    "list_sessions is allowed over HTTP for one folder under a root; GET /v1/sessions has all that may "
                    "be seen"
                )
            case _:
                pass

    def _permission(self, cwd: str, environ: Mapping[str, str]) -> Mode:
        """Return the permission that holds in this folder. Raises ConfigError."""
        holds = self._settings(cwd, environ).permission
        return next((mode for mode in STRICTER if mode == holds), "auto")

    def _settings(self, cwd: str, environ: Mapping[str, str]) -> Config:
        """Return what holds in this folder for an agent that nobody said anything else about. Raises ConfigError."""
        home = home_folder(environ)
        layers = found(Config(**parse(self.defaults).config), environ, [PI], home, Project(cwd, home))
        return layered(*(layer.config for layer in layers.all))


def session_id(word: str, what: str) -> str:
    """Return the word if it looks like the id of a session. Raises Problem."""
    if not _ID.fullmatch(word):
        raise not_allowed(f"{what} {word} is not allowed: over HTTP, sessions are named by id and never by path")
    return word


def allowance(
    roots: Sequence[str | os.PathLike[str]] = (), open_flags: Sequence[str] = (), defaults: Sequence[str] = ()
) -> Allowance:
    """Return what may be asked for. Raises ConfigError if a root is no folder, or a flag is not known."""
    real = []
    for root in roots:
        real.append(os.path.realpath(root))
        if not os.path.isdir(real[-1]):
            raise ConfigError(f"--root {os.fspath(root)} is not a folder")
    spelled = {flag if flag.startswith("-") else f"--{flag}" for flag in open_flags}
    if unknown := sorted(spelled - _KNOWN.keys()):
        raise ConfigError(f"--open-flags has {unknown[0]}, which is not a flag of linnet; see linnet --help")
    return Allowance(tuple(dict.fromkeys(real)), frozenset(spelled), tuple(defaults))


_KNOWN: Final = LINNET.by_name()
