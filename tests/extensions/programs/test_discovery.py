"""Manifests, and which of those that are found count."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.errors import ConfigError
from linnet.extensions.programs.discovery import Place, discovered, is_program, load
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
    try:
        assert parse(data, "/ext/tour").name
    except ConfigError as error:
        assert "manifest: " in str(error)


def test_those_that_were_named_come_first_then_the_places_in_order(tmp_path: Path) -> None:
    named = put(tmp_path / "adhoc")
    for name in ("b", "a"):
        put(tmp_path / "project" / name)
    put(tmp_path / "home" / "c")
    (tmp_path / "home" / "plain.txt").touch()
    (tmp_path / "home" / "package").mkdir()
    places = [Place(str(tmp_path / "project"), "project"), Place(str(tmp_path / "home"), "user")]
    found, failed = discovered([str(named)], places)
    assert [(each.manifest.name, each.location) for each in found] == [
        ("adhoc", "path"),
        ("a", "project"),
        ("b", "project"),
        ("c", "user"),
    ]
    assert failed == []


def test_a_folder_of_the_project_hides_that_of_the_user_even_if_it_is_disabled(tmp_path: Path) -> None:
    put(tmp_path / "project" / "same", name="one", enabled=False)
    put(tmp_path / "home" / "same", name="two")
    places = [Place(str(tmp_path / "project"), "project"), Place(str(tmp_path / "home"), "user")]
    assert discovered([], places) == ([], [])


def test_one_that_was_named_wins_over_an_installed_one_of_the_same_name(tmp_path: Path) -> None:
    named = put(tmp_path / "mine", name="tour")
    put(tmp_path / "home" / "theirs", name="tour")
    found, failed = discovered([str(named)], [Place(str(tmp_path / "home"), "user")])
    assert [each.manifest.folder for each in found] == [str(named)]
    assert failed == []


def test_two_installed_ones_with_one_name_are_told_of_with_both_owners(tmp_path: Path) -> None:
    for name in ("a", "b"):
        put(tmp_path / name, name="tour")
    found, (failed,) = discovered([], [Place(str(tmp_path), "user")])
    assert [each.manifest.folder for each in found] == [str(tmp_path / "a")]
    assert (failed.folder, failed.why) == (str(tmp_path / "b"), f'the name "tour" is taken by {tmp_path / "a"}')


def test_in_zots_folders_a_link_is_skipped_and_a_folder_without_a_manifest_is_told_of(tmp_path: Path) -> None:
    there = put(tmp_path / "elsewhere" / "linked")
    (tmp_path / "home" / "empty").mkdir(parents=True)
    (tmp_path / "home" / "link").symlink_to(there)
    found, (failed,) = discovered([], [Place(str(tmp_path / "home"), "user", zots=True)])
    assert found == []
    assert failed.why.startswith(f"read manifest: {tmp_path / 'home' / 'empty' / 'extension.json'} cannot be read: ")
    found, told = discovered([], [Place(str(tmp_path / "home"), "user")])
    assert ([each.manifest.name for each in found], told) == (["linked"], [])


def test_a_place_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    assert discovered([], [Place(str(tmp_path / "nowhere"), "user")]) == ([], [])
    assert not is_program(str(tmp_path))
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load(str(tmp_path))
