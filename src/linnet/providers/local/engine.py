"""llama.cpp in this process: loads a model once for everybody who asks it, and has it write replies.

The library starts a server of its own inside the process, which listens even if nobody is to connect. Here it listens
on a socket in a folder that is removed at once, and wants a key that nobody has: only this process can ask it.
"""

import os
import secrets
from collections.abc import Callable
from importlib import import_module
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

from linnet.errors import ProviderRejected

BATCH = 64
"""Tokens of a prompt that are read at once. An abort is noticed between two batches."""
_SLOTS = 4  # So many replies are written at once; others wait. They share one memory for what they have read.


class Engine:
    """A model that is loaded."""

    def __init__(self, path: str, window: int) -> None:
        """Load it, which nothing can interrupt. Raises ProviderRejected."""
        try:
            library: Any = import_module("xllamacpp")
        except ImportError as error:
            raise ProviderRejected("local", f"llama.cpp cannot be loaded: {error}") from None
        params = library.CommonParams()
        params.model.path = path
        params.n_ctx = window
        params.n_parallel, params.kv_unified = _SLOTS, True
        params.n_batch = params.n_ubatch = BATCH
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = _threads()
        params.cache_ram_mib = 0  # What was read stays in the slots, and nowhere else.
        params.warmup = False
        params.verbosity = -1
        params.ui = params.endpoint_slots = params.endpoint_props = False
        params.endpoint_metrics = True
        params.api_keys = [secrets.token_hex()]
        with TemporaryDirectory(prefix="linnet-") as folder:
            params.hostnames = [os.path.join(folder, "unused.sock")]
            try:
                self._server: Any = library.Server(params)
            except RuntimeError:
                raise ProviderRejected(
                    "local",
                    f"llama.cpp cannot load {path}: it is damaged or cut short, it does not fit into the memory, "
                    "or this version does not know its kind",
                ) from None

    def write(self, body: bytes, heard: Callable[[bytes], bool]) -> None:
        """Have a reply written, and return when it is. `heard` is told each piece, as JSON; the model stops if it
        returns True.
        """
        self._server.handle_chat_completions(body, heard)

    @property
    def decoded(self) -> int:
        """Return how often the model was asked for a token, or to read a part of a prompt, since it was loaded."""
        lines: str = self._server.handle_metrics()
        return next(int(line.split()[1]) for line in lines.splitlines() if line.startswith("llamacpp:n_decode_total "))


_lock = Lock()
_loaded: dict[tuple[str, int], tuple[Engine, int]] = {}


def borrowed(path: str, window: int) -> Engine:
    """Return the engine for this file; load it unless somebody has it already. Raises ProviderRejected."""
    with _lock:
        engine, users = _loaded.get((path, window)) or (Engine(path, window), 0)
        _loaded[path, window] = engine, users + 1
        return engine


def give_back(path: str, window: int) -> None:
    """Let go of an engine. The last one who does frees its memory, as soon as it has written what it writes."""
    with _lock:
        engine, users = _loaded.pop((path, window))
        if users > 1:
            _loaded[path, window] = engine, users - 1


def _threads() -> int:
    """Return half the number of processors. Threads of llama.cpp wait for each other without rest: if only one of them
    has to share its processor with a command, all of them are several times slower.
    """
    return max(len(os.sched_getaffinity(0)) // 2, 1)
