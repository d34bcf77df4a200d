"""The tests' own Postgres is there when it is asked for, and gone with whoever asked."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import psycopg

from tests.postgres.cluster import Cluster

ROOT = Path(__file__).parents[2]


def test_each_test_has_a_database_of_its_own_by_socket_and_by_tcp(postgres: Cluster) -> None:
    one, other = postgres.database(), postgres.database(tcp=True)
    assert one != other
    for url in (one, other):
        with psycopg.connect(url) as connection:
            connection.execute("create table mine (it int)")


def test_what_was_committed_is_there_after_the_server_was_killed(postgres: Cluster) -> None:
    postgres.run("create table kept (it int)", "template1")
    postgres.run("insert into kept values (7)", "template1")
    postgres.kill()
    postgres.start()
    assert postgres.run("select it from kept", "template1") == [(7,)]
    postgres.run("drop table kept", "template1")


def test_the_server_is_gone_when_the_process_of_the_tests_was_killed(postgres: Cluster) -> None:
    words = "from tests.postgres.cluster import cluster; c = cluster(); print(c.folder, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", words], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        folder = Path(child.stdout.readline().strip())
        server = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        ended = os.pidfd_open(server)
        child.send_signal(signal.SIGKILL)
    select.select([ended], [], [])
    os.close(ended)
