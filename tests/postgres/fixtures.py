"""The fixture `postgres`: a server of this process's own."""

import os

import pytest

from tests.postgres.cluster import Cluster, NoPostgres, cluster


@pytest.fixture
def postgres() -> Cluster:
    """The server of this process, which is up. A test may kill it."""
    try:
        return cluster()
    except NoPostgres as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))
