"""Where the agent's own tools may write when commands are in a sandbox, whatever a command does meanwhile."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import Text, ToolCall
from linnet.errors import ToolFailed
from linnet.processes.process import Processes
from linnet.processes.sandbox.bounds import Bounds
from linnet.processes.sandbox.view import View
from linnet.tools.context import ToolContext
from linnet.tools.registry import Registry
from linnet.tools.standard import standard_tools

SECRET = "planted-51c0ffee"


class Disturbed(Bounds):
    """Runs `meanwhile` once, right after a look: what a command in the background could do in that moment."""

    meanwhile: dict[str, Callable[[], None]]

    def check(self, path: str, *, writing: bool = False) -> None:
        super().check(path, writing=writing)
        self.meanwhile.pop("checked", lambda: None)()

    def check_open(self, fd: int, *, writing: bool = False) -> None:
        super().check_open(fd, writing=writing)
        self.meanwhile.pop("opened", lambda: None)()


class Place:
    """A working folder, one that can be read, and one that cannot."""

    def __init__(self, folder: Path) -> None:
        folder = folder.resolve()
        self.work, self.temporary, self.shown, self.outside = (folder / name for name in ("w", "t", "shown", "outside"))
        for each in (self.work, self.temporary, self.shown, self.outside):
            each.mkdir()
        for each in (self.work, self.shown, self.outside):
            (each / "file").write_text(SECRET)
        paths = (str(self.work), str(folder / "home"), str(self.temporary))
        self.bounds = Disturbed(View(*paths, (str(self.shown),), ()))
        self.bounds.meanwhile = {}

    def call(self, name: str, path: object, **args: object) -> str:
        context = ToolContext(self.work, CancelToken(), lambda news: None, Processes(), bounds=self.bounds)
        output = Registry(standard_tools()).run(ToolCall("1", name, {"path": str(path), **args}), context)
        assert output.is_error
        [part] = output.content
        assert isinstance(part, Text)
        return part.text

    def swap(self, name: str) -> None:
        """What was in the working folder is now a link to its like outside."""
        (self.work / name).rename(self.work / f"{name}-was")
        (self.work / name).symlink_to(self.outside / name)

    def is_as_it_was(self) -> bool:
        texts = {each.joinpath("file").read_text() for each in (self.shown, self.outside)}
        return texts == {SECRET} and os.listdir(self.outside) == os.listdir(self.shown) == ["file"]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def edits(old: str) -> list[dict[str, str]]:
    return [{"oldText": old, "newText": "x"}]


def test_what_can_only_be_read_is_neither_edited_nor_written_nor_looked_into(place: Place) -> None:
    for folder in (place.shown, place.outside):
        refusal = f"{folder}/file is outside of the sandbox: files can only be written in {place.work} and"
        assert place.call("write", folder / "file", content="x").startswith(refusal)
        assert place.call("edit", folder / "file", edits=edits(SECRET)).startswith(refusal)
        assert place.call("edit", folder / "file", edits=edits("not in it")).startswith(refusal)
    assert place.is_as_it_was()


@pytest.mark.parametrize("path", ["../shown/new", "../shown/a/b/new", "../outside/a/b/new", "../new"])
def test_no_folder_is_made_where_nothing_may_be_written(place: Place, path: str) -> None:
    assert "is outside of the sandbox" in place.call("write", path, content="x")
    with pytest.raises(ToolFailed, match="is outside of the sandbox"):
        place.bounds.open_folder(os.path.normpath(place.work / path))
    assert place.is_as_it_was()
    assert not (place.work.parent / "new").exists()


def test_a_file_that_becomes_a_link_before_it_is_opened_is_not_read(place: Place) -> None:
    place.bounds.meanwhile["checked"] = lambda: place.swap("file")
    assert "is outside of the sandbox" in place.call("edit", "file", edits=edits("not in it"))
    assert place.is_as_it_was()


def test_a_folder_that_becomes_a_link_after_a_file_was_read_is_not_written_to(place: Place) -> None:
    (place.work / "dir").mkdir()
    (place.work / "dir" / "file").write_text("harmless")
    (place.outside / "dir").symlink_to(place.outside)
    place.bounds.meanwhile["opened"] = lambda: place.swap("dir")
    assert "is outside of the sandbox" in place.call("edit", "dir/file", edits=edits("harmless"))
    (place.outside / "dir").unlink()
    assert place.is_as_it_was()


def test_a_folder_that_becomes_a_link_before_a_file_is_written_is_not_written_to(place: Place) -> None:
    (place.work / "dir").mkdir()
    (place.outside / "dir").symlink_to(place.outside)
    place.bounds.meanwhile["checked"] = lambda: place.swap("dir")
    assert "is outside of the sandbox" in place.call("write", "dir/new", content="x")
    (place.outside / "dir").unlink()
    assert place.is_as_it_was()


def test_a_folder_that_is_moved_away_while_it_is_opened_is_not_written_to(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place.work / "a" / "b").mkdir(parents=True)
    make = os.mkdir

    def mkdir(name: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        if name == "b":  # What is above it has been opened by now.
            (place.work / "a").rename(place.shown / "a")
        make(name, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", mkdir)
    with pytest.raises(ToolFailed, match="shown/a/b/new is outside of the sandbox"):
        place.bounds.open_folder(str(place.work / "a" / "b" / "new"))
