"""Images from a program: with a prompt, and as what a tool returns."""

import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from linnet import BadInput, Image, Runtime, events, tool
from linnet.testing.model_server import ModelServer

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
CODED = b64encode(PNG).decode()


def runtime(server: ModelServer, **more: Any) -> Runtime:
    return Runtime(provider="anthropic", base_url=server.url, api_key="x", **more)


def sent(server: ModelServer) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = server.requests[-1].body["messages"][-1]["content"]
    return [block["source"] for block in content if block["type"] == "image"]


@pytest.mark.parametrize("how", ["path", "text", "relative", "bytes", "image", "image of bytes"])
def test_an_image_is_given_as_a_path_bytes_or_an_image(
    how: str, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(PNG)
    monkeypatch.chdir(tmp_path)
    given: Any = {
        "path": file,
        "text": str(file),
        "relative": "a.png",
        "bytes": PNG,
        "image": Image("image/png", CODED),
        "image of bytes": Image("image/png", PNG),
    }[how]
    with runtime(server) as agent:
        assert agent.run("look", images=[given]).stop == "end_turn"
    assert sent(server) == [{"type": "base64", "media_type": "image/png", "data": CODED}]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("missing.png", "there is no image"),
        ("notes.txt", "no image that models see"),
        (".", "it is a folder"),
        ("pipe", "not a plain file"),
        ("nul\0.png", "cannot be read"),
        (CODED * 1000, "cannot be read"),
        (b"no image", "needs a mime type"),
        (b"", "empty"),
        (Image("image/png", "not base64!"), "not base64"),
        (Image("text/plain", b64encode(b"hi").decode()), "not an image type"),
        (Image("image/png", b""), "empty"),
        (Image("image/png", b"garbage"), "no image that models see"),
        (Image(b"image/png", PNG), "needs a type"),  # type: ignore[arg-type]
        (Image("image/png", None), "bytes or base64"),  # type: ignore[arg-type]
        (5, "not int"),
    ],
)
def test_what_is_no_image_is_bad_input_and_the_runtime_goes_on(
    given: Any, why: str, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    with runtime(server) as agent:
        with pytest.raises(BadInput, match=why) as raised:
            agent.run("look", images=[given])
        assert len(str(raised.value)) < 400
        assert agent.run("hello").stop == "end_turn"


@pytest.mark.parametrize("given", ["a.png", PNG, Image("image/png", PNG), Path("a.png"), 5])
def test_one_image_where_a_list_is_wanted_is_bad_input_that_says_so(given: Any, server: ModelServer) -> None:
    with runtime(server) as agent, pytest.raises(BadInput, match="images is a list"):
        agent.run("look", images=given)


WRONG: list[Any] = [
    Image("image/png", "not base64!"),
    [Image("text/plain", b"hi")],
    Image("image/png", b"garbage"),
    Image("image/png", 5),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("returned", WRONG)
def test_a_wrong_image_from_a_tool_is_that_tools_error(returned: Any, server: ModelServer) -> None:
    @tool
    def look() -> Any:
        """Look."""
        return returned

    with runtime(server, tools=[look]) as agent:
        heard = list(agent.prompt("!tool look {}"))
        [told] = [event for event in heard if isinstance(event, events.ToolResult)]
        assert told.is_error
        assert "image that cannot be sent" in str(told.content)
        assert agent.run("hello").stop == "end_turn"


def test_a_tool_may_return_an_image_of_bytes(server: ModelServer) -> None:
    @tool
    def look() -> Image:
        """Look."""
        return Image("image/png", PNG)

    with runtime(server, tools=[look]) as agent:
        assert agent.run("!tool look {}").stop == "end_turn"
    [answer] = server.requests[-1].body["messages"][-1]["content"]
    assert answer["content"][0]["source"]["data"] == CODED


@pytest.mark.parametrize("name", ["events", "frames", "questions"])
def test_types_to_match_on_can_be_imported_as_a_module(name: str) -> None:
    program = (
        f"import linnet.{name} as module; from linnet import {name}; assert module is {name}; print(len(dir(module)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


def test_the_events_of_the_module_are_those_of_a_run(server: ModelServer) -> None:
    import linnet.events

    with runtime(server) as agent:
        assert isinstance(list(agent.prompt("hello"))[-1], linnet.events.Done)
