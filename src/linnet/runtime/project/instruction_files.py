"""Finds and reads the files that people write for the system prompt: AGENTS.md, SYSTEM.md, APPEND_SYSTEM.md."""

import os
from collections.abc import Iterator, Sequence

from linnet.core.project.instructions import Instructions
from linnet.core.slash import Location
from linnet.files.reading import Open
from linnet.runtime.project.project import folders, repository
from linnet.runtime.project.resource_folders import ResourceFolders
from linnet.runtime.project.text_files import TextFile, TextFiles, is_inside

MOST_OF_ONE = 64 * 1024  # Bytes of instructions.
MOST_OF_ALL = 256 * 1024
NAMES = ("AGENTS.md", "CLAUDE.md")
PI_NAMES = ("AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")


class InstructionFiles:
    """The files as they were at the last `look`."""

    def __init__(self, resource_folders: ResourceFolders, open: Open = os.open) -> None:
        self._resource_folders = resource_folders
        self._instructions = TextFiles(lambda file: Instructions(*_parts(file)), most=MOST_OF_ONE, cuts=True, open=open)
        self._others = TextFiles(lambda file: file.text.strip(), open=open)
        self.instructions: tuple[Instructions, ...] = ()
        self.system: str | None = None  # Stands in for linnet's own system prompt.
        self.addition: str | None = None  # Follows it.

    def look(self) -> None:
        """Look for the files again. One is read only if it has changed."""
        self.instructions = tuple(self._found()) if self._resource_folders.context_files else ()
        own = self._resource_folders.own_folders
        self.system = self._first("SYSTEM.md", own)
        self.addition = self._first("APPEND_SYSTEM.md", own)

    @property
    def section(self) -> str:
        """Return the section of the system prompt that has the instructions; empty if there are none."""
        if not self.instructions:
            return ""
        from linnet.core.project.instructions import shown

        return shown(self.instructions, MOST_OF_ALL)

    def _found(self) -> Iterator[Instructions]:
        """Yield the instructions: the user's own first, then from the root down. Of one folder, the first
        file there.
        """
        resource_folders = self._resource_folders
        root, cwd = repository(resource_folders.project.root), resource_folders.project.root
        holds_home = is_inside(os.path.realpath(os.path.expanduser("~")), root)  # Some keep all of it in a repository.
        names = PI_NAMES if resource_folders.peer == "pi" else NAMES
        own = (
            [resource_folders.home, resource_folders.peer_home]
            if resource_folders.peer is not None
            else [resource_folders.home]
        )
        above = [folder for folder in folders(cwd, "/" if resource_folders.peer == "pi" else root) if folder not in own]
        for folder in [*own, *above]:
            # What a stranger's project links to is not the project's: it might be a key.
            guarded = folder in above and is_inside(folder, root) and not resource_folders.project.trusted
            within = (folder if holds_home else root) if guarded else None
            for name in names:
                found = self._instructions.get(os.path.join(folder, name), within)
                if found is not None:
                    yield found
                    break

    def _first(self, name: str, own: Sequence[tuple[str, Location]]) -> str | None:
        """Return the text of that file in the first folder that has one which is not empty; None if none has."""
        for folder, _ in own:
            if text := self._others.get(os.path.join(folder, name)):
                return text
        return None


def _parts(file: TextFile) -> tuple[str, str, bool]:
    return file.path, file.text, file.cut
