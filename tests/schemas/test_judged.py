"""The schemas in the hands of programs that nobody here wrote."""

import json
from pathlib import Path

import pytest

from linnet.schemas.dialects import DIALECTS, document
from linnet.schemas.typescript import typescript
from tests.schemas.judges import compiled, strictly

pytestmark = pytest.mark.foreign


def test_a_strict_validator_takes_every_schema(tmp_path: Path) -> None:
    files = []
    for dialect in DIALECTS:
        files.append(tmp_path / f"{dialect}.json")
        files[-1].write_text(json.dumps(document(dialect)))
    script = """
    for (const schema of schemas) {
      const valid = new Ajv({ strict: true }).compile(schema);
      console.log(valid({ type: "abort", id: 1 }), valid({ type: "sing" }), valid({ type: "prompt" }));
    }
    """
    assert strictly(script, *files).splitlines() == ["true false false"] * len(DIALECTS)


def test_typescript_takes_every_dialect_and_a_program_that_leaves_out_no_event(tmp_path: Path) -> None:
    files = []
    for dialect in DIALECTS:
        files.append(tmp_path / f"{dialect}.ts")
        files[-1].write_text(typescript(document(dialect), dialect))
    consumer = tmp_path / "consumer.ts"
    consumer.write_text(Path(__file__).with_name("consumer.ts").read_text())
    assert compiled(*files, consumer) == ""


def test_typescript_finds_an_event_that_a_program_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "pi-1.ts").write_text(typescript(document("pi-1"), "pi-1"))
    consumer = tmp_path / "consumer.ts"
    consumer.write_text(Path(__file__).with_name("consumer.ts").read_text().replace('    case "entry_appended":\n', ""))
    assert "EntryAppendedEvent" in compiled(tmp_path / "pi-1.ts", consumer)
