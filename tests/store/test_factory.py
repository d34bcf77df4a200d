"""Where logs come from: every factory of ours keeps the contract."""

from pathlib import Path

import pytest

from linnet.store.factory import FileLogs, LogFactory, MemoryLogs
from linnet.testing.log_contract import LogContract
from linnet.testing.slow_log import SlowLogs


class TestFiles(LogContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.home = tmp_path

    def make(self) -> LogFactory:
        return FileLogs(str(self.home), "/work")


class TestMemory(LogContract):
    def make(self) -> LogFactory:
        return MemoryLogs()


class TestSlow(LogContract):
    def make(self) -> LogFactory:
        return SlowLogs()
