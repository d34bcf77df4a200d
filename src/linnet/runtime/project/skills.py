"""Finds and reads the skills of the user and the project."""

import os
from collections.abc import Iterator, Sequence
from threading import Lock

from msgspec import Struct

from linnet.core.project import skill
from linnet.core.project.skill import Skill
from linnet.core.slash import SlashCommand
from linnet.errors import BadInput, LinnetError
from linnet.files.reading import Open
from linnet.runtime.project.resource_folders import ResourceFolder, ResourceFolders
from linnet.runtime.project.text_files import MOST, TextFile, TextFiles, entries, read

FILE = "SKILL.md"
DEEPEST = 8  # Folders below the one that is searched.
MOST_FOLDERS = 2000
_SKIPPED = ("node_modules",)


class FoundSkill(Struct, frozen=True):
    """A skill, and the folder in which it was found."""

    skill: Skill
    place: ResourceFolder


class Skills:
    """The skills as they were at the last `look`."""

    def __init__(self, resource_folders: ResourceFolders, *, lenient: bool = False, open: Open = os.open) -> None:
        """`lenient`: a skill need not say what it is for, as with zot."""
        self._resource_folders = resource_folders
        self._lenient = lenient
        self._open = open
        self._files = TextFiles(self._skill, open=open)
        self._lock = Lock()  # One look at a time: runs and commands look in threads of their own.
        self.found: tuple[FoundSkill, ...] = ()  # In the order of their folders; of two with one name, the first.

    def look(self) -> None:
        """Look for skills again. A file is read only if it has changed."""
        with self._lock:
            found: dict[str, FoundSkill] = {}
            for place in self._resource_folders.skill_places:
                for path in _paths(place, self._files):
                    each = self._files.get(path)
                    if each is not None:
                        found.setdefault(each.name, FoundSkill(each, place))
            self.found = tuple(found.values())

    def named(self, name: str) -> Skill | None:
        """Return the skill of that name, as of the last look; None if there is none."""
        return next((each.skill for each in self.found if each.skill.name == name), None)

    def body(self, found: Skill) -> str:
        """Return the text of a skill as it is in the file now. Raises BadInput if that cannot be read any more."""
        try:
            text, cut = read(found.path, MOST, open=self._open)
            if not cut:
                return skill.parse(found.path, "", text)[1]
            problem = "it has become too long"
        except OSError as error:
            problem = error.strerror or str(error)
        except LinnetError as error:
            problem = str(error)
        raise BadInput(f"{found.path} cannot be used: {problem}")

    def asked_for(self, name: str, arguments: str) -> str | None:
        """Return the message that `/skill:name arguments` stands for; None if there is no such skill. Looks again
        first. Raises BadInput if the skill cannot be read.
        """
        self.look()
        found = self.named(name)
        if found is None:
            return None
        return skill.asked_for(found, os.path.dirname(found.path), self.body(found), arguments)

    def section(self, tools: Sequence[str], *, tool: bool) -> str:
        """Return the section of the system prompt about skills, for a model that has these tools; `tool`: the `skill`
        tool may be one of them. Empty if the model can load none.
        """
        found = [each.skill for each in self.found]
        if tool and "skill" in tools:
            return skill.to_load(found, os.path.expanduser("~"))
        return skill.to_read(found, tools)

    def commands(self) -> list[SlashCommand]:
        """Return what a user may type for each skill, as of the last look."""
        return [
            SlashCommand(
                skill.COMMAND + each.skill.name,
                each.skill.description,
                "skill",
                each.place.location,
                each.skill.path,
                each.place.base,
            )
            for each in self.found
        ]

    def _skill(self, file: TextFile) -> Skill:
        """Return the skill that a file has. Raises BadInput if it has none."""
        name = os.path.basename(file.path)
        folder = os.path.basename(os.path.dirname(file.path)) if name == FILE else name.removesuffix(".md")
        found, _ = skill.parse(file.path, folder, file.text)
        if not found.description and not self._lenient:
            raise BadInput("it has no description")
        return found


def _paths(place: ResourceFolder, files: "TextFiles[Skill]") -> Iterator[str]:
    """Yield the files of the skills in a folder: each `SKILL.md`, but none below a folder that has one."""
    if place.location == "path" and os.path.isfile(place.path):
        yield place.path
        return
    seen: set[tuple[int, int]] = set()
    todo: list[tuple[str, int | None]] = [(place.path, 0)]  # Without a depth, it is a file.
    while todo:
        path, depth = todo.pop()
        if depth is None:
            yield path
            continue
        there = list(entries(path, files.tell))
        if (depth or place.location == "path") and any(entry.name == FILE for entry in there):
            yield os.path.join(path, FILE)
            continue
        below: list[tuple[str, int | None]] = []
        for entry in there:
            if entry.name.startswith(".") or entry.name in _SKIPPED:
                continue
            if (identity := _folder(entry)) is None:
                if place.loose and not depth and entry.name.endswith(".md"):
                    below.append((entry.path, None))
            elif identity not in seen and depth < DEEPEST:
                seen.add(identity)
                below.append((entry.path, depth + 1))
        if len(seen) > MOST_FOLDERS:
            files.tell(f"{place.path} has more than {MOST_FOLDERS} folders: not all of its skills were looked for")
            return
        todo += reversed(below)


def _folder(entry: "os.DirEntry[str]") -> tuple[int, int] | None:
    """Return what identifies a folder, by whatever link it was found; None if it is none. A link may lead in
    a circle.
    """
    try:
        if not entry.is_dir():
            return None
        status = entry.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
