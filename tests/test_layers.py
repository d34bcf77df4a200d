"""The layout is the architecture: a folder imports what its row allows, and nothing else of ours."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.suite.sources import nodes, parsed, reads_sources

pytestmark = reads_sources

ROOT = Path(__file__).parent.parent / "src" / "linnet"
ANYTHING = {"*"}
# Layers, and what of ours each may import. A name stands for the folder and all rooms in it.
LAYERS: dict[str, set[str]] = {
    "core": set(),
    "wire": {"core"},
    "files": set(),
    "concurrency": {"core", "logs.py"},
    "processes": {"core"},
    "providers": {"core", "files"},
    "tools": {"core", "files", "logs.py", "concurrency", "processes"},
    "store": {"core", "wire", "files"},  # What is on disk is spelled as on pi's wire.
    "eventlog": {"core", "wire", "files"},
    "depot": {"core", "store"},
    "export": {"core", "store"},
    # Extensions for pi are told of a session in pi's words, which are those of its wire.
    "extensions": {"core", "wire", "files", "logs.py", "concurrency", "processes", "tools"},
    "runtime": {
        *{"core", "files", "logs.py", "concurrency", "processes"},
        *{"providers", "tools", "store", "export", "extensions"},
    },
    "server": {"core", "wire", "runtime"},
    "acp": {"core", "wire", "concurrency", "processes", "store", "tools", "runtime", "server"},
    "sdk": {"core", "files", "logs.py", "concurrency", "wire", "runtime"},
    "client": {"core", "wire"},  # Never what it talks to.
    "monitor": {"core", "wire", "client"},
    "capture": {"core", "wire", "monitor"},
    "conform": {"wire", "processes", "testing"},  # Nobody but the command line knows it.
    "attach": {"core/text"},  # Next to nothing: see `attach/main.py`.
    "flags": {"core", "wire", "files", "store", "extensions", "runtime"},
    "serve": {
        *{"core", "wire", "files", "logs.py", "concurrency", "eventlog", "runtime"},
        *{"server", "flags", "store", "export", "monitor", "client", "attach"},
    },
    "fleet": {
        *{"core", "wire", "logs.py", "eventlog", "depot", "store", "tools"},
        *{"runtime", "server", "flags", "serve"},
    },
    "schemas": {"core", "wire", "providers", "runtime", "extensions", "serve"},  # They are made of everybody's types.
    "cli": ANYTHING,
    "testing": ANYTHING,
    "logs.py": {"core/text"},
    "errors.py": set(),
    "decoding.py": set(),
    "changes.py": set(),
    "faces.py": set(),
    "events.py": {"sdk"},
    "frames.py": {"wire/zot"},
    "questions.py": {"core"},
    "provider.py": {"core", "providers"},
    "__init__.py": ANYTHING,
    "__main__.py": {"cli", "attach"},
}
# Rooms, and which others of their own layer each may import. Layers that are not here have one room.
ROOMS: dict[str, set[str]] = {
    "core": set(),
    "core/text": set(),
    "core/json": set(),
    "core/context": {"core", "core/json", "core/text"},
    "core/loop": {"core", "core/context"},
    "core/extensions": {"core"},
    "core/permissions": {"core"},
    "core/project": {"core/text"},
    "core/fleet": {"core"},
    "depot": set(),
    "depot/postgres": {"depot"},
    "wire": set(),
    "wire/zot": {"wire"},
    "wire/pi": {"wire"},
    "wire/pi/reading": {"wire", "wire/pi"},
    "wire/pi_legacy": {"wire", "wire/pi"},
    "wire/acp": {"wire"},
    "processes": {"processes/sandbox"},
    "processes/proxy": {"processes"},
    "processes/sandbox": {"processes", "processes/proxy"},
    "providers": {"providers/http"},
    "providers/http": set(),
    "providers/anthropic": {"providers", "providers/http"},
    "providers/openai_chat": {"providers", "providers/http"},
    "providers/google": {"providers", "providers/http", "providers/anthropic"},
    "providers/openai_responses": {"providers", "providers/http"},
    "providers/bedrock": {"providers", "providers/http"},
    "providers/scripted": {"providers"},
    "providers/program": {"providers"},
    "providers/recorded": {"providers"},
    "providers/local": {"providers"},
    "tools": {"tools/search", "tools/text"},
    "tools/text": set(),
    "tools/search": {"tools", "tools/text"},
    "tools/functions": {"tools", "tools/text"},
    "export": {"export/html"},
    "export/html": set(),
    "extensions": {"extensions/python", "extensions/programs", "extensions/node"},
    "extensions/python": {"extensions"},
    "extensions/programs": {"extensions"},
    "extensions/mcp": {"extensions"},
    "extensions/node": {"extensions", "extensions/programs"},
    "runtime/config": set(),
    "runtime/models": {"runtime/config"},
    "runtime/project": {"runtime/config"},
    "runtime/settings": {"runtime/config", "runtime/models", "runtime/project"},
    "runtime/tools": {"runtime", "runtime/config", "runtime/project", "runtime/settings"},
    "runtime/sessions": {"runtime", "runtime/config", "runtime/models", "runtime/settings"},
    "runtime/run": {"runtime", "runtime/settings", "runtime/sessions", "runtime/tools"},
    "runtime/extensions": {"runtime", "runtime/models", "runtime/settings", "runtime/sessions", "runtime/tools"},
    "runtime": {
        *{"runtime/config", "runtime/models", "runtime/project", "runtime/settings"},
        *{"runtime/tools", "runtime/sessions", "runtime/run", "runtime/extensions"},
    },
    "conform": {"conform/zot", "conform/pi"},
    "conform/zot": {"conform"},
    "conform/pi": {"conform"},
    "server": set(),
    "server/one_shot": {"server"},
    "serve": {"serve/http"},
    "serve/http": {"serve", "serve/agents", "serve/page"},
    "serve/page": set(),
    "serve/watching": {"serve/agents", "serve/http", "serve/page"},
    "serve/agents": set(),
    "serve/unix": {"serve/agents"},
}
EVERYBODY = {"errors.py", "decoding.py", "changes.py", "faces.py", "__init__.py"}
IMPURE = {"os", "time", "threading", "socket", "subprocess", "logging", "random", "pathlib", "sys", "asyncio", "select"}
MODULES = sorted(ROOT.rglob("*.py"))
# What every dialect, or every API, has.
SHARED_NAMES = {
    *{"dialect", "encode", "decode", "frames", "answers", "incoming", "questions", "line", "responses"},
    *{"api", "request", "response", "provider", "quirks"},
}


def layer(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def room(path: Path) -> str:
    """The folder that a module is in, or its own name if it is in none."""
    inside = path.relative_to(ROOT)
    return inside.parent.as_posix() if len(inside.parts) > 1 else inside.name


def imports(path: Path) -> Iterator[str]:
    """Dotted names of everything a module imports, at its top or inside a function, for checking types or for real."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_room(name: str) -> str:
    """The room of ours that a dotted name leads into: the longest part of it that is a module or a folder decides."""
    words = name.split(".")[1:]
    for end in range(len(words), 0, -1):
        place = ROOT.joinpath(*words[:end])
        if place.with_suffix(".py").exists():
            return room(place.with_suffix(".py"))
        if place.is_dir():
            return place.relative_to(ROOT).as_posix()
    return "__init__.py"


