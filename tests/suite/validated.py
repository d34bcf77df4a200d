"""Every line that agents print in the tests fits the schema of its dialect, exactly: a test whose agents print one that
does not, fails.
"""

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.suite import printed

PARTS = Path(__file__).parents[1] / "wire"  # What is encoded there are parts that no agent puts together so.


@cache
def validator(dialect: str, *, closed: bool = True) -> Any:
    """Return what validates lines that are printed in this dialect. A closed one takes no field that is not listed."""
    import jsonschema_rs

    from linnet.schemas.dialects import document

    return jsonschema_rs.Draft202012Validator(output(document(dialect), closed=closed))


def output(document: dict[str, Any], *, closed: bool) -> dict[str, Any]:
    """Return the schema of a line that an agent prints."""
    definitions = {name: _closed(each) if closed else each for name, each in document["$defs"].items()}
    return {"$ref": "#/$defs/Output", "$defs": definitions}


def _closed(schema: Any) -> Any:
    match schema:
        case {"type": "object", "properties": dict() as properties}:
            kept = {name: _closed(each) for name, each in properties.items()}
            return {**schema, "properties": kept, "additionalProperties": False}
        case dict():
            return {name: _closed(each) if name in ("items",) else each for name, each in schema.items()}
        case _:
            return schema


def misfit(dialect: str, frame: Any, *, closed: bool = True) -> str:
    """Return why this line does not fit the schema of its dialect; nothing if it does."""
    if validator(dialect, closed=closed).is_valid(frame):
        return ""
    return f"{dialect}: {_nearest(dialect, frame, closed=closed)}: {json.dumps(frame)[:600]}"


def _nearest(dialect: str, frame: Any, *, closed: bool) -> str:
    """Return what the definition that was meant says against it."""
    import jsonschema_rs

    from linnet.schemas.dialects import document

    definitions = output(document(dialect), closed=closed)["$defs"]
    wanted = {"type": frame.get("type")} if isinstance(frame, dict) else {}
    if wanted.get("type") == "response":
        wanted |= {"command": frame.get("command"), "success": frame.get("success")}
    for name, each in definitions.items():
        known = each.get("properties", {})
        if wanted and wanted.items() <= {field: said.get("const") for field, said in known.items()}.items():
            found = jsonschema_rs.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": definitions})
            return "; ".join(f"{error.message[:300]} at {error.instance_path}" for error in found.iter_errors(frame))
    return "no such line"


@pytest.fixture(autouse=True, scope="session")
def _lines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    path = str(tmp_path_factory.mktemp("lines") / "lines")
    Path(path).touch()
    os.environ[printed.VARIABLE] = path
    printed.install(path)
    yield
    found = list(_misfits(path))
    assert not found, "\n".join(found)


_read: dict[str, int] = {}


def _misfits(path: str) -> Iterator[str]:
    """Yield what does not fit of the lines that came since it was asked last."""
    before = _read.get(path, 0)
    if os.path.getsize(path) == before:
        return
    with open(path, "rb") as file:
        file.seek(before)
        data = file.read()
    data = data[: data.rfind(b"\n") + 1]
    _read[path] = before + len(data)
    for line in data.splitlines():
        dialect, _, said = line.partition(b"\t")
        if problem := misfit(dialect.decode(), json.loads(said)):
            yield problem


@pytest.fixture(autouse=True)
def _validated(_lines: None, request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    found = list(_misfits(os.environ[printed.VARIABLE]))
    assert not found or request.path.parent == PARTS, "\n".join(found)
