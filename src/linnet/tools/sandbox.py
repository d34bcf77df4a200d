"""Runs commands where they see little and can change less: bubblewrap, around every one of them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from linnet.errors import ConfigError
from linnet.tools.sandbox_view import SYSTEM, View, ours, view, within

ENGINE = "bubblewrap"
FILTER = 3  # The descriptor from which bubblewrap reads the filter of calls.
PATIENCE = 10.0
# Of /proc: the kernel's settings, which belong to no namespace, and what it tells of its memory. All is root's, so it
# is only in reach of root's agent, whose sandbox is root's too. Every mount takes 0.15 ms.
_SETTINGS = ("sys", "sysrq-trigger", "irq", "bus", "fs", "mtrr", "pressure")
_TELLTALES = ("acpi", "kcore", "keys", "kpagecgroup", "kpagecount", "kpageflags", "scsi", "timer_list")
_SHOWN = 300


class Sandbox:
    """`temporary` can be written to by commands and by the agent, under the same name. It is gone after `close`.

    Invariant: every folder onto which something is mounted is made anew for each command. Inside of one that a command
    could write to, the next command's mounts would follow whatever links it had left there.
    """

    def __init__(self, cwd: str, own: str, environ: Mapping[str, str], *, network: bool) -> None:
        """`own` is linnet's home folder. Raises ConfigError, with a sentence, where commands cannot be confined."""
        self.network = network
        self._path = environ.get("PATH", os.defpath)
        self._program = _installed(environ)
        home = os.path.realpath(environ.get("HOME") or os.path.expanduser("~"))
        self._folder = _private_folder(cwd)
        try:
            self.temporary = os.path.join(self._folder, "tmp")
            os.mkdir(self.temporary, 0o700)
            os.mkdir(os.path.join(self._folder, "cache"), 0o700)
            self._filter = _write(os.path.join(self._folder, "filter"), _filter())
            identity = _write(os.path.join(self._folder, "gitconfig"), git_identity(home))
            self.view = view(cwd, self.temporary, home, os.path.realpath(own), environ, ours())
            self._flags = _flags(self.view, self._folder, identity, network=network)
            self._try()
        except BaseException:
            self.close()
            raise

    def wrapped(self, argv: Sequence[str], cwd: str | os.PathLike[str]) -> list[str]:
        """The command line that runs this one in the sandbox; `opened` must be open for it."""
        return [self._program, *self._flags, "--chdir", os.fspath(cwd), "--", *argv]

    @property
    def opened(self) -> dict[int, str]:
        return {FILTER: self._filter}

    @property
    def variables(self) -> dict[bytes, bytes]:
        """Instead of those outside; there are no links to folders in there."""
        return {
            b"HOME": os.fsencode(self.view.home),
            b"TMPDIR": os.fsencode(self.temporary),
            b"PATH": os.fsencode(os.pathsep.join(map(os.path.realpath, self._path.split(os.pathsep)))),
        }

    @property
    def described(self) -> str:
        """For the model."""
        offline = "" if self.network else " and cannot reach the network"
        return (
            f"Commands run in a sandbox: they can write only in the working folder and in $TMPDIR "
            f"({self.temporary}), they do not see the user's home{offline}. /tmp is empty for every command."
        )

    def close(self) -> None:
        """When nothing runs in it any more."""
        from shutil import rmtree

        rmtree(self._folder, ignore_errors=True)

    def _try(self) -> None:
        """A sandbox that does not work is found out now, and not by the first command."""
        import subprocess

        fd = os.open(self._filter, os.O_RDONLY)
        try:
            argv = self.wrapped(["true"], self.view.cwd)
            argv[argv.index("--seccomp") + 1] = str(fd)
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={"PATH": "/usr/bin:/bin"},
                pass_fds=(fd,),
                timeout=PATIENCE,
                start_new_session=True,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ConfigError(f"--sandbox cannot be kept here: {self._program} does not run: {error}") from None
        finally:
            os.close(fd)
        if done.returncode:
            said = " ".join(done.stderr.decode(errors="replace").split())[:_SHOWN]
            raise ConfigError(f"--sandbox cannot be kept here: {said or f'{self._program} failed'}")


def _installed(environ: Mapping[str, str]) -> str:
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, "bwrap")
        if os.path.isabs(path) and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise ConfigError("--sandbox needs bubblewrap, which is not installed here: no bwrap in PATH")


def _private_folder(cwd: str) -> str:
    from tempfile import gettempdir, mkdtemp

    places = [place for place in (gettempdir(), "/tmp", "/var/tmp") if not within(os.path.realpath(place), cwd)]
    for place in places:
        with suppress(OSError):
            return mkdtemp(prefix="linnet-sandbox-", dir=os.path.realpath(place))
    raise ConfigError(f"--sandbox needs a temporary folder outside of {cwd}, and none can be written to")


def _filter() -> bytes:
    from linnet.tools.seccomp import MACHINES, program

    machine = MACHINES.get(os.uname().machine)
    if machine is None:
        raise ConfigError(f"--sandbox is not there for {os.uname().machine}, only for {' and '.join(MACHINES)}")
    return program(machine)


def _write(path: str, content: bytes) -> str:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        file.write(content)
    return path


def _flags(view: View, folder: str, identity: str, *, network: bool) -> list[str]:
    """What is said later is mounted over what was said before."""
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
    return [*flags, "--remount-ro", "/"]


def _veils(paths: Iterable[str]) -> list[str]:
    flags: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            flags += ["--tmpfs", path]
        elif os.path.exists(path):
            flags += ["--ro-bind", "/dev/null", path]
    return flags


def git_identity(home: str) -> bytes:
    """Who commits, from ~/.gitconfig, and nothing else: people keep tokens there."""
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
