"""A setting is one row, and everything else that speaks of settings is read off it."""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import linnet
from linnet import AsyncRuntime, Config, Runtime
from linnet.core.permissions.rule import Mode
from linnet.errors import LinnetError
from linnet.flags.flags import TABLE, Flag, help_text, parse
from linnet.providers.recorded.difference import Match
from linnet.runtime.config.config import (
    ACP,
    DEFAULTS,
    LINNET_PI,
    LINNET_ZOT,
    PI,
    PI_073,
    PI_1,
    PI_LEGACY,
    PI_TODAY,
    ROWS,
    SDK,
    ZOT,
    Keywords,
    flag,
)
from linnet.runtime.config.setting_keys import keys
from linnet.runtime.config.settings_text import from_variables, said
from linnet.runtime.settings import settings as resolved
from linnet.schemas.files import file_schema
from tests.settings.page import PAGE

MODES = {
    "zot": ZOT,
    "sdk": SDK,
    "pi": PI,
    "pi_legacy": PI_LEGACY,
    "pi_073": PI_073,
    "pi_1": PI_1,
    "acp": ACP,
    "linnet-pi-today": PI_TODAY,
    "linnet-zot": LINNET_ZOT,
    "linnet-pi": LINNET_PI,
}
SAMPLES: dict[str, Any] = {"permission": "ask", "rules": ["deny bash"], "base_url": "http://x", "reasoning": "low"}
SAMPLES |= {"steering_mode": "all", "follow_up_mode": "all", "prompt_cache": "long", "api": "openai-responses"}
WORDS = {
    "MODE": "all",
    "N": "7",
    "S": "1.5",
    "SECONDS": "1.5",
    "USD": "1.5",
    "RULE": "bash",
    "LIST": "read,ls",
    "TIME": "long",
}


def sample(name: str) -> Any:
    """Something that may be said in a file."""
    of_kind = {bool: True, int: 7, float: 1.5, str: "/x", list: ["/x"], dict: {"x": {}}}
    kind = keys()[name].kind
    plain = getattr(kind, "__origin__", kind)
    return SAMPLES.get(name) or of_kind[plain]


def flags_of(name: str) -> list[Flag]:
    return [each for each in TABLE if each.field == name]


@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_told_wherever_settings_are(name: str) -> None:
    row, page = ROWS[name], PAGE.read_text()
    assert row.about
    assert re.search(rf"^\| .*`{name}`", page, re.MULTILINE)
    assert (name in file_schema("settings")["properties"]) is not bool(row.no_key)
    for face in (Runtime, AsyncRuntime):
        assert (name in inspect.signature(face).parameters) is (name in Keywords.__struct_fields__)
    if name in keys():
        assert file_schema("settings")["properties"][name]["description"] == row.about
        assert f"| {row.about.replace('|', chr(92) + '|')} |" in page


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.flags])
def test_the_flags_of_a_row_are_told_and_read(name: str) -> None:
    row, told = ROWS[name], help_text()
    spelled = row.spelled()
    assert [each.help for each in flags_of(name)] == list(spelled.values())
    assert flag(name) == flags_of(name)[0].names[0]
    for each, spelling in zip(flags_of(name), spelled, strict=True):
        assert re.search(rf"^  {re.escape(spelling)} +{re.escape(each.help)}$", told, re.MULTILINE)
        for alias in each.names:
            word = {**WORDS, **({"MODE": "ask"} if name == "permission" else {})}.get(each.word, "x")
            config = Config(**parse([alias, word] if each.word else [alias]).config)
            assert getattr(config, name) is not None
            assert [field for field in Config.__struct_fields__ if getattr(config, field) is not None] == [name]
            if not each.word:
                assert bool(getattr(config, name)) is not alias.startswith("--no-")


