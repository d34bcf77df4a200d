"""Puts errors of the file system into sentences that the model can act on."""

import errno

from linnet.errors import ToolFailed

_SENTENCES = {
    errno.ENOENT: "{path} does not exist.",
    errno.EACCES: "{path}: permission denied.",
    errno.EPERM: "{path}: operation not permitted.",
    errno.EISDIR: "{path} is a directory.",
    errno.ENOTDIR: "{path}: a part of the path is not a directory.",
    errno.EEXIST: "{path}: a part of the path exists and is not a directory.",
    errno.ELOOP: "{path} is a loop of symbolic links.",
    errno.ENAMETOOLONG: "{path}: the name is too long.",
    errno.ENOSPC: "{path}: no space left on the disk; nothing was changed.",
    errno.EDQUOT: "{path}: the disk quota is used up; nothing was changed.",
    errno.EFBIG: "{path}: the file would be too large; nothing was changed.",
    errno.EROFS: "{path} is on a read-only file system.",
}


def explain(path: str, error: OSError) -> ToolFailed:
    """Return the failure of a tool to use this path."""
    sentence = _SENTENCES.get(error.errno or 0)
    return ToolFailed(sentence.format(path=path) if sentence else f"{path}: {error.strerror or error}.")
