"""Collects the layers of configuration: defaults, habits of a protocol, files, variables, and what was asked for.

A file that is not there costs one look; nothing is imported for its sake.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, TypeAlias

from msgspec import Struct

from linnet.errors import ConfigError
from linnet.runtime.config.config import DEFAULTS, Config
from linnet.runtime.project.project import Project
from linnet.runtime.project.resource_folders import peer_home

FILE = "settings.json"
SESSION_DIR = "PI_CODING_AGENT_SESSION_DIR"
Source: TypeAlias = Literal["default", "protocol", "pi", "user", "project", "environment", "flag"]


class Layer(Struct, frozen=True):
    """One layer, and where it comes from."""

    source: Source
    config: Config
    file: str = ""  # If it comes from one.
    text: bytes = b""  # What the file says.

    def where(self, key: str) -> str:
        """Return the variable, or the file with line and key, that said this; empty for other layers."""
        if self.source == "environment":
            return f"LINNET_{key.upper()}"
        if not self.file:
            return ""
        from linnet.core.json.position import line_of

        return f"{self.file}:{line_of(self.text, [key])}: {key}"


class Layers(Struct, frozen=True):
    """All layers, with what is to be said about them."""

    all: Sequence[Layer]
    """The weakest first."""
    remarks: list[str]
    """Sentences for whoever wrote the files."""

    def saying(self, key: str) -> Layer | None:
        """Return the strongest layer that says something about this key; None if none does."""
        return next((layer for layer in reversed(self.all) if getattr(layer.config, key) is not None), None)

    @contextmanager
    def blaming(self, key: str, only: type[ConfigError] = ConfigError) -> Iterator[None]:
        """Raise an error of this kind in the body again, with the place that said the key in front of it."""
        try:
            yield
        except only as error:
            layer = self.saying(key)
            where = layer.where(key) if layer is not None else ""
            if not where:
                raise
            raise ConfigError(f"{where}: {error}") from None


def found(asked: Config, environ: Mapping[str, str], below: Sequence[Config], home: str, project: Project) -> Layers:
    """Return all layers; `below` are those that `asked` wins over. Decides on the way whether the project is trusted,
    unless that is decided: only then does its file count. Raises ConfigError.
    """
    remarks: list[str] = []
    layers = [Layer("default", DEFAULTS), *(Layer("protocol", each) for each in below)]
    for_pi = any(config.stands_in_for == "pi" for config in (*below, asked))
    if for_pi:
        layers += _pis(peer_home("pi", environ), project, remarks, of_project=False)
    layers += _users(home, remarks)
    if not project.decided:
        setting = next((each.config.trust for each in reversed(layers) if each.config.trust is not None), None)
        if for_pi and asked.trust is None and os.path.lexists(os.path.join(peer_home("pi", environ), "trust.json")):
            from linnet.runtime.project.pi_trust import said

            answer = said(peer_home("pi", environ), project.root, remarks)
            setting = setting if answer is None else answer
        project.decide(asked.trust, setting, remarks)
    if project.trusted:
        if for_pi and (folder := project.folder(".pi")):
            layers += _pis(folder, project, remarks, of_project=True)
        layers += _projects(project, remarks)
    if for_pi and (chosen := environ.get(SESSION_DIR)):
        layers.append(Layer("environment", Config(session_dir=chosen)))
    if any(name.startswith("LINNET_") and name != "LINNET_HOME" for name in environ):
        from linnet.runtime.config.settings_text import from_variables

        config, notes = from_variables(environ)
        remarks += notes
        layers.append(Layer("environment", config))
    return Layers([*layers, Layer("flag", asked)], remarks)


def without_pis(layers: Layers, error: ConfigError) -> Iterator[Layers]:
    """Yield these layers with less of what pi's files say: without its model, then without all. pi's files were written
    for another program: what cannot be used of them never stops a start. `error` says why they could not be used.
    """
    if all(layer.source != "pi" for layer in layers.all):
        return
    from linnet.runtime.config.pi_settings import without_model

    if any(layer.source == "pi" and (layer.config.provider or layer.config.model) for layer in layers.all):
        fewer = [
            Layer(each.source, without_model(each.config), each.file, each.text) if each.source == "pi" else each
            for each in layers.all
        ]
        yield Layers(fewer, [*layers.remarks, f"the model of pi's settings is not used: {error}"])
    others = [layer for layer in layers.all if layer.source != "pi"]
    yield Layers(others, [*layers.remarks, f"pi's settings are not used: {error}"])


def _users(home: str, remarks: list[str]) -> list[Layer]:
    path = os.path.join(home, FILE)
    if not os.path.lexists(path):
        return []
    from linnet.files.reading import contents

    return [_layer("user", path, contents(path) or b"", home, remarks)]


def _projects(project: Project, remarks: list[str]) -> list[Layer]:
    folder = project.resources
    path = os.path.join(folder or "", FILE)
    if folder is None or not os.path.lexists(path):
        return []
    return [_layer("project", path, project.read(path) or b"", project.root, remarks)]


def _layer(source: Source, path: str, text: bytes, folder: str, remarks: list[str]) -> Layer:
    from linnet.runtime.config.settings_text import said

    config, notes = said(text, path, folder, of_project=source == "project")
    remarks += notes
    return Layer(source, config, path, text)


def _pis(folder: str, project: Project, remarks: list[str], *, of_project: bool) -> list[Layer]:
    path = os.path.join(folder, FILE)
    if not os.path.lexists(path):
        return []
    from linnet.files.pi_files import understood
    from linnet.runtime.config.pi_settings import said

    def read(text: bytes) -> Layer:
        return Layer("pi", said(text, path, folder, project.root, of_project=of_project), path, text)

    try:
        if of_project:
            return [read(project.read(path) or b"")]
        layer = understood(path, read)
    except ConfigError as error:
        remarks.append(f"{error}; nothing of this file is used")
        return []
    return [] if layer is None else [layer]
