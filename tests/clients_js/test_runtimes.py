"""The TypeScript client in runtimes that are not Node: Bun, Deno, and a real browser."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from linnet.testing.model_server import ModelServer
from tests.clients_js.conftest import ran, tool
from tests.serve.page.conftest import page_browser
from tests.serve.unix.serving import Served
from tests.suite.real_pi import needed

__all__ = ["page_browser"]
pytestmark = pytest.mark.foreign

RUNTIMES = Path(sys.prefix) / "runtimes" / "node_modules"
COMMANDS = {
    "bun": [str(RUNTIMES / "@oven" / "bun-linux-x64" / "bin" / "bun")],
    "deno": [str(RUNTIMES / "@deno" / "linux-x64-glibc" / "deno"), "run", "--allow-all", "--no-lock", "--quiet"],
    "node": ["node"],
}


def url_of(served: Served) -> str:
    """Where the server is on HTTP."""
    return next(word for word in reversed(served.stderr.split()) if word.startswith("http://"))


@pytest.mark.parametrize("runtime", COMMANDS)
def test_the_same_program_runs_in_every_runtime(
    built: Path, node_env: dict[str, str], server: ModelServer, runtime: str, tmp_path: Path
) -> None:
    command = COMMANDS[runtime]
    if runtime != "node":
        needed(Path(command[0]))
    with Served(server.url, "--http", "127.0.0.1:0", "--root", "/") as served:
        flags = ["--provider", "anthropic", "--base-url", server.url, "--api-key", "x", "--no-session"]
        agent = [node_env["LINNET"], "--mode", "rpc", "--dialect", "pi-1", *flags]
        token = (served.state / "drive.token").read_text().strip()
        smoke = json.dumps([agent, str(served.socket), url_of(served), token, str(served.work)])
        env = {**node_env, "SMOKE": smoke, "DENO_DIR": str(tmp_path / "deno"), "NO_COLOR": "1"}
        printed = ran([*command, ".cache/test/smoke.mjs"], env, built)
    assert printed.split("\n")[-4:] == ["ok pipe", "ok socket", "ok http", ""], printed


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def pages(folder: Path) -> Iterator[str]:
    """Serve the files of a folder; the address is that of no linnet."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.xdist_group("browser")
def test_the_browser_s_build_drives_an_agent_over_a_restart_of_its_server(
    built: Path, server: ModelServer, tmp_path: Path, page_browser: Browser
) -> None:
    flags = ["--bundle", "--format=esm", "--platform=browser", "--conditions=browser", "--log-level=error"]
    ran([tool("esbuild"), ".cache/test/page.js", *flags, f"--outfile={tmp_path / 'page.js'}"], cwd=built)
    (tmp_path / "index.html").write_text(
        '<!doctype html><link rel="icon" href="data:,"><script type="module" src="page.js"></script>'
    )
    with (
        pages(tmp_path) as origin,
        Served(server.url, "--http", "127.0.0.1:0", "--root", "/", "--origin", origin) as served,
    ):
        url = url_of(served)
        page = page_browser.new_page()
        page.goto(origin)
        page.wait_for_function("() => !!globalThis.drive")
        token = (served.state / "drive.token").read_text().strip()
        page.evaluate("([url, token, cwd]) => drive(url, token, cwd)", [url, token, str(served.work)])
        page.evaluate("prompt('hello')")
        page.wait_for_function("told.texts.length === 1")
        page.evaluate("prompt('!text 5000 2')")
        page.wait_for_function("told.words.includes('w20 ')")
        served.restart("--http", url.removeprefix("http://"))
        page.wait_for_function("told.texts.length === 2", timeout=60_000)
        page.evaluate("prompt('hello')")
        page.wait_for_function("told.texts.length === 3", timeout=60_000)
        told = page.evaluate("told")
        page.close()
    assert told["texts"][0] == told["texts"][2] == "Hello from the scripted model."
    assert "the server ended while this ran" in told["texts"][1]
    assert "lost" in told["states"]
    said = told["words"].split("w0 ")[1].removesuffix("Hello from the scripted model.").split()
    assert said == [f"w{number}" for number in range(1, len(said) + 1)]
    assert told["draft"] == "Hello from the scripted model."
