"""Parses a script of requests: lines to send, and waits between them. Pure."""

import re
from typing import TypeAlias

from msgspec import Struct

from linnet.errors import ConfigError

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s)")


class Send(Struct, frozen=True):
    """Send a line."""

    line: bytes


class WaitDone(Struct, frozen=True):
    """Wait until everything that was asked is answered and over."""


class WaitFor(Struct, frozen=True):
    """Wait so long."""

    seconds: float


Step: TypeAlias = Send | WaitDone | WaitFor


def parse(text: str, name: str) -> list[Step]:
    """Return the steps of a script, without blank lines and those that begin with #. Raises ConfigError."""
    steps: list[Step] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] != "wait":
            steps.append(Send(line.removesuffix("\r").encode("utf-8", "surrogateescape")))
        elif words[1:] == ["done"]:
            steps.append(WaitDone())
        elif len(words) == 2 and (span := _SPAN.fullmatch(words[1])):
            steps.append(WaitFor(float(span[1]) / (1000 if span[2] == "ms" else 1)))
        else:
            raise ConfigError(f"{name}, line {number}: wait for what? say wait done, wait 2s or wait 500ms")
    return steps
