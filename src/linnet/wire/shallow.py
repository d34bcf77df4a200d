"""Reads an object that is nested too deeply to be decoded: its members one by one. Pure.

A session's tree has one level for each of its entries, so an honest answer can be as deep as a conversation is long.
"""

import re
from typing import Any

from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire.jsonl import decode_line

_string_ = rb'"(?:[^"\\]++|\\.)*+"'
_name = re.compile(rb"\s*+(" + _string_ + rb")\s*+:\s*+", re.DOTALL)
_flat = re.compile(rb'(?:[^][{}",]++|' + _string_ + rb")*+", re.DOTALL)  # Up to a bracket or a comma.
_inner = re.compile(rb'(?:[^][{}"]++|' + _string_ + rb")*+", re.DOTALL)  # Up to a bracket.
_string = decoder_of(str)
_anything = decoder_of(Any)


def members(line: bytes) -> dict[str, bytes]:
    """Return the members of an object as the bytes that they came as, in time linear in its length; none if it is no
    object. What they hold is not looked at.
    """
    found: dict[str, bytes] = {}
    line = line.strip()
    at, sign = 1, line[:1]
    while sign in (b"{", b",") and (name := _name.match(line, at)):
        begins, at = name.end(), _end(line, name.end())
        try:
            found[decode_line(_string, name[1])] = line[begins:at].rstrip()
        except BadInput:
            return {}
        sign, at = line[at : at + 1], at + 1
    return found if sign == b"}" and at == len(line) else {}


def _end(line: bytes, at: int) -> int:
    """Return where the value that begins there ends: at a comma or a bracket that is not its own."""
    depth = 0
    while True:
        run = (_inner if depth else _flat).match(line, at)
        at = run.end() if run else at
        sign = line[at : at + 1]
        if sign in (b"{", b"["):
            depth += 1
        elif not depth or not sign:
            return at
        else:
            depth -= 1
        at += 1


def fields(line: bytes) -> dict[str, Any]:
    """Return the members of an object that can be decoded; the others are left out."""
    return known(members(line))


def known(members: dict[str, bytes]) -> dict[str, Any]:
    """Return those members that can be decoded."""
    decoded: dict[str, Any] = {}
    for name, value in members.items():
        try:
            decoded[name] = decode_line(_anything, value)
        except BadInput:
            continue
    return decoded
