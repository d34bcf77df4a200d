"""Ids of calls in the form that a vendor accepts. One vendor's calls are sent on to another's models."""

import re


def fitted(id: str, longest: int, forbidden: re.Pattern[str] | None = None) -> str:
    """Return the id without characters that match `forbidden`, and of at most `longest` characters. Ids that differ
    stay different, but for the rarest of chances.
    """
    clean = forbidden.sub("_", id) if forbidden is not None else id
    if len(clean) <= longest:
        return clean or "_"
    from zlib import crc32  # Only ids of some vendors are so long.

    return f"{clean[: longest - 9]}_{crc32(id.encode('utf-8', 'replace')):08x}"


def unused(id: str, taken: set[str]) -> str:
    """Return the id of a call, and add it to those that are taken. It is another one if a call of the same reply has
    it already: there are servers that give all calls the same.
    """
    made, number = id, len(taken)
    while made in taken:
        made, number = f"{id}_{number}", number + 1
    taken.add(made)
    return made


def nine(id: str) -> str:
    """Return the id as Mistral wants it: nine letters and digits. Ids that differ stay different, but for the rarest of
    chances.
    """
    if len(id) == 9 and id.isascii() and id.isalnum():
        return id
    from hashlib import blake2b  # Only ids of other vendors are not like that.

    return blake2b(id.encode("utf-8", "replace"), digest_size=5).hexdigest()[:9]
