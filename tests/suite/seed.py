"""One seed for the order of the tests and for what Hypothesis draws, told at the start, to repeat a run with."""

import os
import secrets
import subprocess
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest


def of_the_commit(folder: Path) -> int | None:
    """Return a number that is another for each commit; None if `folder` is in no repository, or there is no git."""
    try:
        said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return int(said.stdout[:8], 16) if said.returncode == 0 else None


def chosen(folder: Path, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return a seed and where it is from: in CI the commit, so that each gets another, and the same when run again."""
    number = of_the_commit(folder) if environ.get("CI") else None
    return (str(secrets.randbits(32)), "by chance") if number is None else (str(number), "from the commit")


class Seed:
    """Tells the seed to whoever reads, and to the processes that run a part of the tests."""

    def __init__(self, seed: str, source: str) -> None:
        self._seed = seed
        self._source = source

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["seed"] = self._seed

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        if terminal := session.config.pluginmanager.get_plugin("terminalreporter"):
            terminal.write_line(
                f"Order and examples are drawn {self._source}: repeat them with --hypothesis-seed={self._seed}"
            )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose a seed unless somebody has, before Hypothesis looks."""
    if hasattr(config, "workerinput"):
        config.option.hypothesis_seed = config.workerinput["seed"]
        return
    asked = config.option.hypothesis_seed
    seed, source = (asked, "as asked") if asked is not None else chosen(config.rootpath, os.environ)
    config.option.hypothesis_seed = seed
    config.pluginmanager.register(Seed(seed, source))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Modules in an order that the seed decides, and so the tests in each: none may need another to come before it."""
    draw = Random(config.option.hypothesis_seed)
    modules: dict[Path, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.path, []).append(item)
    order = list(modules)
    draw.shuffle(order)
    for each in modules.values():
        draw.shuffle(each)
    items[:] = [item for module in order for item in modules[module]]
