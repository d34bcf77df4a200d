"""Ids for what is new."""

import os
import uuid  # msgspec has loaded it already.


def entry_id() -> str:
    return os.urandom(4).hex()


def session_id() -> str:
    return str(uuid.uuid4())
