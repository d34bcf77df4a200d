"""The commands find their Python wherever they are installed, and no variable of the caller's leads it astray."""

import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import linnet
from linnet.testing.model_server import ModelServer

ROOT = Path(__file__).parent.parent
MODULES = Path(sysconfig.get_path("purelib"))
VERSION = f"python3.{sys.version_info.minor}"
PYTHON = Path(os.path.realpath(sys.executable))  # That of the system, not of a virtual environment.
SAID = {"linnet": f"linnet {linnet.__version__} (speaks as pi 1.5.0)\n", "linnet-pi": "1.5.0\n"}  # As pi says it.
SAID["linnet-zot"] = f"linnet-zot {linnet.__version__}\n"
SAID["linnet-agent"] = SAID["linnet"]
NAMES = sorted(SAID)


@pytest.fixture
def astray(tmp_path: Path) -> dict[str, str]:
    """The variables of a caller that uses another Python, and has modules of the same names as ours."""
    folder = tmp_path / "another python"
    folder.mkdir()
    for name in ("re", "os", "site", "sitecustomize", "msgspec", "linnet", "typing", "encodings"):
        (folder / f"{name}.py").write_text("raise SystemExit('led astray')")
    return {"PYTHONPATH": str(folder), "PYTHONHOME": str(folder), "PYTHONSTARTUP": str(folder / "re.py")}


def run(
    command: Path | str, *words: str, env: dict[str, str], cwd: Path | None = None, path: str = "/usr/bin:/bin"
) -> subprocess.CompletedProcess[str]:
    env = {"PATH": path, "HOME": os.environ["LINNET_HOME"], **env}
    return subprocess.run([command, *words], env=env, cwd=cwd, capture_output=True, text=True, timeout=60)


def installed(folder: Path) -> Path:
    """Copies of the launchers."""
    folder.mkdir(parents=True)
    for name in NAMES:
        shutil.copy(ROOT / "scripts" / name, folder / name)
    return folder


def environment(folder: Path) -> Path:
    """A virtual environment in a folder that has been given another name; returns its launchers."""
    launchers = installed(folder / "bin")
    shutil.copy(Path(sys.prefix) / "pyvenv.cfg", folder)
    (folder / "bin" / "python").symlink_to(PYTHON)
    (folder / "lib" / VERSION).mkdir(parents=True)
    (folder / "lib" / VERSION / "site-packages").symlink_to(MODULES)
    return launchers


def user_install(folder: Path) -> Path:
    launchers = installed(folder / ".local" / "bin")
    (folder / ".local" / "lib" / VERSION).mkdir(parents=True)
    (folder / ".local" / "lib" / VERSION / "site-packages").symlink_to(MODULES)
    return launchers


def target(folder: Path) -> Path:
    """As `pip install --target` has it."""
    launchers = installed(folder / "bin")
    for each in MODULES.iterdir():
        if each.name != "bin":
            (folder / each.name).symlink_to(each)
    return launchers


@pytest.fixture
def pythons(tmp_path: Path) -> str:
    """A PATH on which this version of Python is one of several."""
    folder = tmp_path / "pythons"
    folder.mkdir()
    (folder / VERSION).symlink_to(PYTHON)
    (folder / "python3").symlink_to(PYTHON)
    return f"{folder}:/usr/bin:/bin"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", [environment, user_install, target])
def test_a_launcher_finds_its_python_and_hears_no_variables(
    layout: object, name: str, tmp_path: Path, astray: dict[str, str], pythons: str
) -> None:
    assert callable(layout)
    launchers = layout(tmp_path / "a folder's name")
    done = run(launchers / name, "--version", env=astray, path=pythons)
    assert (done.stdout, done.stderr, done.returncode) == (SAID[name], "", 0)


