"""The pages about `linnet serve`, held against the code: flags, fields, endpoints, figures; requests are sent."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linnet.attach import command_line
from linnet.cli import serve_command, watch_command
from linnet.serve.agents.host import Host, HostOptions
from linnet.serve.agents.summary import Summary
from linnet.serve.http import replies
from linnet.serve.http.allowed import Allowance
from linnet.serve.http.app import App
from linnet.serve.http.http_server import HttpOptions, HttpServer, http_server
from linnet.serve.http.metrics import Meter, exposition
from linnet.serve.unix.first_line import Attach, Open

DOCS = Path(__file__).parents[2] / "docs"
SERVE, HTTP = (DOCS / "serve.md").read_text(), (DOCS / "http.md").read_text()
MONITOR = (DOCS / "monitor.md").read_text()
CURL = """
set -euo pipefail
curl() { case " $* " in
  *" -N "*) timeout 3 curl -s "$@" | head -n 3 || true ;;
  *) command curl -sS --fail-with-body --max-time 30 "$@" ;;
esac; echo; }
"""


def first_cells(page: str, header: str) -> list[str]:
    """Return what is quoted in the first column of the table that begins so."""
    [table] = re.findall(rf"^\| {re.escape(header)} \|.*\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    return [name for row in table.splitlines() for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    found = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environ = {**found, "LINNET_HOME": str(tmp_path / "home"), "LINNET_PROVIDER": "scripted"}
    made = Host(HostOptions(state=str(tmp_path / "state")), environ)
    made.begin()
    yield made
    made.close()


@pytest.fixture
def served(host: Host, tmp_path: Path) -> Iterator[HttpServer]:
    server = http_server(host, HttpOptions(state=host.options.state, roots=(str(tmp_path),)))
    server.begin()
    yield server
    server.stop()


def test_the_table_of_flags_has_every_flag_of_linnet_serve_and_its_value() -> None:
    spelled = {f"{name} {flag.word}".strip() for flag in serve_command.FLAGS for name in flag.names}
    assert sorted(first_cells(SERVE, "flag of `linnet serve`")) == sorted(spelled)


def test_the_table_of_flags_has_every_flag_of_linnet_attach() -> None:
    listed = [cell.split()[0] for cell in first_cells(SERVE, "flag of `linnet attach`")]
    assert sorted(listed) == sorted({*command_line._VALUES, *command_line._SWITCHES})


def test_the_page_about_monitors_has_every_flag_of_linnet_watch() -> None:
    section = MONITOR.partition("\n## On a page\n")[2]
    spelled = {f"{name} {flag.word}".strip() for flag in watch_command.WATCH.flags for name in flag.names}
    assert sorted(first_cells(section.partition("\n## ")[0], "flag")) == sorted(spelled - {"-h", "--help"})


@pytest.mark.parametrize(("name", "kind"), [("open", Open), ("attach", Attach)])
def test_the_fields_of_a_first_line_are_all_in_a_table(name: str, kind: Any) -> None:
    assert sorted(first_cells(SERVE, f"field of `{name}`")) == sorted(kind.__struct_encode_fields__)


def test_the_fields_of_an_agent_are_all_in_a_table() -> None:
    assert sorted(first_cells(SERVE, "field of an agent")) == sorted(Summary.__struct_encode_fields__)


def test_every_endpoint_is_in_the_table_with_who_may_use_it(served: HttpServer) -> None:
    app = served.app
    assert isinstance(app, App)
    listed = first_cells(HTTP, "endpoint")
    assert sorted(listed) == sorted(f"{each.method} {each.path}" for each in app.endpoints)
    words = {"open": "anybody", "watch": "watch", "drive": "drive"}
    for each in app.endpoints:
        [row] = [line for line in HTTP.splitlines() if line.startswith("|") and f"`{each.method} {each.path}`" in line]
        assert row.split(" | ")[1] == words[each.access]


def test_the_flags_that_may_be_asked_for_over_http_are_all_named() -> None:
    [item] = re.findall(r"^- \*\*Flags\*\*.*?(?=^- )", HTTP, re.MULTILINE | re.DOTALL)
    assert sorted(set(re.findall(r"`(--[a-z-]+)`", item)) - {"--open-flags"}) == Allowance().named()


def test_the_codes_of_errors_are_in_the_row_of_their_status() -> None:
    [table] = re.findall(r"^\| status \|.*\n\|[-|]+\n((?:\|.*\n)+)", HTTP, re.MULTILINE)
    rows = {int(row.split(" | ")[0].strip("| ")): re.findall(r"`(\w+)`", row) for row in table.splitlines()}
    for code, status in replies._STATUS.items():
        assert code in rows[status]


def test_every_figure_is_in_the_table(host: Host) -> None:
    shown = exposition(host, Meter(lambda: 0, lambda: 0).values()).decode()
    assert sorted(first_cells(HTTP, "name")) == sorted(re.findall(r"^# TYPE (\S+)", shown, re.MULTILINE))


def test_the_requests_that_are_shown_succeed_from_top_to_bottom(host: Host, served: HttpServer, tmp_path: Path) -> None:
    blocks = [block for block in re.findall(r"^```sh\n(.*?)^```$", HTTP, re.DOTALL | re.MULTILINE) if "curl" in block]
    opening, *others = blocks
    agent = 'AGENT=$(sed \'s/.*"id":"\\([0-9a-f]*\\)".*/\\1/\' opened.json)\n'
    env = {
        **os.environ,
        "URL": served.url,
        "AUTH": f"Authorization: Bearer {(tmp_path / 'state' / 'drive.token').read_text().strip()}",
        "FOLDER": str(tmp_path),
    }
    script = CURL + opening.replace("\n", " > opened.json\n", 1) + agent + "".join(others)
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout[-2000:]
    assert '"disposition":"started"' in done.stdout
    for page in ("session.html", "agent.html"):
        assert (tmp_path / page).read_bytes().startswith(b"<!doctype html>")
    assert host.summaries() == []
