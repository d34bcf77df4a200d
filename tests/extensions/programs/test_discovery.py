"""Manifests, and which of those that are found count."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.errors import ConfigError
from linnet.extensions.programs.discovery import chosen, load, zots
from linnet.extensions.programs.manifest import Manifest, parse


def manifest(**said: Any) -> Manifest:
    return parse(json.dumps({"name": "tour", "exec": "./run", **said}).encode(), "/ext/tour")


def put(folder: Path, **said: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "extension.json").write_text(json.dumps({"name": folder.name, "exec": "true", **said}))
    return folder


@pytest.mark.parametrize(
    ("exec", "argv"),
    [
        ("node", "node"),
        ("./run", "/ext/tour/run"),
        ("bin/run", "/ext/tour/bin/run"),
        ("../shared/run", "/ext/shared/run"),
        ("/usr/bin/env", "/usr/bin/env"),
    ],
)
def test_a_path_starts_in_the_folder_and_a_word_is_looked_up(exec: str, argv: str) -> None:
    assert manifest(exec=exec, args=["-x", "y z"]).argv == (argv, "-x", "y z")


def test_what_is_left_out_or_null_or_unknown_does_no_harm() -> None:
    said = manifest(args=None, enabled=None, version=None, language="go", description="A tour.", more=[1])
    assert said == Manifest("tour", "/ext/tour", ("/ext/tour/run",), language="go", description="A tour.")
    assert not manifest(enabled=False).enabled


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{nope", "parse manifest: extension.json is not JSON: "),
        (b"[]", "parse manifest: extension.json: Expected `object`, got `array`"),
        (b'{"exec": "x"}', "manifest: name is required"),
        (b'{"name": " ", "exec": "x"}', "manifest: name is required"),
        (b'{"name": "x"}', "manifest: exec is required"),
        (b'{"name": "x", "exec": 5}', "parse manifest: extension.json: Expected `str | null`, got `int` - at `$.exec`"),
        (b'{"name": "x", "exec": "x", "args": "y"}', "parse manifest: extension.json: Expected `array | null`"),
        (b'{"name": "../x", "exec": "x"}', "manifest: name must be usable as a file name"),
        (b'{"name": "x\\u0000", "exec": "x"}', "manifest: name, exec and args in extension.json cannot have a NUL"),
    ],
)
def test_a_manifest_that_cannot_be_used_says_which_key(data: bytes, why: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse(data, "/ext/tour")
    assert str(error.value).startswith(why)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_manifest_or_a_sentence(data: bytes) -> None:
    with suppress(ConfigError):
        assert parse(data, "/ext/tour").name


def test_all_count_in_their_order(tmp_path: Path) -> None:
    folders = [str(put(tmp_path / name)) for name in ("b", "a")]
    found, failed = chosen([(folders[0], "path"), (folders[1], "user")])
    assert [(each.manifest.name, each.location) for each in found] == [("b", "path"), ("a", "user")]
    assert failed == []


def test_a_folder_of_the_project_hides_that_of_the_user_even_if_it_is_disabled(tmp_path: Path) -> None:
    project = put(tmp_path / "project" / "same", name="one", enabled=False)
    home = put(tmp_path / "home" / "same", name="two")
    assert chosen([(str(project), "project"), (str(home), "user")]) == ([], [])


def test_one_that_was_named_wins_over_an_installed_one_of_the_same_name(tmp_path: Path) -> None:
    named = put(tmp_path / "mine", name="tour")
    theirs = put(tmp_path / "theirs", name="tour")
    found, failed = chosen([(str(named), "path"), (str(theirs), "user")])
    assert [each.manifest.folder for each in found] == [str(named)]
    assert failed == []


def test_two_installed_ones_with_one_name_are_told_of_with_both_owners(tmp_path: Path) -> None:
    first, second = (str(put(tmp_path / name, name="tour")) for name in ("a", "b"))
    found, failed = chosen([(first, "user"), (second, "user")])
    assert [each.manifest.folder for each in found] == [first]
    assert failed == [(second, f'the name "tour" is taken by {first}')]


def test_in_zots_folders_a_link_is_skipped(tmp_path: Path) -> None:
    there = put(tmp_path / "elsewhere" / "linked")
    put(tmp_path / "home" / "plain")
    (tmp_path / "home" / "file").touch()
    (tmp_path / "home" / "link").symlink_to(there)
    assert zots(str(tmp_path / "home")) == [str(tmp_path / "home" / "plain")]
    assert zots(str(tmp_path / "nowhere")) == []


def test_a_folder_without_a_manifest_is_told_of(tmp_path: Path) -> None:
    found, ((folder, why),) = chosen([(str(tmp_path), "user")])
    assert (found, folder) == ([], str(tmp_path))
    assert why == f"read manifest: {tmp_path / 'extension.json'} cannot be read: there is no such file"
    with pytest.raises(ConfigError, match="cannot be read"):
        load("/no\0where")
