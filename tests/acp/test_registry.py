"""What the registry of the protocol wants of an agent, as far as its rules are known."""

import json
import re
from importlib.metadata import distribution
from pathlib import Path
from xml.etree import ElementTree

from linnet import __version__
from linnet.wire.acp.versions import auth_methods

FOLDER = Path(__file__).parents[2] / "examples" / "acp" / "linnet"


def test_the_entry_of_the_registry_is_complete_and_of_this_version() -> None:
    entry = json.loads((FOLDER / "agent.json").read_text())
    assert {"id", "name", "version", "description", "distribution"} <= set(entry)
    assert entry["id"] == FOLDER.name
    assert re.fullmatch(r"[a-z][a-z0-9-]*", entry["id"])
    assert entry["version"] == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", entry["version"])
    assert entry["distribution"]["uvx"] == {"package": f"linnet-agent=={__version__}", "args": ["acp"]}


def test_the_entry_runs_a_command_that_the_package_has() -> None:
    """`uvx` runs the command that is called as the package is."""
    package, _, _ = json.loads((FOLDER / "agent.json").read_text())["distribution"]["uvx"]["package"].partition("==")
    assert package in {file.name for file in distribution(package).files or () if file.parent.name == "bin"}


def test_the_icon_is_small_and_has_no_colours_of_its_own() -> None:
    root = ElementTree.parse(FOLDER / "icon.svg").getroot()
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("16", "16", "0 0 16 16")
    colours = {each.get(name) for each in root.iter() for name in ("fill", "stroke")} - {None}
    assert colours <= {"currentColor", "none"}


def test_there_is_a_way_to_log_in_for_every_editor() -> None:
    for terminal in (True, False):
        assert any(each.get("type", "agent") in ("agent", "terminal") for each in auth_methods(terminal=terminal))