@pytest.mark.parametrize("layout", [environment, user_install, target])
def test_attach_starts_without_site_and_finds_its_modules_all_the_same(
    layout: object, tmp_path: Path, astray: dict[str, str], pythons: str
) -> None:
    assert callable(layout)
    launchers = layout(tmp_path / "a folder's name")
    socket = str(tmp_path / "none.sock")
    for env in (astray, {**astray, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}):
        done = run(launchers / "linnet", "attach", "--socket", socket, env=env, path=pythons, cwd=tmp_path)
        said = f"linnet: no server answers at {socket}; start one with `linnet serve`\n"
        assert (done.stdout, done.stderr, done.returncode) == ("", said, 1)


def test_links_to_a_launcher_are_followed_and_keep_its_meaning(
    tmp_path: Path, astray: dict[str, str], pythons: str
) -> None:
    launchers = environment(tmp_path / "tools" / "an environment")
    shown = tmp_path / "bin"
    shown.mkdir()
    (shown / "absolute").symlink_to(launchers / "linnet-pi")
    (shown / "pi").symlink_to("absolute")
    (tmp_path / "linked").symlink_to("bin")
    for command in (shown / "pi", tmp_path / "linked" / "pi"):
        assert run(command, "--version", env=astray).stdout == SAID["linnet-pi"]
    by_name = run("pi", "--version", env=astray, path=f"{shown}:{pythons}")
    assert by_name.stdout == SAID["linnet-pi"]
    relative = run("./pi", "--version", env=astray, cwd=shown)
    assert relative.stdout == SAID["linnet-pi"]
    through_shell = run("/bin/sh", "pi", "--version", env=astray, cwd=shown)
    assert through_shell.stdout == SAID["linnet-pi"]


def test_nothing_is_imported_from_the_current_folder(tmp_path: Path, astray: dict[str, str]) -> None:
    launchers = environment(tmp_path / "environment")
    done = run(launchers / "linnet", "--version", env={}, cwd=Path(astray["PYTHONPATH"]))
    assert (done.stdout, done.returncode) == (SAID["linnet"], 0)


def test_variables_that_lead_nowhere_are_heeded(tmp_path: Path) -> None:
    launchers = environment(tmp_path / "environment")
    done = run(launchers / "linnet", "--version", env={"PYTHONPROFILEIMPORTTIME": "1", "PYTHONNOUSERSITE": "1"})
    assert done.returncode == 0
    assert "linnet.cli.entry_points" in done.stderr


def test_words_reach_linnet_as_they_are(tmp_path: Path) -> None:
    launchers = environment(tmp_path / "environment")
    done = run(launchers / "linnet", "$(touch x) `touch x` *", env={}, cwd=tmp_path)
    assert "$(touch x) `touch x` *" in done.stderr
    assert not (tmp_path / "x").exists()


def test_what_linnet_starts_finds_the_callers_variables(
    tmp_path: Path, astray: dict[str, str], server: ModelServer
) -> None:
    launchers = environment(tmp_path / "environment")
    words = ["-p", "--base-url", server.url, "--api-key", "x", '!tool bash {"command": "env > found"}']
    done = run(launchers / "linnet", *words, env=astray, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = (tmp_path / "found").read_text().splitlines()
    assert {f"{name}={value}" for name, value in astray.items()} <= set(found)


def test_a_python_that_is_gone_is_told(tmp_path: Path) -> None:
    launchers = installed(tmp_path / "bin")
    done = run(launchers / "linnet", "--version", env={})
    assert (done.returncode, done.stdout) == (127, "")
    assert "install it again" in done.stderr


@pytest.mark.foreign
def test_a_wheel_ships_the_launchers_as_programs(tmp_path: Path) -> None:
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    with zipfile.ZipFile(tmp_path / done.stdout.split()[-1]) as wheel:
        scripts = [info for info in wheel.infolist() if ".data/scripts/" in info.filename]
        assert sorted(Path(info.filename).name for info in scripts) == NAMES
        for info in scripts:
            assert wheel.read(info) == (ROOT / "scripts" / "linnet").read_bytes()
            assert stat.S_IMODE(info.external_attr >> 16) & 0o111 == 0o111
        (declared,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
        assert re.findall(r"(?m)^\[(.+)\]$", wheel.read(declared).decode()) == ["pytest11"]
