"""Files for the agent, where commands may have put links: no link of theirs leads out of what they see."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet import Runtime, events
from linnet.errors import BadInput
from linnet.processes.sandbox.opened import opened
from linnet.processes.sandbox.view import View
from linnet.testing.model_server import ModelServer

SECRET = "planted-7c20f5e1"
SKILL = "---\nname: x\ndescription: About x.\n---\n"


class Place:
    def __init__(self, folder: Path) -> None:
        self.work, self.home, self.temporary = (folder.resolve() / name for name in ("work", "home", "tmp"))
        for each in (self.work, self.home, self.temporary):
            each.mkdir(parents=True)
        (self.home / "secret").write_text(SECRET)
        self.view = View(str(self.work), str(self.home), str(self.temporary), (), ())

    def read(self, path: Path) -> str:
        fd = opened(str(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, self.view)
        with open(fd) as file:
            return file.read()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_file_of_either_is_read(place: Place) -> None:
    (place.work / "a").write_text("inside")
    (place.work / "link").symlink_to("a")
    (place.work / "roundabout").symlink_to(f"../{place.work.name}/./link")
    (place.home / "mine").symlink_to("secret")
    assert [place.read(place.work / each) for each in ("a", "link", "roundabout")] == ["inside"] * 3
    assert place.read(place.home / "mine") == SECRET, "it is the user's own, and so is the link"
    with pytest.raises(FileNotFoundError):
        place.read(place.work / "b")
    assert "root" in place.read(Path("/etc/passwd"))


def plain(place: Place) -> Path:
    (place.work / "x").symlink_to(place.home / "secret")
    return place.work / "x"


def relative(place: Place) -> Path:
    (place.work / "x").symlink_to("../home/secret")
    return place.work / "x"


def over_a_folder(place: Place) -> Path:
    (place.work / "skills").symlink_to(place.home)
    return place.work / "skills" / "secret"


def over_two(place: Place) -> Path:
    (place.work / "a").symlink_to("b")
    (place.work / "b").symlink_to(place.home)
    return place.work / "a" / "secret"


def from_the_users_own(place: Place) -> Path:
    (place.home / "mine").symlink_to(place.work)
    (place.work / "x").symlink_to(place.home / "secret")
    return place.home / "mine" / "x"


def by_the_temporary_folder(place: Place) -> Path:
    (place.temporary / "x").symlink_to(place.home / "secret")
    (place.work / "x").symlink_to(place.temporary / "x")
    return place.work / "x"


def by_the_kernel(place: Place) -> Path:
    (place.work / "x").symlink_to(f"/proc/self/root{place.home}/secret")
    return place.work / "x"


@pytest.mark.parametrize(
    "way", [plain, relative, over_a_folder, over_two, from_the_users_own, by_the_temporary_folder, by_the_kernel]
)
def test_a_link_of_theirs_leads_nowhere(place: Place, way: Callable[[Place], Path]) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises((BadInput, OSError)):
        place.read(way(place))
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_links_that_loop_are_given_up(place: Place) -> None:
    (place.work / "x").symlink_to("x")
    with pytest.raises(OSError, match="Too many levels"):
        place.read(place.work / "x")


@given(st.lists(st.sampled_from(["a", "b", "..", ".", "link", "out", "deep/er"]), min_size=1, max_size=6))
def test_whatever_the_way_nothing_outside_is_read_by_a_link_of_theirs(
    tmp_path_factory: pytest.TempPathFactory, way: list[str]
) -> None:
    place = Place(tmp_path_factory.mktemp("opened"))
    (place.work / "deep" / "er").mkdir(parents=True)
    for folder in (place.work, place.work / "deep", place.work / "deep" / "er"):
        (folder / "link").symlink_to("deep")
        (folder / "out").symlink_to(place.home)
        (folder / "secret").write_text("inside")
    (place.work / "x").symlink_to("/".join([*way, "secret"]))
    with contextlib.suppress(BadInput, OSError):
        assert place.read(place.work / "x") == "inside"


def planted(work: Path, secret: Path) -> None:
    """What a command in the sandbox could do."""
    for path in (".linnet/skills/x/SKILL.md", ".linnet/prompts/t.md", ".linnet/SYSTEM.md", "AGENTS.md"):
        (work / path).unlink(missing_ok=True)
        (work / path).symlink_to(secret)


@pytest.mark.parametrize("sandbox", [True, False])
def test_what_people_wrote_is_read_within_the_bounds_of_the_tools(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: bool
) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    for folder in (work / ".linnet/skills/x", work / ".linnet/prompts", home):
        folder.mkdir(parents=True)
    (work / ".linnet/skills/x/SKILL.md").write_text(f"{SKILL}Sing.")
    (work / ".linnet/prompts/t.md").write_text("Tweet.")
    secret = home / "secret"
    secret.write_text(f"{SKILL}{SECRET}")
    monkeypatch.setenv("LINNET_HOME", str(home / ".linnet"))
    monkeypatch.setenv("HOME", str(home))
    with Runtime(base_url=server.url, api_key="x", cwd=work, trust=True, sandbox=sandbox) as runtime:

        def loaded() -> str:
            heard = list(runtime.prompt('!tool skill {"name": "x"}'))
            return "".join(str(event.content) for event in heard if isinstance(event, events.ToolResult))

        assert "Sing." in loaded()
        planted(work, secret)
        results = [loaded()]
        for text in ("hello", "/t", "/skill:x"):
            runtime.run(text)
        told = [*results, *(str(request) for request in server.requests)]
    assert any(SECRET in each for each in told) is not sandbox
