"""The folders in which instructions, templates and skills are looked for: the user's, the project's, other agents'."""

import os
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from linnet.core.setting_names import Spelling
from linnet.core.slash import Location
from linnet.errors import ConfigError
from linnet.runtime.config.config import Config, Path, flag
from linnet.runtime.project.project import Peer, Project, folders, repository


class ResourceFolder(Struct, frozen=True):
    """A folder, or one file, with templates or skills."""

    path: str
    location: Location
    base: str
    """The folder of the user, the project or the flag that it is in."""
    loose: bool = False
    """A Markdown file by itself is a skill there."""


class ResourceFolders(Struct, frozen=True, kw_only=True):
    """Says where to look. What is named by a path is used, even if nothing else is looked for."""

    project: Project
    home: str
    """Where linnet keeps what is the user's own."""
    peer: Peer | None
    """The agent that linnet stands in for."""
    peer_home: str
    """Where that agent keeps what is the user's own; empty if there is none."""
    context_files: bool
    templates: bool
    template_paths: tuple[str, ...]
    skills: bool
    skill_paths: tuple[str, ...]

    @property
    def pi_folders(self) -> list[tuple[str, Location]]:
        """Return the folders in which pi keeps what is the project's, if that is trusted, and the user's own; none if
        linnet does not stand in for pi.
        """
        theirs = os.path.join(self.project.root, ".pi")
        if self.peer != "pi":
            return []
        user: tuple[str, Location] = (self.peer_home, "user")
        return [(theirs, "project"), user] if self.project.admits(theirs) else [user]

    @property
    def has_pi_extensions(self) -> bool:
        """Return whether pi would look for extensions in a folder of its own."""
        pis = [folder for folder, _ in self.pi_folders if os.path.isdir(folder)]
        if not pis:
            return False
        from linnet.extensions.node.pi_folders import may_have

        return any(map(may_have, pis))

    def with_more(self, skills: tuple[str, ...], templates: tuple[str, ...]) -> "ResourceFolders":
        """Return the same with more skills and templates that are named by a path."""
        if not skills and not templates:
            return self
        skill_paths, template_paths = (*self.skill_paths, *skills), (*self.template_paths, *templates)
        return replace(self, skill_paths=skill_paths, template_paths=template_paths)

    @property
    def own_folders(self) -> list[tuple[str, Location]]:
        """Return linnet's folders and those of the agent that it stands in for: the project's, if it is trusted, then
        the user's.
        """
        found: list[tuple[str, Location]] = []
        resources = self.project.resources  # Asked once: trust may come and go meanwhile.
        if resources is not None:
            found.append((resources, "project"))
        if self.peer is not None and self.project.admits(theirs := os.path.join(self.project.root, f".{self.peer}")):
            found.append((theirs, "project"))
        found.append((self.home, "user"))
        if self.peer is not None:
            found.append((self.peer_home, "user"))
        return found

    @property
    def template_places(self) -> list[ResourceFolder]:
        """Return where templates are looked for. Of two with one name, the first is used."""
        named = [_named(path) for path in self.template_paths]
        if not self.templates:
            return named
        return [
            *named,
            *(ResourceFolder(os.path.join(base, "prompts"), where, base) for base, where in self.own_folders),
        ]

    @property
    def skill_places(self) -> list[ResourceFolder]:
        """Return where skills are looked for, as for templates. A folder that agents share comes after their own."""
        named = [_named(path) for path in self.skill_paths]
        if not self.skills:
            return named
        loose = (self.peer_home, os.path.join(self.project.root, ".pi")) if self.peer == "pi" else ()
        own = [
            ResourceFolder(os.path.join(base, "skills"), where, base, base in loose) for base, where in self.own_folders
        ]
        shared = [ResourceFolder(os.path.join(base, "skills"), where, base) for base, where in self._shared_folders]
        found = [*own, *shared]
        theirs = [place for place in found if place.location == "project"]
        users = [place for place in found if place.location == "user"]
        return [*named, *theirs, *users]

    @property
    def _shared_folders(self) -> list[tuple[str, Location]]:
        root, names = self.project.root, (".claude", ".agents") if self.peer == "zot" else (".agents",)
        shared: list[tuple[str, Location]] = []
        if self.project.trusted:
            above = [root] if self.peer == "zot" else reversed(folders(root, repository(root)))
            found = [os.path.join(folder, name) for folder in above for name in names]
            shared += [(path, "project") for path in found if self.project.admits(path)]
        if self.peer is not None:
            shared += [(os.path.join(os.path.expanduser("~"), name), "user") for name in names]
        return shared


def missing_resources(asked: Config, spelled: Spelling = flag) -> Iterator[str]:
    """Yield a sentence for each template and each skill that `asked` names and that is not there."""
    for field, named in (("template_paths", asked.template_paths), ("skill_paths", asked.skill_paths)):
        for path in named or ():
            if not os.path.exists(os.path.expanduser(path)):
                yield f"{spelled(field)} {os.fspath(path)} is not there"


def resource_folders(
    config: Config, asked: Config, environ: Mapping[str, str], home: str, project: Project, spelled: Spelling = flag
) -> ResourceFolders:
    """Return where to look, as the configuration says. Raises ConfigError if `asked` names a file that is not there,
    but not in place of pi, which goes on without it.
    """
    if config.stands_in_for != "pi":
        for sentence in missing_resources(asked, spelled):
            raise ConfigError(sentence)
    return ResourceFolders(
        project=project,
        home=home,
        peer=config.stands_in_for,
        peer_home=peer_home(config.stands_in_for, environ),
        context_files=config.context_files is not False,
        templates=config.templates is not False,
        template_paths=tuple(map(_in_full, config.template_paths or ())),
        skills=config.skills is not False,
        skill_paths=tuple(map(_in_full, config.skill_paths or ())),
    )


def peer_home(peer: Peer | None, environ: Mapping[str, str]) -> str:
    """Return where another agent keeps what is the user's own; never a folder of the project that this is
    started in.
    """
    state = _given("XDG_STATE_HOME", environ) or "~/.local/state"
    if peer == "pi":
        return _in_full(_given("PI_CODING_AGENT_DIR", environ) or "~/.pi/agent")
    return _in_full(_given("ZOT_HOME", environ) or os.path.join(state, "zot")) if peer == "zot" else ""


def _given(variable: str, environ: Mapping[str, str]) -> str:
    """Return the path that a variable has; empty if it is no absolute one."""
    path = os.path.expanduser(environ.get(variable, ""))
    return path if os.path.isabs(path) else ""


def _in_full(path: Path) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _named(path: str) -> ResourceFolder:
    return ResourceFolder(path, "path", path if os.path.isdir(path) else os.path.dirname(path), loose=True)
