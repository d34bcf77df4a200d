"""The folder that is worked in, and the one where linnet keeps what is the user's own."""

import os
from collections.abc import Mapping

from linnet.core.setting_names import Spelling
from linnet.errors import ConfigError
from linnet.runtime.config.config import Path, flag
from linnet.runtime.project.project import FOLDER


def home_folder(environ: Mapping[str, str]) -> str:
    """Return the folder in which linnet keeps what is the user's own. It is not created. Raises ConfigError if it would
    be a different one in each project.
    """
    given = os.path.expanduser(environ.get("LINNET_HOME") or os.path.join("~", FOLDER))
    if not os.path.isabs(given) and FOLDER in os.path.normpath(given).split(os.sep):
        raise ConfigError(f"LINNET_HOME is {given}, which is the folder of whatever project this is; give a whole path")
    return os.path.abspath(given)


def work_folder(cwd: Path | None, spelled: Spelling = flag) -> str:
    """Return the folder to work in, with links resolved, so that it has one name. Raises ConfigError if it is none."""
    try:
        path = os.path.realpath(cwd or os.getcwd())
    except FileNotFoundError:
        raise ConfigError(f"the current folder no longer exists; pass {spelled('cwd')}") from None
    except ValueError:
        raise ConfigError(f"{spelled('cwd')} {cwd!r} cannot be the name of a folder") from None
    if not os.path.isdir(path):
        raise ConfigError(f"{spelled('cwd')} {path} is not a folder")
    return path
