"""What an installer and an index are told of the package."""

import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import linnet

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]


def test_the_distribution_is_linnet_agent_and_the_version_is_that_of_the_package() -> None:
    found = distribution("linnet-agent")
    assert found.version == linnet.__version__
    assert found.metadata["Author"] == "linnet maintainers"
    assert found.metadata["License-Expression"] == "MIT"
    assert "mcp" in (found.metadata.get_all("Provides-Extra") or [])


def test_commands_keep_the_short_name_and_are_shipped_as_they_are() -> None:
    """An installer makes launchers of its own from entry points, and those break; see `test_launchers`."""
    found = distribution("linnet-agent")
    assert not [entry for entry in found.entry_points if entry.group == "console_scripts"]
    scripts = {file.name: file.locate() for file in found.files or () if file.parent.name == "bin"}
    assert set(scripts) == {"linnet", "linnet-agent", "linnet-pi", "linnet-zot"}
    shipped = (ROOT / "scripts" / "linnet").read_bytes()
    assert all(Path(str(path)).read_bytes() == shipped for path in scripts.values())


def test_a_wheel_has_the_catalogue_of_models_and_the_host_of_extensions_for_pi(tmp_path: Path) -> None:
    build = "from hatchling.build import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    with ZipFile(tmp_path / done.stdout.split()[-1]) as wheel:
        names = wheel.namelist()
    shipped = {Path(name).name for name in names if name.startswith("linnet/providers/catalogue/")}
    host = "linnet/extensions/node/host"
    there = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / host).rglob("*.js")}
    assert {name for name in names if name.startswith(f"{host}/")} == there
    assert shipped == {path.name for path in (ROOT / "src/linnet/providers/catalogue").iterdir()}


def test_only_what_is_tested_is_claimed() -> None:
    claimed = distribution("linnet-agent").metadata.get_all("Classifier") or []
    systems = [each for each in claimed if each.startswith("Operating System")]
    versions = [each for each in claimed if re.search(r"Python :: 3\.\d", each)]
    assert systems == ["Operating System :: POSIX :: Linux"]
    assert versions == ["Programming Language :: Python :: 3.11"]


def test_the_version_is_written_in_one_file() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert linnet.__version__ not in text
    assert 'dynamic = ["version"]' in text


def test_no_page_says_to_install_somebody_elses_package() -> None:
    for page in PAGES:
        for line in page.read_text().splitlines():
            words = line.partition("pip install ")[2].partition("`")[0].split()
            wanted = [word.strip("'\"").partition("[")[0] for word in words]
            assert "linnet" not in wanted, f"{page}: {line}"
