"""Files of ours lose no write when several write at once, and nothing that lies in their place is waited for."""

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from linnet.errors import ConfigError
from linnet.extensions.mcp.files import load
from linnet.runtime.models.keys import StoredKeys
from linnet.runtime.models.known_providers import KnownProviders
from linnet.runtime.project.project_fingerprint import Print
from linnet.runtime.project.trust import TrustFile
from linnet.runtime.settings.saved_settings import user_file, written
from tests.settings.conftest import Bench

AT_ONCE = 8


@pytest.fixture
def impatient() -> "Callable[[Callable[[int], object]], None]":
    """Threads that are interrupted all the time: their files are as separate as those of processes."""

    def run(work: Callable[[int], object]) -> None:
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                list(pool.map(work, range(AT_ONCE * 3)))
        finally:
            sys.setswitchinterval(before)

    return run


def test_settings_that_are_written_at_once_are_all_written(
    tmp_path: Path, impatient: Callable[[Callable[[int], object]], None]
) -> None:
    from linnet.runtime.config.setting_keys import keys

    names = [name for name, key in keys().items() if key.name.endswith(("_timeout", "_wait")) or name in ("retries",)]
    assert len(names) > 3
    file = user_file(str(tmp_path))
    impatient(lambda number: written(file, {names[number % len(names)]: 7}, str(tmp_path)))
    assert json.loads(Path(file).read_text()) == dict.fromkeys(names, 7)
    assert os.listdir(tmp_path) == ["settings.json"]


def test_folders_that_are_trusted_at_once_are_all_trusted(
    tmp_path: Path, impatient: Callable[[Callable[[int], object]], None]
) -> None:
    trust = TrustFile(str(tmp_path))
    impatient(lambda number: trust.put(f"/project/{number}", "always", Print({"a": "b"})))
    assert set(trust.entries()) == {f"/project/{number}" for number in range(AT_ONCE * 3)}
    impatient(lambda number: trust.put(f"/other/{number}", "never", Print({})) if number % 2 else None)
    impatient(lambda number: trust.forget(f"/project/{number}"))
    assert set(trust.entries()) == {f"/other/{number}" for number in range(1, AT_ONCE * 3, 2)}


def test_programs_that_write_at_once_lose_nothing(bench: Bench) -> None:
    with ThreadPoolExecutor(4) as pool:
        done = pool.map(
            lambda key: bench.run("config", "set", key, "7"), ["retries", "mcp_wait", "timeout", "max_steps"]
        )
        assert [each.returncode for each in done] == [0, 0, 0, 0]
    assert len(json.loads(bench.settings.read_text())) == 4


IN_ITS_PLACE: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a folder": os.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "too much": lambda path: path.write_bytes(b"[" * (17 << 20)),
    "too deep": lambda path: path.write_bytes(b"[" * 100_000),
    "a number of 5,000 digits": lambda path: path.write_bytes(b"9" * 5000),
}


@pytest.mark.parametrize("kind", IN_ITS_PLACE)
@pytest.mark.parametrize("name", ["models.json", "auth.json", "trust.json", "settings.json", "mcp.json"])
def test_whatever_lies_in_place_of_a_file_is_a_sentence(tmp_path: Path, name: str, kind: str) -> None:
    IN_ITS_PLACE[kind](tmp_path / name)
    if kind not in ("a folder", "a device"):
        (tmp_path / name).chmod(0o600)
    home = str(tmp_path)
    readers: dict[str, Callable[[], object]] = {
        "models.json": lambda: KnownProviders({}, home).infos,
        "auth.json": lambda: StoredKeys(home).key("anthropic"),
        "trust.json": lambda: TrustFile(home).entries(),
        "settings.json": lambda: written(user_file(home), {"retries": 1}, home),
        "mcp.json": lambda: load([str(tmp_path / name)], None, {}),
    }
    with pytest.raises(ConfigError) as refused:
        readers[name]()
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)
