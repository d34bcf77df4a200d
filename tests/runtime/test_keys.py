"""auth.json, and keys that a command prints."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.concurrency.cancel import CancelToken
from linnet.errors import Cancelled, ConfigError
from linnet.processes.process import Processes
from linnet.runtime.models import key_command
from linnet.runtime.models.key_command import printed_key
from linnet.runtime.models.keys import Key, StoredKeys
from linnet.testing.processes import alive, wait_until

SECRET = "sk-planted-0123456789"


@pytest.fixture
def processes() -> Iterator[Processes]:
    processes = Processes()
    yield processes
    processes.close()


def keep(home: Path, content: object, mode: int = 0o600) -> StoredKeys:
    path = home / "auth.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    path.chmod(mode)
    return StoredKeys(str(home))


def test_a_plain_key_and_pis_form_of_one_are_read(tmp_path: Path) -> None:
    keys = keep(tmp_path, {"anthropic": "a", "openai": {"type": "api_key", "key": " b\n"}, "else": {"type": "new"}})
    assert [keys.key(name).word for name in ("anthropic", "openai", "deepseek")] == ["a", "b", ""]
    assert keys.key("openai").place == str(tmp_path / "auth.json")


def test_a_login_by_oauth_is_no_key_and_says_so(tmp_path: Path) -> None:
    key = keep(tmp_path, {"anthropic": {"type": "oauth", "access": SECRET, "refresh": SECRET}}).key("anthropic")
    assert not key.word
    assert key.problem == f"its entry in {tmp_path / 'auth.json'} is a login by OAuth, which linnet cannot use"


@pytest.mark.parametrize("entry", [5, "", " ", [SECRET], {"type": "api_key"}, {"type": "api_key", "key": 5}, {}])
def test_an_entry_that_is_no_key_is_named_without_what_it_says(entry: object, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'auth.json: "anthropic": expected a key') as caught:
        keep(tmp_path, {"anthropic": entry}).key("anthropic")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("text", [f"{{{SECRET}", f'["{SECRET}"]', f'"{SECRET}"', "[" * 100_000, "\udcff"])
def test_a_file_that_is_no_object_is_named_without_what_it_says(text: str, tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    (tmp_path / "auth.json").chmod(0o600)
    with pytest.raises(ConfigError, match=r"auth.json cannot be used") as caught:
        StoredKeys(str(tmp_path)).key("anthropic")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o666, 0o602, 0o610, 0o777])
def test_a_file_that_others_can_touch_is_refused_also_for_writing(mode: int, tmp_path: Path) -> None:
    keys = keep(tmp_path, {"anthropic": SECRET}, mode)
    for use in (lambda: keys.key("anthropic"), lambda: keys.put("openai", "x"), lambda: keys.remove("anthropic")):
        with pytest.raises(ConfigError, match="can be read by others; run: chmod 600"):
            use()
    assert json.loads((tmp_path / "auth.json").read_text()) == {"anthropic": SECRET}


def test_a_pipe_in_place_of_the_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "auth.json", 0o600)
    with pytest.raises(ConfigError, match="is not a plain file"):
        StoredKeys(str(tmp_path)).key("anthropic")


def test_what_is_written_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    for mask in (0, 0o777):
        before = os.umask(mask if home.exists() else 0)
        try:
            StoredKeys(str(home)).put("anthropic", SECRET)
        finally:
            os.umask(before)
        assert (home / "auth.json").stat().st_mode & 0o777 == 0o600
    assert home.stat().st_mode & 0o777 == 0o700
    assert os.listdir(home) == ["auth.json"]


def test_writing_goes_through_a_link_and_keeps_what_else_is_there(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    others = {"github": {"type": "oauth", "access": "x", "expires": 5}, "openai": "y"}
    keep(tmp_path / "dotfiles", others)
    (tmp_path / "auth.json").symlink_to("dotfiles/auth.json")
    keys = StoredKeys(str(tmp_path))
    keys.put("anthropic", SECRET)
    assert keys.key("anthropic").word == SECRET
    assert (tmp_path / "auth.json").is_symlink()
    assert keys.remove("anthropic")
    assert not keys.remove("anthropic")
    assert json.loads((tmp_path / "auth.json").read_text()) == others


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    names = [f"provider-{number}" for number in range(20)]
    threads = [threading.Thread(target=StoredKeys(str(tmp_path)).put, args=(name, name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys = StoredKeys(str(tmp_path))
    assert [keys.key(name).word for name in names] == names


@given(st.text())
def test_no_key_shows_in_a_trace(word: str) -> None:
    shown = repr(Key(f"sk-{word}-planted", "flag", "--api-key"))
    assert shown == "Key(source='flag', place='--api-key')"


def test_a_command_prints_the_key(processes: Processes) -> None:
    assert printed_key("printf '\\n  %s \\n' sk-$((40+2)); echo noise >&2", "acme", processes, CancelToken()) == "sk-42"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (f"echo {SECRET}; echo locked >&2; exit 3", "failed with exit code 3: locked"),
        (f"echo {SECRET}; exit 1", "failed with exit code 1"),
        ("no-such-program-here", "failed with exit code 127: "),
        ("kill -9 $$", "failed with exit code -9"),
        ("true", "printed nothing"),
        ("echo; echo 'vault is sealed' >&2", "printed nothing; it said: vault is sealed"),
        (f"echo {SECRET}; echo two", "printed something that is no key"),
        (f"printf '{SECRET}\\033[0m'", "printed something that is no key"),
        ("head -c 200000 /dev/zero", "printed something that is no key"),
        ("read line; test -z \"$line\" && exit 9", "failed with exit code 9"),
        ("echo a\0b", "could not be started: embedded null byte"),
    ],
)  # fmt: skip
def test_a_command_that_fails_is_a_sentence_without_what_it_printed(
    command: str, words: str, processes: Processes
) -> None:
    with pytest.raises(ConfigError) as caught:
        printed_key(command, "acme", processes, CancelToken())
    assert str(caught.value).startswith(f"the command for the key of acme {words}")
    assert SECRET not in str(caught.value)


def test_a_command_that_takes_too_long_is_killed_with_all_it_started(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_command, "DEADLINE", 0.2)
    with pytest.raises(ConfigError, match=r"the command for the key of acme took longer than 0.2 s, and was killed"):
        printed_key(f"setsid sleep 600 & echo $! > {tmp_path}/pid; wait", "acme", processes, CancelToken())
    pid = (tmp_path / "pid").read_text().strip()
    assert not pid or not alive(int(pid))


def test_an_abort_ends_a_command_at_once(processes: Processes, tmp_path: Path) -> None:
    cancel = CancelToken()
    raised: list[BaseException] = []

    def ask() -> None:
        try:
            printed_key(f"echo $$ > {tmp_path}/pid; sleep 600", "acme", processes, cancel)
        except Cancelled as error:
            raised.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text().strip()))
    cancel.set()
    thread.join(20)
    assert raised
    assert not alive(int((tmp_path / "pid").read_text()))
