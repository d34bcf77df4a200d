"""The schemas of files: what linnet takes fits them, what does not fit is refused, and `$schema` may stand in each."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from linnet.errors import ConfigError
from linnet.extensions.mcp import config as mcp
from linnet.extensions.programs import manifest
from linnet.extensions.programs.frames import decode
from linnet.providers.scripted import script
from linnet.runtime.config import settings_text
from linnet.runtime.models import models_file
from linnet.schemas.files import file_schema
from tests.docs.test_docs import ROOT, blocks
from tests.schemas.judges import strictly

Read = Callable[[bytes], object]
READ: dict[str, Read] = {
    "settings": lambda data: settings_text.said(data, "settings.json", "/"),
    "mcp": lambda data: mcp.parse(data, "mcp.json", {}),
    "models": lambda data: models_file.understood(data, "models.json"),
    "script": lambda data: script.parse(data, "script.json"),
    "extension": lambda data: manifest.parse(data, "/extension"),
}
GOOD: dict[str, list[Any]] = {
    "settings": [{}, {"model": "opus", "max_steps": 3, "rules": ["allow bash:git status"]}],
    "mcp": [
        {"mcpServers": {}},
        {"mcpServers": {"a": {"command": "a", "args": ["b"], "env": {"C": "d"}, "timeout": 3, "sandbox": True}}},
        {"mcpServers": {"a": {"type": "http", "url": "https://a", "headers": {}, "disabled": True, "others": 1}}},
    ],
    "models": [
        [{"id": "m", "provider": "anthropic", "prices": {"input": 1}, "ends": "2027-01-01"}],
        {"providers": {"own": {"baseUrl": "http://a", "api": "openai-completions", "models": [{"id": "m"}]}}},
    ],
    "script": [{"turns": [[{"text": "hi"}, {"call": "bash", "args": {}}]], "loop": True}],
    "extension": [{"name": "a", "exec": "b", "args": ["c"]}],
}
BAD: dict[str, list[Any]] = {
    "settings": [{"max_steps": "three"}, {"models": "opus"}],
    "mcp": [{}, {"mcpServers": {"a": {}}}, {"mcpServers": {"a": {"command": 3.5, "args": "b"}}}],
    "models": [[{"provider": "anthropic"}], {"providers": {"own": {"models": 3}}}, {"provider": {}}],
    "script": [{}, {"turns": [[{"say": "hi"}]]}, {"turns": [], "once": True}],
    "extension": [{"name": "a"}, {"exec": "b"}, {"name": "a", "exec": "b", "args": "c"}],
}


def fits(name: str, value: Any) -> bool:
    return bool(jsonschema_rs.Draft202012Validator(file_schema(name)).is_valid(value))


@pytest.mark.parametrize("name", READ)
def test_what_linnet_takes_fits_and_what_does_not_fit_is_refused(name: str) -> None:
    for value in GOOD[name]:
        READ[name](json.dumps(value).encode())
        assert fits(name, value), value
    for value in BAD[name]:
        assert not fits(name, value), value
        with pytest.raises(ConfigError):
            READ[name](json.dumps(value).encode())


@pytest.mark.parametrize("name", READ)
def test_a_file_may_say_where_its_schema_is(name: str) -> None:
    for value in GOOD[name]:
        if isinstance(value, dict):
            named = {"$schema": "./schema.json", **value}
            assert fits(name, named)
            said = READ[name](json.dumps(named).encode())
            assert name != "settings" or not said[1]  # type: ignore[index]


def test_every_file_that_the_pages_and_examples_show_fits() -> None:
    for file in (ROOT / "examples").rglob("extension.json"):
        assert fits("extension", json.loads(file.read_text())), file
    shown = 0
    for page in (ROOT / "docs").glob("*.md"):
        for block in blocks(page):
            if block.language != "json":
                continue
            value = json.loads(block.text)
            for name, key in (("mcp", "mcpServers"), ("script", "turns"), ("models", "providers")):
                if isinstance(value, dict) and key in value:
                    shown += 1
                    assert fits(name, value), (page.name, value)
    assert shown >= 6


def test_the_frames_of_a_program_that_linnet_reads_fit() -> None:
    page = (ROOT / "docs" / "extension-programs.md").read_text()
    shown = [json.loads(line) for line in page.splitlines() if line.startswith('{"type":')]
    known = [each for each in shown if type(decode(json.dumps(each).encode())).__name__ != "Unusable"]
    assert len(known) >= 5
    assert all(fits("extension-frames", each) for each in shown)


@pytest.mark.foreign
def test_a_strict_validator_takes_the_schemas_of_files(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.json" for name in (*READ, "extension-frames")]
    for file in files:
        file.write_text(json.dumps(file_schema(file.stem)))
    script = "for (const schema of schemas) console.log(typeof new Ajv({ strict: true }).compile(schema));"
    assert strictly(script, *files).split() == ["function"] * len(files)
