"""Finds and reads the prompt templates of the user and the project."""

import os
from collections.abc import Iterator

from linnet.core.project import template
from linnet.core.project.template import Template
from linnet.core.slash import SlashCommand
from linnet.files.reading import Open
from linnet.runtime.project.resource_folders import ResourceFolder, ResourceFolders
from linnet.runtime.project.text_files import TextFile, TextFiles, entries

MOST = 1000  # Templates of one folder.
_END = ".md"


class Templates:
    """Templates are looked for at each call; a file is read again only when it has changed."""

    def __init__(self, resource_folders: ResourceFolders, open: Open = os.open) -> None:
        self._resource_folders = resource_folders
        self._files = TextFiles(_template, open=open)

    def expanded(self, name: str, arguments: str) -> str | None:
        """Return the text that the template makes of these arguments; None if there is no such template."""
        for place in self._resource_folders.template_places:
            path = _of_name(place, name)
            found = self._files.get(path) if path else None
            if found is not None:
                return template.filled(found.body, template.arguments(arguments))
        return None

    def commands(self) -> list[SlashCommand]:
        """Return what a user may type for each template: the project's first, then the user's, then those of flags."""
        found: dict[str, SlashCommand] = {}
        for place in self._resource_folders.template_places:
            for path in self._paths(place):
                each = self._files.get(path)
                if each is not None:
                    found.setdefault(each.name, _command(each, place, path))
        order = ("project", "user", "path")
        return sorted(found.values(), key=lambda command: order.index(command.location))

    def _paths(self, place: ResourceFolder) -> Iterator[str]:
        if place.location == "path" and os.path.isfile(place.path):
            yield place.path
            return
        names = [entry.name for entry in entries(place.path, self._files.tell) if _is_template(entry.name)]
        if len(names) > MOST:
            self._files.tell(f"{place.path} has {len(names)} templates, of which the first {MOST} are listed")
        yield from (os.path.join(place.path, name) for name in names[:MOST])


def _command(found: Template, place: ResourceFolder, path: str) -> SlashCommand:
    return SlashCommand(found.name, found.description, "prompt", place.location, path, place.base, found.hint)


def _of_name(place: ResourceFolder, name: str) -> str:
    """Return the file of the template with this name; empty if there is none in this folder."""
    if not name or "/" in name or "\0" in name:
        return ""
    if place.location == "path" and os.path.isfile(place.path):
        return place.path if _name(place.path) == name else ""
    file = name + _END
    try:
        return os.path.join(place.path, file) if file in os.listdir(place.path) else ""  # Capitals count everywhere.
    except (OSError, ValueError):
        return ""


def _is_template(name: str) -> bool:
    return name.endswith(_END) and not name.startswith(".")


def _name(path: str) -> str:
    return os.path.basename(path).removesuffix(_END)


def _template(file: TextFile) -> Template:
    return template.parse(_name(file.path), file.text)
