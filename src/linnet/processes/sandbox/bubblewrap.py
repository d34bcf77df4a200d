"""The sandbox of `--sandbox`: wraps each command in bubblewrap, with mounts, namespaces and a seccomp filter."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from linnet.errors import ConfigError
from linnet.processes.lookup import installed, own_program, within
from linnet.processes.sandbox import protected_paths
from linnet.processes.sandbox.view import SYSTEM, View, ours, view

if TYPE_CHECKING:
    from linnet.processes.proxy.server import Proxy

ENGINE = "bubblewrap"
FILTER = 3  # The descriptor from which bubblewrap reads the filter of calls.
# Of /proc: the kernel's settings, which belong to no namespace, and what it tells of its memory. All is root's, so it
# is only in reach of root's agent, whose sandbox is root's too. Every mount takes 0.15 ms.
_SETTINGS = ("sys", "sysrq-trigger", "irq", "bus", "fs", "mtrr", "pressure")
_TELLTALES = ("acpi", "kcore", "keys", "kpagecgroup", "kpagecount", "kpageflags", "scsi", "timer_list")
IfAlone: TypeAlias = Callable[[Callable[[], None]], None]


class Confinement:
    """What commands of one session run in, by whatever means, with a folder of its own."""

    _folder: str

    def wrapped(
        self,
        argv: Sequence[str],
        cwd: str | os.PathLike[str],
        if_alone: IfAlone = lambda action: None,
        shown: Sequence[str] = (),
    ) -> list[str]:
        """Return the command line that runs this one confined; `opened` must be open for it. It also sees the paths
        that are `shown`, which have no links in them. `if_alone` calls what it is given if nothing else runs in there.
        """
        return [*self._prefix(cwd, if_alone, shown), *argv]

    def close(self) -> None:
        """Remove its folders. To be called when nothing runs in it any more."""
        from shutil import rmtree

        rmtree(self._folder, ignore_errors=True)

    def _prefix(self, cwd: str | os.PathLike[str], if_alone: IfAlone, shown: Sequence[str]) -> list[str]:
        """Return the words before a command that confine it."""
        raise NotImplementedError


class Sandbox(Confinement):
    """A Confinement by bubblewrap.

    Invariant: what is mounted onto is made anew for each command, or is in the working folder, no link, and was there
    when nothing ran that could have put one in its place: mounts would follow whatever links a command had left.
    """

    engine = ENGINE

    def __init__(
        self, cwd: str, own: str, environ: Mapping[str, str], *, network: bool, hosts: Sequence[str] = ()
    ) -> None:
        """Make its folders, and try it once. `own` is linnet's home folder; `hosts` may be reached although the rest of
        the network may not. Raises ConfigError where commands cannot be confined.
        """
        self.network = network
        self.hosts = tuple(hosts)
        self._proxy: Proxy | None = None
        self._before: list[str] = []
        self._path = environ.get("PATH", os.defpath)
        self._program = _engine(self._path, cwd)
        home = os.path.realpath(environ.get("HOME") or os.path.expanduser("~"))
        self._folder = private_folder(cwd)
        try:
            self.temporary = os.path.join(self._folder, "tmp")
            """A folder that commands and the agent can write to, under the same name. `close` removes it."""
            os.mkdir(self.temporary, 0o700)
            os.mkdir(os.path.join(self._folder, "cache"), 0o700)
            self._filter = written(os.path.join(self._folder, "filter"), calls())
            identity = written(os.path.join(self._folder, "gitconfig"), git_identity(home))
            self.view = view(cwd, self.temporary, home, os.path.realpath(own), environ, ours())
            self._flags = _flags(self.view, self._folder, identity, network=network)
            self._protected = protected_paths.present(cwd)
            if hosts:
                self._open_proxy()
            self._try()
        except BaseException:
            self.close()
            raise

    def _prefix(self, cwd: str | os.PathLike[str], if_alone: IfAlone, shown: Sequence[str]) -> list[str]:
        """Return the words before a command that confine it.

        What was replaced or has appeared of what is protected is protected from here on, if nothing else runs in there.
        Otherwise only what is still the same is mounted on: anything else might be a link by the time it is.
        """
        found = protected_paths.present(self.view.cwd)
        if found != self._protected:
            if_alone(self._protect)
            found = protected_paths.present(self.view.cwd)
        kept = sorted(path for path, identity in found.items() if self._protected.get(path) == identity)
        flags = list(self._flags)
        for path in shown:
            if self.view.access(path) == "hidden":
                flags += ["--ro-bind", path, path]
        above = protected_paths.anchors(kept, self.view.cwd)
        for path in above:
            flags += ["--bind-try", path, path]
        for path in kept:
            flags += ["--ro-bind-try", path, path]
        before = protected_paths.checking((*above, *kept), self.view.cwd) if kept else []
        flags += ["--remount-ro", "/", "--chdir", os.fspath(cwd), "--"]
        return [self._program, *flags, *before, *self._before]

    @property
    def opened(self) -> dict[int, str]:
        """The files that must be open for a command, by descriptor."""
        return {FILTER: self._filter}

    @property
    def variables(self) -> dict[bytes, bytes]:
        """What replaces the same variables of the environment outside."""
        # Of PATH the real folders: links to them are not in there.
        return {
            b"HOME": os.fsencode(self.view.home),
            b"TMPDIR": os.fsencode(self.temporary),
            b"PATH": os.fsencode(os.pathsep.join(map(os.path.realpath, self._path.split(os.pathsep)))),
        }

    @property
    def described(self) -> str:
        """What the model is told of the sandbox."""
        offline = "" if self.network else " and cannot reach the network"
        if self.hosts:
            offline = f" and reach no host but {', '.join(self.hosts)}, by HTTP and HTTPS through $HTTPS_PROXY"
        return (
            f"Commands run in a sandbox: they can write only in the working folder and in $TMPDIR "
            f"({self.temporary}), they do not see the user's home{offline}. /tmp is empty for every command."
        )

    def _protect(self) -> None:
        """Protect what is there now. Only while nothing runs in the sandbox."""
        self._protected = protected_paths.present(self.view.cwd)

    def close(self) -> None:
        """End the proxy, and remove the folders. To be called when nothing runs in it any more."""
        if self._proxy is not None:
            self._proxy.close()
        super().close()

    def _open_proxy(self) -> None:
        """Start the proxy by which commands reach the hosts. Raises ConfigError."""
        from linnet.processes.proxy.hosts import parsed
        from linnet.processes.proxy.server import Proxy

        hosts = parsed(self.hosts)
        folder = os.path.join(self._folder, "proxy")
        os.mkdir(folder, 0o700)
        self._proxy = Proxy(hosts, folder)
        # What a command itself serves is reached directly, unless it is this machine's that is meant.
        spared = "" if hosts.local else "localhost,127.0.0.1,::1"
        self._flags += ["--ro-bind", folder, folder]
        self._before = own_program("processes.proxy.entrance", folder, spared)

    def _try(self) -> None:
        """Run a command that tries to get out. Raises ConfigError if the sandbox does not work."""
        from linnet.processes.sandbox import trial

        outside = os.path.join(self._folder, "outside")
        command = self.wrapped(trial.argv(outside, self.temporary), self.view.cwd)
        fd = os.open(self._filter, os.O_RDONLY)
        try:
            command[command.index("--seccomp") + 1] = str(fd)
            trial.check(command, [fd], outside, self.temporary, alone=not self.network, flag="--sandbox")
        finally:
            os.close(fd)


def _engine(path: str, cwd: str) -> str:
    """Return the path of bubblewrap. Raises ConfigError."""
    if program := installed("bwrap", path, cwd):
        return program
    raise ConfigError(
        "--sandbox needs bubblewrap, which is not installed here: no bwrap in PATH; "
        "--sandbox-files is weaker, and needs only the kernel"
    )


def private_folder(cwd: str, flag: str = "--sandbox") -> str:
    """Make a temporary folder outside of the working folder, and return its real path. Raises ConfigError."""
    from tempfile import gettempdir, mkdtemp

    places = [place for place in (gettempdir(), "/tmp", "/var/tmp") if not within(os.path.realpath(place), cwd)]
    for place in places:
        with suppress(OSError):
            return mkdtemp(prefix="linnet-sandbox-", dir=os.path.realpath(place))
    raise ConfigError(f"{flag} needs a temporary folder outside of {cwd}, and none can be written to")


def calls(flag: str = "--sandbox") -> bytes:
    """Return the filter of calls for this machine. Raises ConfigError if there is none."""
    from linnet.processes.sandbox.seccomp import MACHINES, program

    machine = MACHINES.get(os.uname().machine)
    if machine is None:
        raise ConfigError(f"{flag} is not there for {os.uname().machine}, only for {' and '.join(MACHINES)}")
    return program(machine)


def written(path: str, content: bytes) -> str:
    """Write a new file that only its owner may read, and return its path."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        file.write(content)
    return path