def misplaced(path: Path) -> Iterator[str]:
    """Sentences about what this module imports and must not."""
    own, at = layer(path), room(path)
    allowed = LAYERS[own]
    for name in imports(path):
        top = name.split(".")[0]
        target = imported_room(name) if top == "linnet" else ""
        inside = bool(target) and target.split("/")[0] == own
        if inside and at in ROOMS and target not in ROOMS[at] | {at}:
            yield f"{path.relative_to(ROOT)}: {at} must not import {name}"
        if target and not inside and allowed is not ANYTHING and target not in EVERYBODY:
            whole = {target, target.split("/")[0]}
            if not whole & allowed:
                yield f"{path.relative_to(ROOT)}: {own} must not import {name}"
        if own in ("core", "wire") and top in IMPURE:
            yield f"{path.relative_to(ROOT)}: {own} is pure and must not import {name}"


def test_a_module_imports_only_what_its_layer_and_its_room_may() -> None:
    assert [sentence for path in MODULES for sentence in misplaced(path)] == []


def test_every_room_has_its_row() -> None:
    assert {layer(path) for path in MODULES} == LAYERS.keys()
    rooms = {room(path) for path in MODULES}
    assert ROOMS.keys() <= rooms
    split = {each.split("/")[0] for each in ROOMS}
    assert {each for each in rooms if each.split("/")[0] in split} <= ROOMS.keys()


def test_a_module_fits_a_few_screens_and_says_what_it_is() -> None:
    assert [path for path in MODULES if path.read_text().count("\n") > 400] == []
    assert [path for path in MODULES if not ast.get_docstring(parsed(path))] == []


def test_a_room_is_no_drawer_and_a_name_is_not_worn_out() -> None:
    modules = [path for path in MODULES if path.name != "__init__.py"]
    sizes = Counter(path.parent for path in modules)
    assert {str(folder): size for folder, size in sizes.items() if size > 20} == {}
    names = Counter(path.stem for path in modules)
    assert {name: times for name, times in names.items() if times > 2 and name not in SHARED_NAMES} == {}


def test_only_one_layer_opens_sockets() -> None:
    opening = [path for path in MODULES if "socket" in {name.split(".")[0] for name in imports(path)}]
    proxy = ROOT / "processes" / "proxy"  # What commands in the sandbox may reach.
    assert {layer(path) for path in opening if not path.is_relative_to(proxy)} <= {
        "providers",
        "serve",
        "depot",
        "testing",
    }
