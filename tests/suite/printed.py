"""Keeps the lines that agents print, one of each shape, so that they can be held against the schemas.

It is put into the process that agents are forked from, and into the one that runs the tests: whatever a dialect encodes
goes through here, to stdout, to a socket or over HTTP. A line is looked at for some microseconds, and written down if
none was like it.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

VARIABLE = "LINNET_TEST_LINES"
# What a line's shape does not depend on: strings, but for those that say what an object is, and numbers.
_KEPT = ("type", "role", "command", "stopReason", "stop", "method", "kind", "code", "reason")
_BEFORE = "".join(f'(?<!"{name})' for name in _KEPT)
_VALUE = re.compile(rf'{_BEFORE}":"(?:[^"\\]|\\.)*"'.encode())
_ITEM = re.compile(rb'(?<=[\[,])"(?:[^"\\]|\\.)*"(?=[\],])')
_NUMBER = re.compile(rb"(?<=[:\[,])-?\d[\d.eE+-]*")
LONG = 16 * 1024  # Of lines that are longer only those are looked at whose beginnings differ.

BEGIN = 48  # Bytes of each part of a line by which kinds are told apart here.
MANY = 100


class Lines:
    """The file that lines are kept in."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._shapes: set[bytes] = set()
        self._counts: dict[bytes, int] = {}

    def may_be_new(self, buffers: Sequence[bytes | bytearray]) -> bool:
        """Return whether these lines are to be looked at. Of a flood few are: no client must fall behind."""
        begins = b"".join([bytes(each[:BEGIN]) for each in buffers]) if len(buffers) > 1 else bytes(buffers[0][:BEGIN])
        count = self._counts[begins] = self._counts.get(begins, 0) + 1
        return count <= MANY or count % MANY == 0

    def heard(self, dialect: str, data: bytes) -> None:
        """Keep those of these lines that are like none before."""
        for line in data.splitlines():
            shape = _NUMBER.sub(b"0", line[:256]) if len(line) > LONG else line
            shape = _NUMBER.sub(b"0", _ITEM.sub(b'""', _VALUE.sub(b'":""', shape)))
            key = dialect.encode() + b"\t" + shape
            if key not in self._shapes:
                self._shapes.add(key)
                with suppress(OSError):  # Some agents may write no file that is longer than theirs are.
                    os.write(self._file, dialect.encode() + b"\t" + line + b"\n")


def install(path: str) -> None:
    """Have every line kept that a dialect of this process encodes from now on."""
    from linnet.wire.pi import dialect as pi
    from linnet.wire.pi import encode as pi_encode
    from linnet.wire.pi_legacy import dialect as legacy
    from linnet.wire.pi_legacy.encode import LegacyEncoder
    from linnet.wire.zot import dialect as zot

    lines = Lines(path)

    def name(speaker: Any) -> str:
        if isinstance(speaker, legacy.PiLegacy | LegacyEncoder):
            return "pi-legacy"
        return str(speaker._generation.name) if hasattr(speaker, "_generation") else "zot"

    def encoding(encode: Callable[..., Any]) -> Callable[..., Any]:
        def kept(self: Any, events: Any) -> Iterator[Any]:
            for buffers in encode(self, events):
                if lines.may_be_new(buffers):
                    lines.heard(name(self), b"".join(map(bytes, buffers)))
                yield buffers

        return kept

    def answering(answer: Callable[..., bytes]) -> Callable[..., bytes]:
        def kept(self: Any, *args: Any, **options: Any) -> bytes:
            line = answer(self, *args, **options)
            lines.heard(name(self), line)
            return line

        return kept

    for encoder in (pi_encode.PiEncoder, zot.ZotEncoder):
        encoder.encode = encoding(encoder.encode)  # type: ignore[method-assign]
    for speaker in (pi.Pi, legacy.PiLegacy, zot.Zot):
        for each in ("answer", "refuse", "session"):
            if each in vars(speaker):
                setattr(speaker, each, answering(vars(speaker)[each]))
