"""A Postgres of the tests' own: one for each process that runs tests, made when the first of them asks.

    from tests.postgres.cluster import cluster

    url = cluster().database()  # An empty database of one's own.

In a test, the fixture `postgres` is this server. Whoever kills the server (`kill`, `start`)
has it back before the next test: `cluster()` starts it again.
"""

import atexit
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from functools import cache
from itertools import count
from pathlib import Path

KEEPER = Path(__file__).parent / "keeper.py"
MISSING = "there is no Postgres on this machine: requirements/system.sh installs it where it may"
_TRIES = 5


class NoPostgres(Exception):
    """It is not installed, or does not start."""


class Cluster:
    """A server with a folder of its own, on a unix socket and on a loopback port that the system chose.

    Everybody on this machine may connect as `postgres` without a password, which matters to nobody: it ends with the
    process that made it. Members of a role `guarded` need their password over TCP, where somebody makes that role.
    """

    def __init__(self, *, durable: bool = False) -> None:
        """With `durable` it syncs each commit to disk, as servers in production do. Raises NoPostgres."""
        programs = _programs()
        self.folder = tempfile.mkdtemp(prefix="lpg", dir="/tmp")  # The path of a socket must be short.
        self._databases = count(1)
        self._keeper: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()
        self._is_up = False
        user = _other_user() if os.geteuid() == 0 else ""
        try:
            if user:
                shutil.chown(self.folder, user, user)
            self._make(programs, user)
            self._begin(programs, user, durable=durable)
        except BaseException:
            self.close()
            raise

    def url(self, database: str = "postgres", *, user: str = "postgres", tcp: bool = False) -> str:
        """Return the URL of a database, by the unix socket or by TCP."""
        if tcp:
            return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"
        return f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}"

    def database(self, *, tcp: bool = False) -> str:
        """Make a database, and return its URL."""
        name = f"linnet{next(self._databases)}"
        self.run(f"create database {name}")
        return self.url(name, tcp=tcp)

    def run(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run a statement outside of a transaction, and return its rows."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def kill(self) -> None:
        """End the server at once, with all connections: what is not committed is lost."""
        self._say("kill")
        self._is_up = False

    def stop(self) -> None:
        """End the server in good order."""
        self._say("stop")
        self._is_up = False

    def start(self) -> None:
        """Start it again, on the same port; it recovers what was committed. Does nothing if it is up."""
        if not self._is_up:
            self._say(f"start {self.port}")
            self._is_up = True

    def close(self) -> None:
        """End the server and remove its folder. Idempotent."""
        if os.getpid() != self._owner:
            return  # A process that was forked off has no server to end.
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            assert keeper.stdin is not None
            assert keeper.stdout is not None
            keeper.stdin.close()
            keeper.wait()
            keeper.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self, programs: Path, user: str) -> None:
        """Make the files of a new server."""
        identity = {"user": user, "group": user, "extra_groups": []} if user else {}
        made = subprocess.run(
            [
                *(programs / "initdb", "--no-sync", "-D", f"{self.folder}/data"),
                *("-U", "postgres", "-A", "trust", "--encoding=UTF8", "--locale=C"),
            ],
            cwd="/",
            capture_output=True,
            text=True,
            **identity,  # type: ignore[call-overload]
        )
        if made.returncode:
            raise NoPostgres(f"initdb has failed: {made.stderr.strip()}")
        rules = Path(self.folder, "data", "pg_hba.conf")
        rules.write_text(
            "host all +guarded 127.0.0.1/32 scram-sha-256\nlocal all all trust\nhost all all 127.0.0.1/32 trust\n"
        )

    def _begin(self, programs: Path, user: str, *, durable: bool) -> None:
        """Start the keeper, and by it the server."""
        options = {
            "fsync": "on" if durable else "off",
            "full_page_writes": "on" if durable else "off",
            "autovacuum": "on" if durable else "off",
            "shared_buffers": "32MB",
            "max_connections": "300",
            "max_wal_size": "256MB",
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.folder,
        }
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        command = [str(programs / "postgres"), "-D", f"{self.folder}/data", *words]
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(KEEPER), str(os.getpid()), self.folder, user, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
            start_new_session=True,  # A signal to the group of the tests must not keep it from tidying up.
        )
        for tries_left in reversed(range(_TRIES)):
            self.port = _free_port()
            try:
                self.start()
                return
            except NoPostgres:  # Somebody else may have taken the port meanwhile.
                if not tries_left:
                    raise

    def _say(self, word: str) -> None:
        assert self._keeper is not None, "the cluster is closed"
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        self._keeper.stdin.write(f"{word}\n".encode())
        self._keeper.stdin.flush()
        answer = self._keeper.stdout.readline().decode(errors="replace").strip()
        if answer != "ok":
            raise NoPostgres(answer or "the keeper of the server has ended")


def cluster() -> Cluster:
    """Return this process's server, which is up. Raises NoPostgres."""
    made = _made(os.getpid())
    made.start()
    return made


@cache
def _made(process: int) -> Cluster:
    made = Cluster()
    atexit.register(made.close)
    return made


def _programs() -> Path:
    """Return the folder with the server's programs, the newest if there are several. Raises NoPostgres."""
    places = [Path(place) for place in os.environ.get("PATH", "").split(":") if place]
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: -int(each.parent.name))
    for place in [*debian, *places]:
        if all((place / name).exists() for name in ("postgres", "initdb", "pg_isready")):
            return place
    raise NoPostgres(MISSING)


def _other_user() -> str:
    """Return the user that runs the server, which refuses to be root. Raises NoPostgres."""
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise NoPostgres("Postgres refuses to run as root, and there is neither a user postgres nor nobody")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