@pytest.mark.parametrize("name", list(keys()))
def test_a_key_is_read_from_files_and_variables_and_from_a_project_that_may_say_it(name: str) -> None:
    value = sample(name)
    text = json.dumps({name: value}).encode()
    mine, remarks = said(text, "f", "/")
    assert getattr(mine, name) is not None
    assert remarks == []
    theirs, remarks = said(text, "f", "/", of_project=True)
    assert (getattr(theirs, name) is not None) is ROWS[name].project is (remarks == [])
    word = value if isinstance(value, str) else json.dumps(value)
    assert from_variables({f"LINNET_{name.upper()}": word}) == (mine, [])


@pytest.mark.parametrize("name", [name for name in keys() if ROWS[name].guards])
def test_a_slip_in_a_key_that_guards_is_refused(name: str) -> None:
    with pytest.raises(LinnetError, match=f"is not known here; did you mean.*{name}"):
        said(json.dumps({f"{name}x": sample(name)}).encode(), "f", "/")


@pytest.mark.parametrize("name", ROWS)
def test_defaults_of_every_mode_are_those_of_the_row(name: str) -> None:
    row = ROWS[name]
    assert getattr(DEFAULTS, name) == row.default
    assert set(row.habits) <= set(MODES)
    for mode, config in MODES.items():
        inherited = row.habits.get("pi") if mode.startswith("pi_") else None
        assert getattr(config, name) == row.habits.get(mode, inherited)


def test_what_holds_as_it_was_said_is_never_left_out_where_that_would_be_no_value() -> None:
    unknown = {"Callback": Any, "Mode": Mode, "Match": Match}
    for name, kind in get_type_hints(resolved._AsSaid, vars(resolved) | unknown).items():
        optional = kind is Any or type(None) in get_args(kind)
        assert optional or ROWS[name].default is not None, f"{name} has no default, and must not be None"


ADDED = """
import inspect, json, sys
from linnet import AsyncRuntime, Config, Runtime
from linnet.flags.flags import help_text, parse
from linnet.runtime.config.config import DEFAULTS, SDK
from linnet.runtime.config.settings_text import from_variables, said
from linnet.schemas.files import file_schema
from tests.settings.page import rows
Runtime._set_up = lambda self: None
print(json.dumps({
    "help": [line.strip() for line in help_text().splitlines() if "lanterns" in line],
    "flag": parse(["--lanterns", "7"]).config,
    "file": said(b'{"lanterns": 7}', "f", "/", of_project=True)[0].lanterns,
    "wrong": said(b'{"lantern": 7}', "f", "/")[1][0],
    "variable": from_variables({"LINNET_LANTERNS": "7"})[0].lanterns,
    "schema": file_schema("settings")["properties"]["lanterns"],
    "page": [line for line in rows().splitlines() if "lanterns" in line],
    "default": [DEFAULTS.lanterns, SDK.lanterns],
    "keyword": [Runtime(lanterns=7)._config.lanterns, "lanterns" in inspect.signature(AsyncRuntime).parameters],
}))
"""


def test_adding_a_row_is_all_it_takes_to_add_a_setting(tmp_path: Path) -> None:
    root = Path(linnet.__file__).parents[2]
    shutil.copytree(root / "src" / "linnet", tmp_path / "linnet", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(root / "tests" / "settings", tmp_path / "tests" / "settings")
    table = tmp_path / "linnet" / "runtime" / "config" / "config.py"
    row = '    lanterns: Count | None = _row("lit at night", "--lanterns N", 3, habits={"sdk": 4}, project=True)\n'
    before, last, after = table.read_text().partition("    hook_timeout:")
    assert last
    table.write_text(before + row + last + after)
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", ADDED], env=environ, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert re.match(r"--lanterns N +lit at night \(default: 3\)$", told["help"][0])
    assert told["flag"] == {"lanterns": 7}
    assert (told["file"], told["variable"], told["default"]) == (7, 7, [3, 4])
    assert 'did you mean "lanterns"?' in told["wrong"]
    assert told["schema"]["description"] == "lit at night"
    assert told["schema"]["minimum"] == 1
    assert told["page"] == [
        "| `lanterns` | whole number, 1 or more | `3` | lit at night | `--lanterns` | yes |",
    ]
    assert told["keyword"] == [7, True]
