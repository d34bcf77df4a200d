"""settings.json and variables: what they say, what is refused, and who wins."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import pytest

from linnet import Runtime
from linnet.core.permissions.rule import Rule
from linnet.errors import ConfigError
from linnet.runtime.config.config import PI, ROWS, ZOT, Config
from linnet.runtime.config.setting_keys import EXCLUDED, keys
from linnet.runtime.settings.settings import Settings, resolve
from tests.settings.conftest import Bench


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work" / ".linnet").mkdir(parents=True)
    return tmp_path / "work"


class Files:
    """A home and a project, resolved together."""

    def __init__(self, home: Path, work: Path) -> None:
        self.user = home / "settings.json"
        self.project = work / ".linnet" / "settings.json"
        self.pi = home / "pi"
        self._home = home
        self._work = work

    def resolve(self, asked: Any = None, habits: Any = ZOT, **environ: str) -> Settings:
        base = {"LINNET_HOME": str(self._home), "PATH": os.environ["PATH"], "PI_CODING_AGENT_DIR": str(self.pi)}
        said = Config(**{"cwd": self._work, **(asked or {})})
        return resolve(said, {**base, "ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "y", **environ}, habits)


@pytest.fixture
def files(home: Path, work: Path) -> Files:
    return Files(home, work)


def test_every_field_of_a_config_is_a_setting_or_is_left_out_for_a_reason() -> None:
    fields = set(Config.__struct_fields__)
    assert set(keys()) | set(EXCLUDED) == fields
    assert not set(keys()) & set(EXCLUDED)
    assert {name for name, row in ROWS.items() if row.project} <= set(keys())


def test_each_layer_wins_over_those_below_it(files: Files) -> None:
    assert files.resolve().limits.steps is None
    files.user.write_text('{"max_steps": 1}')
    assert files.resolve().limits.steps == 1
    files.project.write_text('{"max_steps": 2}')
    assert files.resolve().limits.steps == 1
    assert files.resolve({"trust": True}).limits.steps == 2
    assert files.resolve({"trust": True}, LINNET_MAX_STEPS="3").limits.steps == 3
    assert files.resolve({"trust": True, "max_steps": 4}, LINNET_MAX_STEPS="3").limits.steps == 4
    files.user.write_text('{"save": false, "auto_compaction": false}')
    settings = files.resolve({"provider": "scripted"}, PI)
    assert (settings.sessions.saves, settings.auto_compaction) == (False, False)


def test_a_provider_has_done_with_the_model_and_the_address_of_another(files: Files) -> None:
    files.user.write_text('{"provider": "openai", "model": "gpt-5", "base_url": "http://127.0.0.1:1"}')
    assert files.resolve().model.id == "gpt-5"
    assert files.resolve().accounts.base_url("openai") == "http://127.0.0.1:1"
    other = files.resolve({"provider": "anthropic"})
    assert other.model.provider == "anthropic"
    assert "127.0.0.1" not in other.accounts.base_url("anthropic")
    assert files.resolve(LINNET_PROVIDER="scripted").model.id == "scripted"
    assert files.resolve({"provider": "openai"}).model.id == "gpt-5"


def test_rules_are_collected_and_the_users_come_first(files: Files) -> None:
    files.user.write_text('{"rules": ["deny bash", "allow bash:git status"]}')
    asked = files.resolve({"rules": [Rule("ask", "edit")]})
    assert asked.rules == (Rule("deny", "bash"), Rule("allow", "bash", "git status"), Rule("ask", "edit"))


def test_servers_are_collected_by_name(files: Files) -> None:
    files.user.write_text('{"mcp_servers": {"a": {"command": "a"}, "b": {"command": "b"}}}')
    files.project.write_text('{"mcp_servers": {"b": {"command": "c"}}}')
    assert [s.transport.command for s in files.resolve({"trust": True}).mcp] == ["a", "c"]  # type: ignore[union-attr]


def test_paths_start_in_the_folder_that_the_file_is_about(files: Files, home: Path, work: Path) -> None:
    files.user.write_text('{"session_dir": "kept"}')
    assert files.resolve().sessions.folder == str(home / "kept")
    files.project.write_text('{"session_dir": ".linnet/kept"}')
    assert files.resolve({"trust": True}).sessions.folder == str(work / ".linnet" / "kept")
    assert files.resolve(LINNET_SESSION_DIR="~/kept").sessions.folder == os.path.expanduser("~/kept")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{\n  "max_steps": "many"\n}', "2: max_steps: expected a whole number, not a string"),
        ('{\n\n "max_steps": 0}', "3: max_steps: expected a whole number >= 1"),
        ('{"reasoning": "huge"}', '1: reasoning: expected "off", "minimal", "low", "medium", "high", "xhigh" or "max"'),
        ('{"tools": "read"}', "1: tools: expected a list, not a string"),
        ('{"tools": ["read",\n 5]}', "2: tools[1]: expected a string, not a whole number"),
        ('{"tools": ["read",\n "reed"]}', '1: tools: unknown tool "reed"'),
        ('{"rules": [\n"allow"]}', "2: rules[0]: a rule names a tool"),
        ('{"rules": ["permit bash"]}', "1: rules[0]: a rule begins with allow, ask, deny"),
        ('{"save": null}', "1: save: expected true or false, not null"),
        ('{"timeout": -1}', "1: timeout: expected a number > 0"),
        ('{\n"provider": "acme"}', '2: provider: unknown provider "acme"'),
        ('{\n\n"model": "opus-9"}', '3: model: unknown model "opus-9"'),
        ('{"shell": "no-such-shell"}', '1: shell: the shell "no-such-shell" is not there'),
        ('{"base_url": "ftp://x"}', "1: base_url: expected a string matching regex"),
        ("[]", "1: expected an object, not a list"),
        ('{\n"max_steps": 3,\n}', "3: is not JSON"),
        ('{"max_steps": 3', "1: is not JSON: it ends too early"),
        ("\x00\x01", "1: is not JSON"),
        ("[" * 100_000, "1: "),
    ],
)
def test_what_makes_no_sense_refuses_the_start_and_names_file_line_and_key(
    files: Files, text: str, sentence: str
) -> None:
    for path in (files.user, files.project):
        path.write_text(text)
        if path == files.project and "base_url" in text:
            continue
        with pytest.raises(ConfigError) as refused:
            files.resolve({"trust": True})
        assert str(refused.value).startswith(f"{path}:{sentence}"), str(refused.value)
        assert "\n" not in str(refused.value)
        path.unlink()


@pytest.mark.parametrize(
    ("name", "word", "sentence"),
    [
        ("LINNET_MAX_STEPS", "many", "LINNET_MAX_STEPS: expected a whole number"),
        ("LINNET_REASONING", "huge", "LINNET_REASONING: expected "),
        ("LINNET_SAVE", "maybe", "LINNET_SAVE: expected true or false"),
        ("LINNET_RULES", "permit bash", "LINNET_RULES: a rule begins with"),
        ("LINNET_MCP_SERVERS", "{", "LINNET_MCP_SERVERS:1: is not JSON"),
        ("LINNET_MODEL", "opus-9", "LINNET_MODEL: unknown model"),
    ],
)
def test_variables_are_checked_the_same_way(files: Files, name: str, word: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        files.resolve(**{name: word})
    assert str(refused.value).startswith(sentence)


def test_variables_spell_lists_numbers_and_yes_or_no_as_people_do(files: Files) -> None:
    settings = files.resolve(
        LINNET_TOOLS="read, grep",
        LINNET_TIMEOUT="2.5",
        LINNET_SAVE="true",
        LINNET_RULES='["deny bash:a, b"]',
        LINNET_SHELL="sh",
        LINNET_MODEL="",
    )
    assert settings.tools == ("read", "grep")
    assert (settings.timeout, settings.sessions.saves) == (2.5, True)
    assert settings.rules == (Rule("deny", "bash", "a, b"),)
    assert settings.shell is not None
    assert os.path.basename(settings.shell) == "sh"


def test_an_unknown_key_is_remarked_on_with_the_nearest_and_the_start_goes_on(files: Files) -> None:
    files.user.write_text('{\n"$schema": "x",\n"max_step": 3,\n"zzz": 1,\n"api_key": "k"}')
    settings = files.resolve(LINNET_MODLE="x", LINNET_SOMETHING_ELSE="y")
    user = str(files.user)
    assert [remark for remark in settings.remarks if "zzz" not in remark] == [
        f'{user}:3: max_step: is not known here; did you mean "max_steps"?',
        f"{user}:5: api_key: is no setting: it is a secret, which has a file of its own: auth.json",
        "LINNET_MODLE is not known; did you mean LINNET_MODEL?",
    ]
    assert len(settings.remarks) == 4


@pytest.mark.parametrize(
    ("said", "meant"), [("sanbox", "sandbox"), ("permissions", "permission"), ("rule", "rules"), ("Confine", "confine")]
)
def test_a_slip_in_a_key_that_protects_refuses_the_start(files: Files, said: str, meant: str) -> None:
    files.user.write_text(f'{{\n"{said}": true}}')
    with pytest.raises(ConfigError) as refused:
        files.resolve()
    assert str(refused.value) == f'{files.user}:2: {said}: is not known here; did you mean "{meant}"?'


def test_a_file_that_cannot_be_read_refuses_the_start_in_one_line(files: Files) -> None:
    path = files.user

    def refusal() -> str:
        with pytest.raises(ConfigError) as refused:
            files.resolve()
        return str(refused.value).removeprefix(f"{path} ")

    path.mkdir()
    assert refusal() == "cannot be read: it is a folder"
    path.rmdir()
    path.symlink_to(path)
    assert refusal() == "cannot be read: Too many levels of symbolic links"
    path.unlink()
    os.mkfifo(path)
    assert refusal() == "cannot be read: it is not a plain file"
    path.unlink()
    path.write_text("{" + " " * (1 << 20) + "}")
    assert refusal() == "cannot be used: it is larger than 1024 KiB"
    path.unlink()
    path.symlink_to("nowhere")
    assert files.resolve().remarks == ()
    path.unlink()
    path.write_bytes(b'{"model": "\xff"}')
    assert refusal() == f"{path}:1: is not UTF-8 text".removeprefix(f"{path} ")


def test_a_project_says_only_what_a_project_may(files: Files) -> None:
    mine = {"base_url": "http://127.0.0.1:9", "permission": "auto", "trust": True, "confine": False}
    files.project.write_text(json.dumps({**mine, "rules": ["allow bash", "deny edit"], "max_steps": 7}))
    settings = files.resolve({"trust": True})
    assert "127.0.0.1" not in settings.accounts.base_url("anthropic")
    assert settings.rules == (Rule("deny", "edit"),)
    assert settings.limits.steps == 7
    assert len(settings.remarks) == len(mine) + 1
    for name in mine:
        where = f"{files.project}:1: {name}: a project cannot set this, only you can; it is left out"
        assert where in settings.remarks


def test_pis_own_settings_are_a_layer_below_linnets_where_it_stands_for_pi(files: Files, work: Path) -> None:
    files.pi.mkdir()
    said = {
        "defaultProvider": "openai",
        "defaultModel": "gpt-5",
        "defaultThinkingLevel": "high",
        "steeringMode": "all",
        "followUpMode": "all",
        "compaction": {"enabled": False, "reserveTokens": 5, "keepRecentTokens": 6},
        "retry": {"enabled": False, "maxRetries": 7, "baseDelayMs": 1500},
        "shellPath": "/bin/sh",
        "shellCommandPrefix": "set -u",
        "sessionDir": "kept",
        "theme": "dark",
    }
    (files.pi / "settings.json").write_text(json.dumps(said))
    assert files.resolve(habits=PI).reasoning == "off"
    settings = files.resolve({"stands_in_for": "pi"}, PI)
    assert (settings.model.id, settings.reasoning, settings.steering_mode) == ("gpt-5", "high", "all")
    assert (settings.auto_compaction, settings.compact_reserve, settings.compact_keep) == (False, 5, 6)
    assert (settings.retry_runs, settings.retries, settings.retry_delay) == (False, 7, 1.5)
    assert (settings.shell, settings.shell_prefix, settings.follow_up_mode) == ("/bin/sh", "set -u", "all")
    assert settings.sessions.folder == str(work / "kept")
    assert settings.remarks == ()
    files.user.write_text('{"reasoning": "low"}')
    assert files.resolve({"stands_in_for": "pi"}, PI).reasoning == "low"
    (work / ".pi").mkdir()
    (work / ".pi" / "settings.json").write_text('{"defaultThinkingLevel": "medium"}')
    assert files.resolve({"stands_in_for": "pi"}, PI).reasoning == "low"
    assert files.resolve({"stands_in_for": "pi", "trust": True}, PI).reasoning == "medium"
    assert files.resolve({"trust": True}, PI).reasoning == "low"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"steeringMode": 5}',
        '{"defaultProvider": "google"}',
        '{"defaultModel": "gone"}',
        '{"shellPath": "WORK/nowhere"}',
        "\x00",
    ],
)
def test_what_cannot_be_used_of_pis_settings_is_remarked_on_and_the_start_goes_on(
    files: Files, work: Path, text: str
) -> None:
    files.pi.mkdir()
    (files.pi / "settings.json").write_text(text.replace("WORK", str(work)))
    settings = files.resolve({"stands_in_for": "pi"}, PI)
    [remark] = settings.remarks
    assert "settings" in remark
    assert settings.model.provider == "anthropic"


def test_the_types_of_the_keys_are_those_of_the_fields() -> None:
    assert get_args(keys()["steering_mode"].kind) == ("all", "one-at-a-time")
    assert keys()["tools"].kind == list[str]
    assert keys()["mcp_servers"].kind == dict[str, Any]
    assert {name for name, key in keys().items() if key.is_path} >= {"session_dir", "mcp_config"}


def test_a_program_that_hosts_the_runtime_reads_the_same_files(
    files: Files, home: Path, work: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LINNET_HOME", str(home))
    files.user.write_text('{"provider": "scripted", "model": "scripted-2", "modle": 1}')
    with Runtime(cwd=work) as runtime:
        assert runtime.state().model == "scripted-2"
    assert [record.getMessage() for record in caplog.records] == [
        f'linnet: {files.user}:1: modle: is not known here; did you mean "model"?'
    ]


def test_who_has_no_settings_imports_nothing_for_them(bench: Bench) -> None:
    config = ("config.setting_keys", "config.settings_text", "config.pi_settings")
    lazy = (*config, "adoption", "project.project_fingerprint", "project.trust")
    assert all(find_spec(f"linnet.runtime.{name}") for name in lazy)
    program = (
        "import os, sys; from linnet.runtime.config.config import PI, Config\n"
        "from linnet.runtime.settings.settings import resolve\n"
        "resolve(Config(provider='scripted', stands_in_for='pi'), os.environ, PI)\n"
        f"print([name for name in {lazy} if f'linnet.runtime.{{name}}' in sys.modules])"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=bench.work, env=bench.env, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[]\n", "")
