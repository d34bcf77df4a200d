"""Programs of others that judge schemas: a strict validator for JavaScript, and TypeScript's compiler."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(sys.prefix) / "schemas" / "node_modules"
STRICT = ("--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--noEmit", "--target", "es2022")


def needs(name: str) -> Path:
    """Return the folder of this package; without it the test is skipped, and fails where CI is set."""
    folder = PROGRAMS / name
    if not folder.exists():
        reason = f"{name} is not installed: `make .venv/.node` does it, where there is npm"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return folder


def compiled(*files: Path) -> str:
    """Return what TypeScript's compiler has to say against these files; nothing if they are sound."""
    program = needs("typescript") / "bin" / "tsc"
    command = ["node", str(program), *STRICT, "--module", "nodenext", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def strictly(script: str, *files: Path) -> str:
    """Return what a script prints that has `Ajv`, and `schemas`, those in the files."""
    module = (needs("ajv") / "dist" / "2020.js").as_uri()
    head = (
        f"import Ajv from {module!r}; import fs from 'node:fs';"
        f"const schemas = {[str(file) for file in files]!r}.map(file => JSON.parse(fs.readFileSync(file, 'utf8')));"
    )
    command = ["node", "--input-type=module", "-e", head + script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout
