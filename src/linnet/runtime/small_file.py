"""A file that somebody else may have prepared, read whole: never waited for, never without an end."""

import os
import stat

from linnet.errors import ConfigError

MOST = 1 << 20  # Bytes: a file of settings that is larger is none.


def contents(path: str, most: int = MOST) -> bytes | None:
    """Return None if there is no such file. Raises ConfigError if it is no plain file, too large or unreadable."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{path} cannot be read: it is not a plain file")
        parts: list[bytes] = []
        left = most + 1
        while left > 0 and (part := os.read(fd, left)):
            parts.append(part)
            left -= len(part)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    finally:
        os.close(fd)
    if left <= 0:
        raise ConfigError(f"{path} cannot be used: it is larger than {most >> 10} KiB")
    return b"".join(parts)
