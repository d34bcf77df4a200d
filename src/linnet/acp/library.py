"""The sessions that are kept on disk: a page of a list of them, and one of them by its id."""

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

from linnet.errors import SessionError
from linnet.store.file import first_header
from linnet.store.session_folder import files, summary
from linnet.wire.acp.encode import title_of
from linnet.wire.acp.jsonrpc import INVALID_PARAMS, RpcError

PAGE = 50


def page(folders: Sequence[str], cwd: str | None, cursor: str | None) -> dict[str, Any]:
    """Return sessions, the newest first, and where the next page begins; with `cwd` those of that folder, however it is
    spelled. Raises RpcError for a bad cursor.
    """
    below = None if cursor is None else _understood(cursor)
    wanted = None if cwd is None else os.path.realpath(cwd)
    found: list[dict[str, Any]] = []
    last: tuple[int, str] | None = None
    for key in sorted(_keys(folders), reverse=True):
        if below is not None and key >= below:
            continue
        if len(found) == PAGE:
            assert last is not None
            return {"sessions": found, "nextCursor": _spelled(last)}
        try:
            each = summary(key[1])
        except (SessionError, OSError):
            continue
        if each.messages and os.path.isabs(each.cwd) and (wanted is None or os.path.realpath(each.cwd) == wanted):
            title = each.name or title_of(each.first_message)
            entry = {"sessionId": each.id, "cwd": each.cwd, "updatedAt": each.modified}
            found.append({**entry, "title": title} if title else entry)
            last = key
    return {"sessions": found}


def find(folders: Sequence[str], id: str) -> str | None:
    """Return the path of the session that has this id, all of it; None if there is none."""
    for folder in folders:
        for path in files(folder):
            if id in os.path.basename(path):
                head = first_header(path)
                if head is not None and head.id == id:
                    return path
    return None


def _keys(folders: Sequence[str]) -> set[tuple[int, str]]:
    keys: set[tuple[int, str]] = set()
    for folder in folders:
        for path in files(folder):
            try:
                keys.add((os.stat(path).st_mtime_ns, path))
            except OSError:
                continue
    return keys


def _spelled(key: tuple[int, str]) -> str:
    return urlsafe_b64encode(os.fsencode(f"{key[0]}:{key[1]}")).decode()


def _understood(cursor: str) -> tuple[int, str]:
    try:
        time, _, path = os.fsdecode(urlsafe_b64decode(cursor.encode())).partition(":")
        key = int(time), path
    except ValueError:
        key = 0, ""
    if _spelled(key) != cursor:
        raise RpcError(INVALID_PARAMS, "the cursor is none that was given")
    return key
