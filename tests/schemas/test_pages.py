"""The tables of the protocols' pages say what the schemas say: fields of commands, answers and events, and codes."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linnet.schemas.dialects import DIALECTS, document
from tests.schemas import page as codes_page

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"zot": "zot-protocol", "pi": "pi-protocol", "pi-legacy": "pi-legacy-protocol", "pi-1": "pi-1-protocol"}
QUOTED = re.compile(r"`([A-Za-z_]+)(\??)`")


def table(dialect: str, *heads: str) -> Iterator[list[str]]:
    """The cells of every row of the tables that have this head."""
    inside = False
    for line in (DOCS / f"{PAGES[dialect]}.md").read_text().splitlines():
        inside = line.startswith(f"| {' | '.join(heads)} |") or (inside and line.startswith("|"))
        if inside and not line.startswith(("| `type` |", "|---")):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def tagged(dialect: str, union: str, tag: str) -> dict[str, list[dict[str, Any]]]:
    definitions = document(dialect)["$defs"]
    found: dict[str, list[dict[str, Any]]] = {}
    for each in definitions[union]["oneOf"]:
        schema = definitions[each["$ref"].rpartition("/")[2]]
        found.setdefault(schema["properties"][tag].get("const", ""), []).append(schema)
    return found


def fields(schema: dict[str, Any], *besides: str) -> dict[str, bool]:
    """The fields of an object, and whether the protocol's other programs have them too."""
    known = schema.get("properties", {})
    return {name: "$comment" not in each for name, each in known.items() if name not in ("type", *besides)}


def disagreement(cell: str, schema: dict[str, Any], *besides: str, marks: bool) -> str:
    """What a cell and a schema say differently. With `marks`, a question mark is on whatever may be absent."""
    said = dict(QUOTED.findall(cell))
    known = fields(schema, *besides)
    missing = {name for name, shared in known.items() if shared} - said.keys() if "…" not in cell else set()
    unknown = said.keys() - known.keys()
    required = schema.get("required", ())
    wrong = [name for name in said if name in known and (said[name] == "?") is (name in required)] if marks else []
    return f"{cell}: {missing or ''} {unknown or ''} {wrong or ''}" if missing or unknown or wrong else ""


@pytest.mark.parametrize("dialect", PAGES)
def test_the_table_of_events_has_the_fields_of_the_schema(dialect: str) -> None:
    events = tagged(dialect, "Event", "type")
    rows = [row for row in table(dialect, "`type`", "fields", "meaning") if QUOTED.match(row[0])]
    assert len(rows) > 10
    for name, cell, *_ in rows:
        schema = events[QUOTED.findall(name)[0][0]][0]
        assert disagreement(cell, schema, "seq", marks=dialect == "pi-1") == "", name


def test_the_table_of_commands_of_todays_pi_has_the_fields_of_the_schema() -> None:
    commands, answers = tagged("pi-1", "Command", "type"), tagged("pi-1", "Response", "command")
    rows = list(table("pi-1", "`type`", "takes", "`data`"))
    shared = {name for name, [schema] in commands.items() if "$comment" not in schema}
    assert {QUOTED.findall(row[0])[0][0] for row in rows} == shared
    for name, takes, data in rows:
        [command] = commands[word := QUOTED.findall(name)[0][0]]
        besides, marks = ((), False) if word == "extension_ui_response" else (("id",), True)
        assert disagreement(takes, command, *besides, marks=marks) == "", name
        [answer] = answers[word]
        if data == "none":
            assert "data" not in answer["properties"], name
        elif QUOTED.search(data):
            told = re.sub(r": each [^;]*|,? or `null`.*", "", data)
            assert disagreement(told, _object("pi-1", answer["properties"]["data"]), marks=True) == "", name


def _object(dialect: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The object that this is, or a reference to, or may be."""
    if "anyOf" in schema:
        schema = schema["anyOf"][0]
    found: dict[str, Any] = document(dialect)["$defs"][schema["$ref"].rpartition("/")[2]]
    return found


def test_the_table_of_commands_of_the_earlier_pi_has_the_fields_of_the_schema() -> None:
    commands = tagged("pi-legacy", "Command", "type")
    for name, takes, _ in table("pi-legacy", "`type`", "fields", "does"):
        [command] = commands[QUOTED.findall(name)[0][0]]
        assert disagreement(takes, command, "id", marks=False) == ""


@pytest.mark.parametrize(("dialect", "union"), [(each, "Command") for each in PAGES])
def test_every_command_has_words_about_it_and_about_each_of_its_fields(dialect: str, union: str) -> None:
    for name, [schema] in tagged(dialect, union, "type").items():
        assert schema["description"].endswith("."), name
        assert all("description" in each for field, each in schema["properties"].items() if field != "type"), name


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_event_and_every_answer_has_words_about_it(dialect: str) -> None:
    definitions = document(dialect)["$defs"]
    unions = [definitions[each] for each in ("Event", "Response", "Message") if each in definitions]
    named = {each["$ref"].rpartition("/")[2] for union in unions for each in union.get("oneOf", ())}
    assert [name for name in sorted(named) if not definitions[name].get("description")] == []


def test_the_table_of_codes_is_made() -> None:
    text = codes_page.PAGE.read_text()
    assert codes_page.made(text) == text
