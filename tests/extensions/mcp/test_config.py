"""The `mcpServers` object as people write it, and the sentences for what is wrong with one."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.errors import ConfigError
from linnet.extensions.mcp import files
from linnet.extensions.mcp.config import Http, ServerConfig, StdioServer, merged, parse

NOT_SET = "it.env.A: GONE is not set; set it, or write ${GONE:-} for nothing instead"
REPLACED = 'it.type: "sse" was replaced by streamable HTTP; give the server\'s streamable HTTP url'
ENVIRON = {"TOKEN": "secret", "EMPTY": "", "HOST": "example.org"}


def one(**fields: Any) -> ServerConfig:
    (server,) = parse(json.dumps({"mcpServers": {"it": fields}}), "mcp.json", ENVIRON)
    return server


def test_a_command_with_all_that_it_may_have() -> None:
    server = one(
        command="npx",
        args=["-y", "some-server", 8080],
        env={"KEY": "${TOKEN}", "PORT": 1},
        cwd="sub",
        type="stdio",
        timeout=5,
        startTimeout=7.5,
        autoApprove=["x"],
    )
    transport = StdioServer("npx", ("-y", "some-server", "8080"), {"KEY": "secret", "PORT": "1"}, "sub")
    assert server == ServerConfig(name="it", transport=transport, timeout=5, start_timeout=7.5)


@pytest.mark.parametrize("kind", [None, "http", "streamable-http", "streamableHttp", "streamable_http"])
def test_a_url_with_headers_however_its_type_is_spelled(kind: str | None) -> None:
    fields = {"url": "https://${HOST}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    server = one(**fields, **({"type": kind} if kind else {}))
    assert server.transport == Http("https://example.org/mcp", {"Authorization": "Bearer secret"})


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("${TOKEN}", "secret"),
        ("${env:TOKEN}", "secret"),
        ("a${TOKEN}b${HOST}", "asecretbexample.org"),
        ("${EMPTY}", ""),
        ("${EMPTY:-else}", "else"),
        ("${GONE:-else where}", "else where"),
        ("${GONE:-}", ""),
        ("$TOKEN $${} ${not a name}", "$TOKEN $${} ${not a name}"),
    ],
)
def test_variables_are_replaced(written: str, meant: str) -> None:
    transport = one(command="x", args=[written]).transport
    assert isinstance(transport, StdioServer)
    assert transport.args == (meant,)


@pytest.mark.parametrize("off", [{"disabled": True}, {"enabled": False}])
def test_one_that_is_disabled_is_left_out_whatever_else_it_says(off: dict[str, bool]) -> None:
    assert parse(json.dumps({"mcpServers": {"it": {"args": 3, **off}}}), "mcp.json", {}) == ()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "mcp.json is not JSON: Input data was truncated"),
        ("[]", 'mcp.json: expected an object with the key "mcpServers"'),
        ('{"servers": {}}', 'mcp.json: expected an object with the key "mcpServers"'),
        ('{"mcpServers": []}', "mcp.json: mcpServers: expected an object of servers by name, not a list"),
        ('{"mcpServers": {"a": 1}}', "mcp.json: mcpServers.a: expected an object, not a number"),
        ('{"mcpServers": {" ": {}}}', "mcp.json: mcpServers: a server needs a name that is not empty"),
    ],
)
def test_a_file_that_is_something_else_is_told_what_was_expected(content: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(content, "mcp.json", ENVIRON)
    assert str(raised.value) == sentence


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "it: expected a command to start, or a url"),
        ({"command": "x", "url": "http://y"}, "it: has a command and a url; give one of them"),
        ({"command": ""}, "it.command: must not be empty"),
        ({"command": ["x"]}, "it.command: expected a string, not a list"),
        ({"command": "a\0b"}, "it.command: must not contain a null byte"),
        ({"command": "x", "args": "y"}, "it.args: expected a list of strings, not a string"),
        ({"command": "x", "args": ["y", None]}, "it.args[1]: expected a string, not null"),
        ({"command": "x", "env": ["y"]}, "it.env: expected an object of strings, not a list"),
        ({"command": "x", "env": {"A": True}}, "it.env.A: expected a string, not true or false"),
        ({"command": "x", "env": {"A": "${GONE}"}}, NOT_SET),
        ({"command": "x", "timeout": "5"}, 'it.timeout: expected a number of seconds, not "5"'),
        ({"command": "x", "timeout": 0}, "it.timeout: expected a number of seconds, not a number"),
        ({"command": "x", "disabled": "no"}, 'it.disabled: expected true or false, not "no"'),
        ({"type": "http"}, "it.url: is missing"),
        ({"url": "ftp://x"}, 'it.url: must start with http:// or https://, not "ftp://x"'),
        ({"type": "sse", "url": "http://x"}, REPLACED),
        ({"type": "smoke", "command": "x"}, 'it.type: expected "stdio" or "http", not "smoke"'),
    ],
)
def test_what_is_wrong_with_a_server_is_told_with_its_key(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as raised:
        one(**fields)
    assert str(raised.value) == f"mcp.json: mcpServers.{sentence}"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
keys = st.sampled_from(["command", "args", "env", "cwd", "url", "headers", "type", "timeout", "disabled", "enabled"])


@given(st.dictionaries(st.text(), st.dictionaries(keys, anything) | anything))
def test_whatever_a_file_says_it_is_servers_or_a_sentence(servers: dict[str, Any]) -> None:
    sentence = "mcp.json"
    found: tuple[ServerConfig, ...] = ()
    try:
        found = parse(json.dumps({"mcpServers": servers}), "mcp.json", ENVIRON)
    except ConfigError as error:
        sentence = str(error)
    assert sentence.startswith("mcp.json")
    assert {server.name for server in found} <= set(servers)


def test_of_two_servers_with_a_name_the_last_one_is_taken() -> None:
    def server(name: str, command: str) -> ServerConfig:
        return ServerConfig(name=name, transport=StdioServer(command))

    assert merged([[server("a", "1"), server("b", "1")], [server("a", "2")]]) == (server("a", "2"), server("b", "1"))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.json cannot be read: there is no such file$"):
        files.load([str(tmp_path / "gone.json")], None, {})


def test_servers_without_the_package_are_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    assert files.load([], {}, {}) == ()
    with pytest.raises(ConfigError, match=r"pip install 'linnet-agent\[mcp\]'"):
        files.load([], {"a": {"command": "x"}}, {})
