"""Finds out which request a line answers that was too long to be read. Pure."""

import re

from linnet.extensions.lines import Oversized

# Both are sound: a line is one object, so what follows its first brace, or precedes its last one, is its own.
_FIRST = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d+)\s*,')
_LAST = re.compile(rb'[,{]\s*"id"\s*:\s*(\d+)\s*\}\s*$')


def answered(line: Oversized) -> int | None:
    """Return the id of the request that a line answers; None if its first and last bytes do not say."""
    found = _FIRST.match(line.head) or _LAST.search(line.tail)
    return int(found[1]) if found else None
