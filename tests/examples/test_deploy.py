"""The files for a deployment: their command lines are parsed as `linnet serve` does, and systemd looks at its own.

Without a container engine and a running systemd, that is what can be checked.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from linnet.cli.serve_command import SERVE, split
from linnet.flags.flags import parse
from linnet.serve.http.http_server import parsed

DEPLOY = Path(__file__).parents[2] / "examples" / "deploy"
LINNET = Path(sys.executable).with_name("linnet")


def instructions(name: str) -> list[tuple[str, str]]:
    """Return the instructions of the Containerfile, in order."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / name).read_text(), flags=re.MULTILINE)
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in text.splitlines() if line)]


def unit(name: str) -> RawConfigParser:
    read = RawConfigParser(strict=False, interpolation=None)
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read(DEPLOY / name)
    return read


def understood(words: list[str]) -> dict[str, Any]:
    """Return what the server is told by the words after `linnet`; those for agents are parsed, too."""
    assert words[0] == "serve"
    own, _ = split(words[1:])
    return parse(own, SERVE).config


def compose() -> dict[str, Any]:
    found = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert list(found["services"]) == ["linnet"]
    service: dict[str, Any] = found["services"]["linnet"]
    return service


def test_the_image_serves_http_by_default_as_a_user_without_rights() -> None:
    found = instructions("Containerfile")
    said = dict(found)
    assert json.loads(said["ENTRYPOINT"]) == ["linnet"]
    flags = understood(json.loads(said["CMD"]))
    assert flags["no_socket"]
    assert flags["behind_proxy"]
    name, port = parsed(flags["http"])
    assert (name, str(port)) == ("0.0.0.0", said["EXPOSE"])
    assert flags["host_names"] == ["localhost", "127.0.0.1"]
    assert set(flags["roots"]) <= set(said["VOLUME"].split())
    assert f":{port}/readyz" in said["HEALTHCHECK"]
    assert said["USER"] == "10001:10001"
    words = [word for word, _ in found]
    assert words.index("USER") > max(at for at, word in enumerate(words) if word == "RUN")


def test_what_compose_runs_is_understood_and_reached_from_this_machine_only() -> None:
    service = compose()
    flags = understood(service["command"])
    image = understood(json.loads(dict(instructions("Containerfile"))["CMD"]))
    assert image.items() <= flags.items(), "it says all that the image says"
    assert service["ports"] == [f"127.0.0.1:{parsed(flags['http'])[1]}:8080"]
    assert {each.rpartition(":")[2] for each in service["volumes"]} == {"/state", "/projects"}
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).samefile(DEPLOY / "Containerfile")
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"]
    assert int(service["stop_grace_period"].rstrip("s")) > flags.get("drain", 60)


def test_the_service_of_systemd_is_notified_drains_and_has_the_socket_that_attach_looks_for() -> None:
    service, socket = unit("linnet.service")["Service"], unit("linnet.socket")["Socket"]
    assert service["Type"] == "notify"
    assert service["KillMode"] == "mixed"
    program, *words = shlex.split(service["ExecStart"])
    assert program.endswith("/bin/linnet")
    flags = understood(words)
    assert int(service["TimeoutStopSec"]) > flags.get("drain", 60)
    assert "socket" not in flags
    assert socket["ListenStream"] == "%t/linnet/serve.sock"  # $XDG_RUNTIME_DIR is %t of a user's units.
    assert (socket["SocketMode"], socket["DirectoryMode"]) == ("0600", "0700")


def test_systemd_understands_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        return  # Nobody here could say so.
    for name in ("linnet.service", "linnet.socket"):
        text = (DEPLOY / name).read_text().replace("%h/.local/bin/linnet", str(LINNET))
        (tmp_path / name).write_text(text)
    env = {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = ["systemd-analyze", "verify", "--user", "--man=no", *map(str, sorted(tmp_path.glob("linnet.*")))]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    ours = [line for line in done.stderr.splitlines() if "linnet." in line]
    assert (done.returncode, ours) == (0, []), done.stderr
