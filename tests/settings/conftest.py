"""A home, a project, and linnet in them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite import forked


class Bench:
    """`linnet` with its home in `home`, started in `work`."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LINNET_HOME": str(self.home), "LANG": "C.UTF-8"}

    @property
    def settings(self) -> Path:
        return self.home / "settings.json"

    def plant(self, path: str, text: str = "x", mode: int = 0o644) -> Path:
        """Write a file of the project's."""
        file = self.work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    def run(
        self, *words: str, program: str = "linnet", input: str = "", launched: bool = False, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """`launched`: by its launcher and a Python of its own, where it matters what those find in the folder."""
        command = [str(Path(sys.executable).with_name(program)), *words]
        run = subprocess.run if launched else forked.run
        return run(
            command, cwd=self.work, env={**self.env, **env}, input=input, capture_output=True, text=True, timeout=60
        )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def here(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """The same, for linnet in this process."""
    monkeypatch.setenv("LINNET_HOME", str(bench.home))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(bench.home / "pi"))
    monkeypatch.chdir(bench.work)
    return bench
