"""Parses `extension.json`, the manifest of an extension that is a program. Pure."""

import os.path

from msgspec import DecodeError, Struct, ValidationError

from linnet.decoding import decoder_of
from linnet.errors import ConfigError

FILE = "extension.json"


class ManifestFile(Struct):
    """The file as it is written."""

    name: str | None = None
    exec: str | None = None
    args: list[str] | None = None
    enabled: bool | None = None
    version: str | None = None
    language: str | None = None
    description: str | None = None


class Manifest(Struct, frozen=True):
    """What the file says, checked."""

    name: str
    folder: str
    """The extension's own, where the program is started."""
    argv: tuple[str, ...]
    """What to start."""
    enabled: bool = True
    version: str = ""
    language: str = ""
    description: str = ""


def parse(data: bytes, folder: str) -> Manifest:
    """Return the manifest of the extension in this folder, given by its absolute path.

    Raises ConfigError with a sentence that names the key.
    """
    try:
        said = decoder_of(ManifestFile).decode(data)
    except ValidationError as error:
        raise ConfigError(f"parse manifest: {FILE}: {error}") from None
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"parse manifest: {FILE} is not JSON: {error}") from None
    name = said.name or ""
    if not name.strip():
        raise ConfigError(f"manifest: name is required; {FILE} must say what the extension is called")
    if not said.exec:
        raise ConfigError(f"manifest: exec is required; {FILE} must say which program to start")
    if any("\0" in word for word in (name, said.exec, *(said.args or ()))):
        raise ConfigError(f"manifest: name, exec and args in {FILE} cannot have a NUL in them")
    if name != name.strip() or "/" in name or name in (".", ".."):
        raise ConfigError(f"manifest: name must be usable as a file name, without / and spaces around it, not {name!r}")
    return Manifest(
        name,
        folder,
        (_program(said.exec, folder), *(said.args or ())),
        said.enabled is not False,
        said.version or "",
        said.language or "",
        said.description or "",
    )


def _program(exec: str, folder: str) -> str:
    """Return what to start: a word without a slash as it is, for PATH; a relative path starts in the folder."""
    return os.path.normpath(os.path.join(folder, exec)) if "/" in exec else exec
