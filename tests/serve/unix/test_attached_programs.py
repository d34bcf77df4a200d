"""`linnet attach` and a real server: in place of a program that is an agent itself."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from tests.attach.scripted_server import Attach, ended
from tests.serve.unix.serving import Served
from tests.serve.unix.tape import Frame

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def attach() -> Iterator[Attach]:
    attach = Attach()
    yield attach
    attach.close()


def started(attach: Attach, served: Served, *words: str) -> "subprocess.Popen[bytes]":
    return attach("--socket", str(served.socket), *words, cwd=served.work)


def said(process: "subprocess.Popen[bytes]", *frames: Frame, ends: bool = False) -> None:
    assert process.stdin
    process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in frames))
    process.stdin.flush()
    if ends:
        process.stdin.close()
        process.stdin = None  # `communicate` would close it again.


def read(process: "subprocess.Popen[bytes]", type: str) -> Frame:
    assert process.stdout
    while (frame := json.loads(process.stdout.readline()))["type"] != type:
        pass
    return dict(frame)


@pytest.mark.parametrize("ends", [False, True], ids=["while it may be asked", "while its work is waited for"])
def test_a_server_that_is_killed_in_the_middle_is_a_failure_and_told(
    attach: Attach, served: Served, ends: bool
) -> None:
    process = started(attach, served, "--open", "--", "rpc")
    said(process, {"type": "prompt", "id": "1", "message": "!gate never"}, ends=ends)
    read(process, "text_delta")
    served.kill()
    code, _, err = ended(process)
    assert (code, err) == (1, f"linnet: the server at {served.socket} has ended\n")


@pytest.mark.parametrize("words", [("--open", "--", "rpc"), ("--open", "--program", "linnet-zot", "--", "rpc")])
def test_what_was_opened_is_closed_when_stdin_has_ended_and_its_work_is_done(
    attach: Attach, served: Served, words: tuple[str, ...]
) -> None:
    process = started(attach, served, *words)
    said(process, {"type": "prompt", "id": "1", "message": "!text 20 1"}, ends=True)
    code, out, err = ended(process)
    assert (code, err) == (0, "")
    assert json.loads(out.splitlines()[-1])["type"] == "done"
    assert served.agents() == {}


def test_what_is_kept_is_gone_on_with_after_the_last_number_in_another_dialect(attach: Attach, served: Served) -> None:
    keeps = started(attach, served, "--open", "--keep", "--cursor", "--", "--mode", "rpc", "--dialect", "pi-1")
    said(keeps, {"type": "prompt", "id": "1", "message": "hello"})
    seen = read(keeps, "agent_settled")["seq"]
    said(keeps, ends=True)
    assert ended(keeps)[0] == 0
    [agent] = served.agents()
    driver = served.attach(agent)
    driver.done("prompt", message="hello again")
    driver.until("agent_settled")
    comes_back = started(attach, served, "--from", str(seen), "--dialect", "zot", agent)
    said(comes_back, ends=True)
    code, out, err = ended(comes_back)
    frames = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [frame["content"][0]["text"] for frame in frames if frame["type"] == "user_message"] == ["hello again"]
    assert frames[-1]["type"] == "done"


def test_an_agent_that_is_closed_ends_its_watchers_in_peace(attach: Attach, served: Served) -> None:
    driver = served.open(keep=False)
    watches = started(attach, served, "--watch", driver.agent)
    said(watches, {"type": "get_state", "id": "1"}, ends=True)
    read(watches, "response")
    driver.close()
    assert ended(watches) == (0, "", "")
