"""Every command is a method, on both kinds of client, in the same words."""

import inspect
import subprocess
import sys
from typing import Any

import pytest

from linnet.client import (
    AsyncEvents,
    AsyncPiClient,
    AsyncPiLegacyClient,
    AsyncRun,
    AsyncZotClient,
    Events,
    PiClient,
    PiLegacyClient,
    Run,
    ZotClient,
)
from linnet.client.request import Command
from linnet.wire.dialect import Rejected
from linnet.wire.pi import decode as pi_decode
from linnet.wire.zot import decode as zot_decode

PAIRS = [(ZotClient, AsyncZotClient), (PiClient, AsyncPiClient), (PiLegacyClient, AsyncPiLegacyClient)]
OF_PI = {"clear_queue"}  # That linnet does not know.


def public(kind: type) -> dict[str, Any]:
    return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}


def arguments(method: Any) -> list[str]:
    return [str(each) for each in inspect.signature(method).parameters.values()]


def commands(kind: type) -> set[str]:
    return {name for name, each in public(kind).items() if isinstance(each, Command)} - {"ask"}


@pytest.mark.parametrize(("blocking", "awaited"), PAIRS)
def test_both_kinds_have_the_same_methods_with_the_same_arguments(blocking: type, awaited: type) -> None:
    assert public(blocking).keys() == public(awaited).keys()
    for name, method in public(blocking).items():
        if callable(method):
            assert arguments(method) == arguments(getattr(awaited, name)), name


@pytest.mark.parametrize("kind", [kind for pair in [*PAIRS, (Run, AsyncRun), (Events, AsyncEvents)] for kind in pair])
def test_help_says_what_every_method_does_and_what_it_returns(kind: type) -> None:
    for name, method in public(kind).items():
        if callable(method):
            assert inspect.getdoc(method), name
            shown = inspect.signature(method).return_annotation
            assert not str(shown).startswith(("linnet.client.request.Request", "collections.abc.Generator")), name


def test_every_command_of_zots_protocol_is_a_method() -> None:
    known = {name for name in commands(ZotClient) | {"prompt", "compact"} if understands(zot_decode.decode, name)}
    assert known == commands(ZotClient) | {"prompt", "compact"}
    assert len(known) == 16


def test_every_command_of_pis_protocol_is_a_method() -> None:
    known = {row.name for row in pi_decode.rows()}
    assert all(understands(pi_decode.decode, name) for name in known)
    assert known == (commands(PiClient) | {"prompt", "extension_ui_response"}) - OF_PI  # The latter is `answer_ui`.


@pytest.mark.parametrize(("blocking", "awaited"), PAIRS[:2])
def test_every_command_takes_a_deadline(blocking: type, awaited: type) -> None:
    for name in {*commands(blocking), "prompt", "wait_idle"}:
        assert "timeout" in inspect.signature(getattr(blocking, name)).parameters, name


def understands(decode: Any, name: str) -> bool:
    answer = decode(b'{"type":"%b"}' % name.encode())
    return not (isinstance(answer, Rejected) and answer.reason.lower().startswith("unknown command"))


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        ("import linnet.client", ["asyncio", "msgspec", "subprocess", "typing", "linnet.wire"]),
        ("from linnet.client import PiClient, ZotClient", ["asyncio", "socket", "logging", "linnet.runtime"]),
        ("from linnet.client import AsyncPiClient", ["linnet.runtime", "linnet.server", "linnet.sdk", "linnet.tools"]),
    ],
)
def test_importing_loads_only_what_is_used(program: str, absent: list[str]) -> None:
    code = f"{program}\nimport sys\nprint(*[name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
