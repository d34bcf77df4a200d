"""The layout is the architecture: a folder imports what its row allows, and nothing else of ours."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.suite.sources import parsed

ROOT = Path(__file__).parent.parent / "src" / "linnet"
ANYTHING = {"*"}
ALLOWED: dict[str, set[str]] = {
    "core": set(),
    "wire": {"core"},
    "files": set(),
    "providers": {"core", "files"},
    "tools": {"core", "files", "logs"},
    "store": {"core", "wire", "files"},  # What is on disk is spelled as on pi's wire.
    "export": {"core", "store"},
    "extensions": {"core", "files", "logs", "tools"},
    "runtime": {"core", "files", "logs", "providers", "tools", "store", "export", "extensions"},
    "server": {"core", "wire", "runtime"},
    "sdk": {"core", "files", "logs", "wire", "runtime"},
    "monitor": {"core", "wire", "client"},
    "client": {"core", "wire"},  # Never what it talks to.
    "testing": ANYTHING,
    "errors.py": set(),
    "logs.py": {"core"},
    "decoding.py": set(),
    "changes.py": set(),
    "faces.py": set(),
    "flags.py": {"core", "runtime"},  # The rows of the settings, which import nothing that is slow.
    "drop_in.py": {"core", "files", "flags"},
    "cli_auth.py": ANYTHING,
    "cli_sessions.py": ANYTHING,
    "cli_monitor.py": ANYTHING,
    "cli_config.py": ANYTHING,
    "cli_trust.py": ANYTHING,
    "setting_words.py": {"runtime"},
    "cli_extensions.py": ANYTHING,
    "cli_models.py": ANYTHING,
    "session_table.py": {"core"},
    "cli.py": ANYTHING,
    "entry_points.py": ANYTHING,
    "events.py": ANYTHING,
    "frames.py": ANYTHING,
    "questions.py": ANYTHING,
    "__init__.py": ANYTHING,
    "__main__.py": ANYTHING,
}
EVERYBODY = {"errors", "decoding", "changes", "faces", "__version__"}
IMPURE = {"os", "time", "threading", "socket", "subprocess", "logging", "random", "pathlib", "sys", "asyncio", "select"}
MODULES = sorted(ROOT.rglob("*.py"))


def layer(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def imports(path: Path) -> Iterator[str]:
    """Dotted names of everything a module imports, at its top or inside a function, for checking types or for real."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def misplaced(path: Path) -> Iterator[str]:
    """Sentences about what this module imports and must not."""
    own = layer(path)
    allowed = ALLOWED[own]
    for name in imports(path):
        top, *rest = name.split(".")
        if top == "linnet" and allowed is not ANYTHING and rest[0] not in allowed | EVERYBODY | {own}:
            yield f"{path.relative_to(ROOT)}: {own} must not import {name}"
        if own in ("core", "wire") and top in IMPURE:
            yield f"{path.relative_to(ROOT)}: {own} is pure and must not import {name}"


def test_a_module_imports_only_what_its_layer_may() -> None:
    assert [sentence for path in MODULES for sentence in misplaced(path)] == []


def test_a_module_fits_a_few_screens_and_says_what_it_is() -> None:
    assert [path for path in MODULES if path.read_text().count("\n") > 400] == []
    assert [path for path in MODULES if not ast.get_docstring(parsed(path))] == []


def test_only_one_module_opens_sockets() -> None:
    opening = [path for path in MODULES if "socket" in {name.split(".")[0] for name in imports(path)}]
    proxy = ROOT / "tools" / "proxy"  # What commands in the sandbox may reach.
    assert {layer(path) for path in opening if not path.is_relative_to(proxy)} <= {"providers", "testing"}