def _flags(view: View, folder: str, identity: str, *, network: bool) -> list[str]:
    """Return bubblewrap's flags for this view; what is said later is mounted over what was said before."""
    flags = ["--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    flags += ["--unshare-cgroup-try", "--cap-drop", "ALL", "--seccomp", str(FILTER)]
    if not network:
        flags += ["--unshare-net"]
    for path in SYSTEM:
        if os.path.islink(path):
            flags += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            flags += ["--ro-bind", path, path]
    names = os.path.realpath("/etc/resolv.conf")
    if network and not within(names, "/etc") and os.path.isfile(names):
        flags += ["--ro-bind", names, names]
    flags += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp"]
    for path in (f"/proc/{name}" for name in _SETTINGS[: None if view.root else 2]):
        if os.path.exists(path):
            flags += ["--ro-bind", path, path]
    if view.root:
        flags += _veils(f"/proc/{name}" for name in _TELLTALES)
    if view.home != "/":
        flags += ["--tmpfs", view.home, "--ro-bind", identity, os.path.join(view.home, ".gitconfig")]
    for path in view.shown:
        flags += ["--ro-bind", path, path]
    flags += _veils(view.veiled)
    cache = os.path.join(view.home, ".cache")
    if view.home != "/" and not any(within(path, cache) for path in (view.cwd, view.temporary, *view.shown)):
        flags += ["--bind", os.path.join(folder, "cache"), cache]
    flags += ["--bind", view.temporary, view.temporary, "--bind", view.cwd, view.cwd]
    return flags


def _veils(paths: Iterable[str]) -> list[str]:
    """Return the flags that put something empty over each of these that is there."""
    flags: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            flags += ["--tmpfs", path]
        elif os.path.exists(path):
            flags += ["--ro-bind", "/dev/null", path]
    return flags


def git_identity(home: str) -> bytes:
    """Return a .gitconfig with the user's name and address only: people keep tokens in theirs. Empty if it has none."""
    said: dict[str, str] = {}
    section = ""
    with suppress(OSError), open(os.path.join(home, ".gitconfig"), encoding="utf-8", errors="replace") as file:
        for line in file:
            word, equals, value = (part.strip() for part in line.partition("="))
            if line.strip().startswith("["):
                section = line.strip().lower()
            elif section == "[user]" and equals and word.lower() in ("name", "email") and not value.endswith("\\"):
                said[word.lower()] = value
    lines = [f"\t{name} = {value}\n" for name, value in said.items()]
    return "".join(["[user]\n", *lines]).encode() if lines else b""
