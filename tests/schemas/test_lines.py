"""Schemas and decoders say the same of commands, and a line that does not fit is found."""

import json
from typing import Any

import jsonschema_rs
import pytest

from linnet.schemas.dialects import DIALECTS, document, spoken
from linnet.wire.command_rows import Row
from linnet.wire.dialect import Asked, Dialect
from linnet.wire.pi.dialect import Pi
from linnet.wire.pi.generations import named
from linnet.wire.pi_legacy.dialect import PiLegacy
from linnet.wire.zot.dialect import Zot
from tests.suite.validated import misfit

VALUES: dict[str, Any] = {"boolean": True, "integer": 1, "object": {"type": "object"}, "array": []}
FITTING = {
    "tools": [{"name": "look", "parameters": {"type": "object"}}],
    "images": [],
    "attachments": [],
    "content": "done",
}
CASES = [(dialect, row) for dialect in DIALECTS for row in spoken(dialect).rows]
CASE = pytest.mark.parametrize(("dialect", "row"), CASES, ids=[f"{dialect}-{row.name}" for dialect, row in CASES])


def speaker(dialect: str) -> Dialect:
    return Zot() if dialect == "zot" else PiLegacy() if dialect == "pi-legacy" else Pi(named(dialect))


def example(name: str, schema: dict[str, Any]) -> Any:
    """A value that fits this schema."""
    if name in FITTING:
        return FITTING[name]
    schema = schema.get("anyOf", [schema])[0]
    return schema.get("const", schema.get("enum", [None])[0]) or VALUES.get(schema.get("type", ""), "word")


def command(dialect: str, row: Row) -> tuple[dict[str, Any], dict[str, Any]]:
    """A command with all that its schema lists, and that schema."""
    definitions = document(dialect)["$defs"]
    [schema] = [
        each
        for name, each in definitions.items()
        if name.endswith("Command") and each.get("properties", {}).get("type", {}).get("const") == row.name
    ]
    said = {name: example(name, each) for name, each in schema["properties"].items()}
    if row.name == "prompt":
        said.pop("streamingBehavior", None)  # A prompt that is said to a run has no form.
    return said, schema


@CASE
def test_a_command_that_fits_its_schema_is_understood(dialect: str, row: Row) -> None:
    said, _ = command(dialect, row)
    whole = document(dialect)
    fits = jsonschema_rs.Draft202012Validator({"$ref": "#/$defs/Command", "$defs": whole["$defs"]})
    assert [error.message for error in fits.iter_errors(said)] == []
    assert isinstance(speaker(dialect).decode(json.dumps(said).encode()), Asked)


@CASE
def test_a_command_without_what_it_needs_is_refused(dialect: str, row: Row) -> None:
    said, schema = command(dialect, row)
    if (dialect, row.name) == ("zot", "set_model"):  # The runtime refuses it: no model is called so.
        return
    for name in {*schema["required"]} - {"type"}:
        less = {field: value for field, value in said.items() if field != name}
        assert not isinstance(speaker(dialect).decode(json.dumps(less).encode()), Asked), name


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_line_that_does_not_fit_is_found(dialect: str) -> None:
    start = {"type": "turn_start"} | ({"step": 1} if dialect == "zot" else {})
    assert misfit(dialect, start) == ""
    assert "surplus" in misfit(dialect, start | {"surplus": 1})
    assert misfit(dialect, start | {"surplus": 1}, closed=False) == ""
    assert misfit(dialect, {"type": "surplus"})
    assert misfit(dialect, {"type": "error"})
