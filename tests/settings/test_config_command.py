"""`linnet config`: shown, written, described."""

import json
import os
from pathlib import Path

import pytest

from linnet.cli import config_command
from linnet.errors import ConfigError
from linnet.flags.flags import UsageError
from linnet.runtime.config.setting_keys import keys
from tests.settings.conftest import Bench


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, object]]:
    capsys.readouterr()
    assert config_command.config(["--json", *words]) == 0
    found: dict[str, dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_every_value_is_shown_with_the_place_it_came_from(
    here: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here.settings.write_text(
        '{\n  "max_steps": 5,\n  "rules": ["deny bash"],\n  "model": "gpt-5",\n"provider":"openai"}'
    )
    project = here.plant(".linnet/settings.json", '{"rules": ["ask edit"], "retries": 1}')
    monkeypatch.setenv("LINNET_TIMEOUT", "7")
    found = shown(capsys, "--trust")
    assert set(found) == set(keys())
    assert found["max_steps"] == {"value": 5, "from": f"{here.settings}:2"}
    assert found["rules"] == {"value": ["deny bash", "ask edit"], "from": f"{here.settings}:3, {project}:1"}
    assert found["retries"] == {"value": 1, "from": f"{project}:1"}
    assert found["timeout"] == {"value": 7.0, "from": "LINNET_TIMEOUT"}
    assert found["reasoning"] == {"value": "off", "from": "default"}
    assert found["keep_messages"] == {"value": 4, "from": "protocol"}
    assert found["shell"] == {"value": None, "from": ""}
    assert found["trust"] == {"value": True, "from": "flag"}
    assert shown(capsys, "--dialect", "pi")["save"] == {"value": True, "from": "protocol"}
    assert shown(capsys)["retries"] == {"value": 3, "from": "default"}
    monkeypatch.setenv("LINNET_PROVIDER", "scripted")
    assert shown(capsys)["model"] == {"value": None, "from": ""}


def test_it_is_a_table_for_people_and_a_word_for_scripts(here: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    here.settings.write_text('{"max_steps": 5}')
    config_command.config([])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(keys())
    [row] = [line.split() for line in lines if line.startswith("max_steps")]
    assert row == ["max_steps", "5", f"{here.settings}:1"]
    for name in ("max_steps", "max-steps"):
        config_command.config([name])
        assert capsys.readouterr().out == "5\n"


def test_secrets_of_servers_are_not_shown(here: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    server = {"url": "http://127.0.0.1:1", "headers": {"Authorization": "hush"}, "env": {"A": "hush"}}
    here.settings.write_text(json.dumps({"mcp_servers": {"a": server}}))
    value = shown(capsys)["mcp_servers"]["value"]
    assert value == {"a": {"url": "http://127.0.0.1:1", "headers": {"Authorization": "…"}, "env": {"A": "…"}}}


@pytest.mark.parametrize(
    ("name", "word", "written"),
    [
        ("max_steps", "7", "7"),
        ("max-steps", "7", "7"),
        ("save", "true", "true"),
        ("timeout", "2.5", "2.5"),
        ("tools", "read, bash", '["read","bash"]'),
        ("rules", '["deny bash:a, b"]', '["deny bash:a, b"]'),
        ("mcp_servers", '{"a": {"command": "b"}}', '{"a":{"command":"b"}}'),
        ("model", "true", '"true"'),
    ],
)
def test_set_writes_one_key_and_keeps_the_rest_of_the_file(here: Bench, name: str, word: str, written: str) -> None:
    before = '{\n\t"reasoning" :  "low",\n\n\t"zzz": {"kept":1}\n}'
    here.settings.write_text(before)
    key = name.replace("-", "_")
    config_command.config(["set", name, word])
    assert here.settings.read_text() == before.replace("\n}", f',\n\t"{key}": {written}\n}}')
    config_command.config(["unset", name])
    assert here.settings.read_text() == before


def test_set_makes_the_file_and_takes_a_project_too(here: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    config_command.config(["set", "max_steps", "7"])
    assert here.settings.read_text() == '{\n  "max_steps": 7\n}\n'
    config_command.config(["set", "model", "x", "--project"])
    file = here.work / ".linnet" / "settings.json"
    assert json.loads(file.read_text()) == {"model": "x"}
    assert capsys.readouterr().out.splitlines() == [str(here.settings), str(file)]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["set", "max_stepz", "7"], 'no setting is called "max_stepz"; did you mean "max_steps"?'),
        (["set", "max_steps", "many"], "max_steps: expected a whole number"),
        (["set", "max_steps", "0"], "max_steps: expected a whole number >= 1"),
        (["set", "rules", "permit bash"], "rules[0]: a rule begins with"),
        (["set", "api_key", "k"], "api_key is no setting: it is a secret"),
        (["set", "base_url", "http://127.0.0.1", "--project"], "base_url: a project cannot set this, only you can"),
        (["unset", "nothing_like_it"], 'no setting is called "nothing_like_it"'),
    ],
)
def test_what_cannot_be_set_changes_nothing(here: Bench, words: list[str], sentence: str) -> None:
    here.settings.write_text('{"max_steps": 3}')
    with pytest.raises(ConfigError) as refused:
        config_command.config(words)
    assert sentence in str(refused.value)
    assert here.settings.read_text() == '{"max_steps": 3}'
    assert not (here.work / ".linnet").exists()


def test_a_file_that_makes_no_sense_is_not_written_to(here: Bench) -> None:
    here.settings.write_text('{"max_steps": }')
    with pytest.raises(ConfigError, match=r"settings\.json:1: is not JSON"):
        config_command.config(["set", "max_steps", "7"])
    assert here.settings.read_text() == '{"max_steps": }'


@pytest.mark.parametrize("words", [["set", "a"], ["unset"], ["schema", "a"], ["a", "b"], ["set", "a", "b", "c"]])
def test_words_that_make_no_sense_are_refused(here: Bench, words: list[str]) -> None:
    with pytest.raises(UsageError):
        config_command.config(words)


def test_writing_replaces_the_file_in_one_step_and_keeps_its_mode_and_its_link(here: Bench, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o600)
    here.settings.symlink_to(real)
    inode = real.stat().st_ino
    config_command.config(["set", "max_steps", "7"])
    assert here.settings.is_symlink()
    assert (real.stat().st_mode & 0o777, real.stat().st_ino != inode) == (0o600, True)
    assert os.listdir(here.home) == ["settings.json"]


def test_the_schema_describes_every_key(here: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    config_command.config(["schema"])
    schema = json.loads(capsys.readouterr().out)
    assert set(schema["properties"]) == {*keys(), "$schema"}
    for name in keys():
        assert schema["properties"][name]["description"], name
    assert schema["properties"]["max_steps"]["minimum"] == 1
    assert schema["properties"]["steering_mode"]["enum"] == ["all", "one-at-a-time"]


def test_the_program_says_a_sentence_and_fails(bench: Bench) -> None:
    done = bench.run("config", "set", "max_stepz", "1")
    assert (done.returncode, done.stderr) == (
        1,
        'linnet: no setting is called "max_stepz"; did you mean "max_steps"?\n',
    )
    assert bench.run("config", "set", "reasoning", "high").returncode == 0
    assert bench.run("config", "reasoning").stdout == "high\n"
    assert bench.run("config", "reasoning", LINNET_REASONING="low").stdout == "low\n"
    assert "linnet config schema" in bench.run("config", "--help").stdout
