"""Reads pi's own `trust.json`: which folders its user trusts. It is never written."""

import os
from typing import Any

from linnet.core.json.checked import checked
from linnet.errors import ConfigError
from linnet.files.pi_files import understood

FILE = "trust.json"


def said(home: str, root: str, remarks: list[str]) -> bool | None:
    """Return what was said of the nearest folder, this one or above; None if nothing was. A yes counts for the very
    folder alone: what lies in a trusted one may be somebody else's. What goes wrong is added to `remarks`.
    """
    path = os.path.join(home, FILE)
    try:
        answers = understood(path, lambda text: checked(text or b"{}", dict[str, Any], path)) or {}
    except ConfigError as error:
        remarks.append(f"{error}; nothing of this file is used")
        return None
    folder = root
    while folder not in answers and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    answer = answers.get(folder)
    return answer if isinstance(answer, bool) and (folder == root or not answer) else None
