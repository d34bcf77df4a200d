"""What `linnet attach` makes of its command line, and of the environment."""

from pathlib import Path

import pytest

from linnet.attach.command_line import KEY_VARIABLES, Refused, parse, socket_path
from linnet.attach.shown import HELP, table
from linnet.providers.provider_rows import PROVIDERS


def test_the_variables_that_go_along_are_those_of_the_table_of_providers() -> None:
    rows = PROVIDERS.values()
    wanted = {name for row in rows for name in (*row.key_variables, *row.secret_variables, *row.header_variables)}
    assert list(KEY_VARIABLES) == sorted(wanted)


def test_an_agent_is_attached_to_as_the_flags_say() -> None:
    assert parse(["abc"]).first == {"type": "attach", "agent": "abc"}
    asked = parse(["--socket=/a b", "abc", "--dialect", "pi-1", "--from=0", "--watch", "--cursor"])
    assert asked.socket == "/a b"
    assert asked.first == {
        "type": "attach",
        "agent": "abc",
        "dialect": "pi-1",
        "from": 0,
        "role": "watch",
        "cursor": True,
    }
    assert parse([]).first == {"type": "attach"}


def test_what_comes_after_the_dashes_is_what_is_opened() -> None:
    words = ["--open", "--keep", "--program", "linnet-pi", "--", "--mode", "rpc", "--", "--help"]
    flags = ["--mode", "rpc", "--", "--help"]
    assert parse(words).first == {"type": "open", "flags": flags, "keep": True, "program": "linnet-pi"}
    assert not parse(words).help
    assert parse(["--open"]).first == {"type": "open", "flags": [], "keep": False}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["a", "b"], "one agent at a time: 'b'"),
        (["--opne"], "unknown flag --opne; see linnet attach --help"),
        (["--watch=yes", "a"], "--watch takes no value"),
        (["--socket"], "--socket needs a value: PATH"),
        (["--from", "x", "a"], "--from must be a whole number, the last one that was seen, not 'x'"),
        (["--from", "-1", "a"], "--from must be a whole number, the last one that was seen, not '-1'"),
        (["--keep", "a"], "--keep is only for --open; see linnet attach --help"),
        (["--open", "--watch"], "--watch is not for --open; see linnet attach --help"),
        (["a", "--", "rpc"], "what comes after -- is for --open; see linnet attach --help"),
        (
            ["--open", "rpc"],
            "an agent is opened or attached to, not both; what to open comes after --: 'rpc'",
        ),
        (["--open", "--program", "pi"], "--program must be one of linnet, linnet-pi, linnet-zot, not 'pi'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(words: list[str], sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        parse(words)
    assert (str(refused.value), refused.value.code) == (sentence, 2)


def test_the_socket_is_where_its_users_expect_it() -> None:
    environ = {"LINNET_SOCKET": "/s", "XDG_RUNTIME_DIR": "/run/user/1", "LINNET_HOME": "/l", "HOME": "/h/"}
    assert socket_path("named", environ) == "named"
    assert socket_path("", environ) == "/s"
    del environ["LINNET_SOCKET"]
    assert socket_path("", environ) == "/run/user/1/linnet/serve.sock"
    del environ["XDG_RUNTIME_DIR"]
    assert socket_path("", environ) == "/l/serve.sock"
    assert socket_path("", {**environ, "LINNET_HOME": "~/x"}) == "/h/x/serve.sock"
    assert socket_path("", {**environ, "LINNET_HOME": ""}) == "/h/.linnet/serve.sock"
    assert socket_path("", {}) == f"{Path.home()}/.linnet/serve.sock"
    with pytest.raises(Refused, match="give a whole path"):
        socket_path("", {"LINNET_HOME": "here"})


def test_the_help_has_every_flag() -> None:
    from linnet.attach.command_line import _SWITCHES, _VALUES

    assert [name for name in (*_SWITCHES, *_VALUES) if name not in HELP] == []


def test_agents_are_listed_one_a_line() -> None:
    shown = table([{"id": "0123456789abcdef", "state": "idle", "model": "m", "name": "", "cwd": "/a\nb"}, {"id": "2"}])
    assert shown.splitlines() == [
        "linnet: say which agent: linnet attach AGENT",
        "AGENT             STATE  MODEL  NAME  FOLDER",
        "0123456789abcdef  idle   m      -     /a b",
        "2                 -      -      -     -",
    ]
    assert "has no agent" in table([])
