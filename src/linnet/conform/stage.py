"""Where a program is run: a folder and a home of its own, and the flags and variables that lead it to our model."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from linnet.conform.check import Dialect, Scene

KEY = "conform-key"
FLAG_KEY = "conform-flag-key"
KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SYSTEMROOT", "LD_LIBRARY_PATH", "NODE_PATH")
"""What of our environment a program is given."""


class Stage(Struct, frozen=True):
    """One program, ready to be started."""

    argv: list[str]
    folder: Path
    home: Path
    env: dict[str, str]


def takes_flags(command: Sequence[str]) -> bool:
    """Return whether words may be put behind the command: not if it says itself where the model is."""
    return not any("{url}" in word for word in command)


def found(word: str, *, first: bool) -> str:
    """Return a word of the command as it can be said in another folder: what names a file here is made absolute."""
    names_a_file = "/" in word or ("." in word and not first)
    return os.path.abspath(word) if names_a_file and not os.path.isabs(word) and os.path.isfile(word) else word


def prepare(command: Sequence[str], dialect: Dialect, scene: Scene, url: str, root: Path) -> Stage:
    """Make the folders below `root`, and return how the program is started."""
    folder, home, agent = root / "work", root / "home", root / "agent"
    for each in (folder, home, agent, root / "tmp"):
        each.mkdir(parents=True)
    models = {"providers": {"anthropic": {"baseUrl": url}}}
    (agent / "models.json").write_text(json.dumps(models))
    argv = [found(word, first=not index).replace("{url}", url) for index, word in enumerate(command)]
    if takes_flags(command):
        if dialect == "zot":
            argv += ["--provider", "anthropic", "--base-url", url, "--api-key", FLAG_KEY]
        argv += [word.replace("{folder}", str(folder)).replace("{root}", str(root)) for word in scene.flags]
    return Stage(argv, folder, home, _variables(scene.env, url, home, agent, root))


def _variables(added: Mapping[str, str], url: str, home: Path, agent: Path, root: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "TMPDIR": str(root / "tmp"),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "PI_CODING_AGENT_DIR": str(agent),
        "PI_OFFLINE": "1",  # pi looks for updates otherwise.
        **added,
    }
