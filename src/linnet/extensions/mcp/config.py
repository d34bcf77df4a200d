"""Parses the `mcpServers` object by which people configure MCP servers. Pure: files are read elsewhere."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeAlias

import msgspec
from msgspec import Struct

from linnet.errors import ConfigError

CALL_TIMEOUT = 300.0
START_TIMEOUT = 30.0
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
HTTP = ("http", "streamable-http", "streamableHttp", "streamable_http")


class StdioServer(Struct, frozen=True):
    """A program that is started and spoken to on its stdin and stdout."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str | None = None
    """The folder to start it in; None is the agent's own."""
    sandbox: bool = False
    """Whether it runs in the sandbox of commands."""


class Http(Struct, frozen=True):
    """A server that runs somewhere, spoken to by streamable HTTP."""

    url: str
    headers: dict[str, str] = {}


Transport: TypeAlias = StdioServer | Http


class ServerConfig(Struct, frozen=True, kw_only=True):
    """One server."""

    name: str
    transport: Transport
    timeout: float = CALL_TIMEOUT
    """Seconds that a call may stay without an answer or a sign of progress."""
    start_timeout: float = START_TIMEOUT
    """Seconds from the start of the server to the list of its tools."""


def parse(data: bytes | str, source: str, environ: Mapping[str, str]) -> tuple[ServerConfig, ...]:
    """Return the servers of one file that are not disabled. `${NAME}`, `${NAME:-else}` and `${env:NAME}` in strings are
    replaced from `environ`, but not in a server that is `literal`. What the file says besides, and fields of a server
    that are not known here, are ignored: such files are shared with other programs.

    Raises ConfigError with a sentence that names the file, the key, and what was expected there.
    """
    try:
        content = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ConfigError(f"{source} is not JSON: {error}") from None
    return servers(content, source, environ)


def servers(content: object, source: str, environ: Mapping[str, str]) -> tuple[ServerConfig, ...]:
    """Return the same as `parse` from an object that somebody else decoded, such as a program that uses the SDK."""
    if not isinstance(content, Mapping) or "mcpServers" not in content:
        raise ConfigError(f'{source}: expected an object with the key "mcpServers"')
    listed = content["mcpServers"]
    if not isinstance(listed, Mapping):
        raise ConfigError(f"{source}: mcpServers: expected an object of servers by name, not {_kind(listed)}")
    return tuple(
        server
        for name, fields in listed.items()
        if (server := _Reader(str(name), fields, source, environ).server()) is not None
    )


def merged(layers: Iterable[Iterable[ServerConfig]]) -> tuple[ServerConfig, ...]:
    """Return one server for each name: that of the last layer which has it."""
    return tuple({server.name: server for layer in layers for server in layer}.values())


class _Reader:
    """Reads the fields of one server. Every method raises ConfigError, which names the field."""

    def __init__(self, name: str, fields: object, source: str, environ: Mapping[str, str]) -> None:
        self._name = name
        self._where = f"{source}: mcpServers.{name}"
        self._environ = environ
        if not name.strip():
            raise ConfigError(f"{source}: mcpServers: a server needs a name that is not empty")
        if not isinstance(fields, Mapping):
            raise ConfigError(f"{self._where}: expected an object, not {_kind(fields)}")
        self._fields = fields
        self._literal = self._flag("literal", default=False)

    def server(self) -> ServerConfig | None:
        """Return the server; None if it is disabled."""
        if self._flag("disabled", default=False) or not self._flag("enabled", default=True):
            return None
        return ServerConfig(
            name=self._name,
            transport=self._transport(),
            timeout=self._seconds("timeout", CALL_TIMEOUT),
            start_timeout=self._seconds("startTimeout", START_TIMEOUT),
        )

    def _transport(self) -> Transport:
        kind = self._get("type")
        if kind == "sse":
            self._fail("type", '"sse" was replaced by streamable HTTP; give the server\'s streamable HTTP url')
        if kind not in (None, "stdio", *HTTP):
            self._fail("type", f'expected "stdio" or "http", not {_shown(kind)}')
        command, url = self._get("command"), self._get("url")
        if command is not None and url is not None:
            self._fail("", "has a command and a url; give one of them")
        if kind in HTTP or (kind is None and url is not None):
            return self._http()
        if command is None:
            self._fail("", "expected a command to start, or a url")
        words = self._get("args")
        if not isinstance(words, list | tuple | None):
            self._fail("args", f"expected a list of strings, not {_kind(words)}")
        return StdioServer(
            self._text("command", command),
            tuple(self._text(f"args[{i}]", word, may_be_empty=True) for i, word in enumerate(words or ())),
            self._texts("env"),
            None if self._get("cwd") is None else self._text("cwd", self._get("cwd")),
            self._flag("sandbox", default=False),
        )

    def _http(self) -> Http:
        if self._get("url") is None:
            self._fail("url", "is missing")
        if self._flag("sandbox", default=False):
            self._fail("sandbox", "is for a command that is started here; a url is not")
        url = self._text("url", self._get("url"))
        if not re.match(r"https?://[^/]", url):
            self._fail("url", f'must start with http:// or https://, not "{url}"')
        return Http(url, self._texts("headers"))

    def _texts(self, key: str) -> dict[str, str]:
        values = self._get(key)
        if not isinstance(values, Mapping | None):
            self._fail(key, f"expected an object of strings, not {_kind(values)}")
        return {
            str(name): self._text(f"{key}.{name}", value, may_be_empty=True) for name, value in (values or {}).items()
        }

    def _text(self, key: str, value: object, *, may_be_empty: bool = False) -> str:
        """Return a string, with its variables replaced unless the entry is literal."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)  # A port is often written as a number.
        if not isinstance(value, str):
            self._fail(key, f"expected a string, not {_kind(value)}")
        text = value if self._literal else _VARIABLE.sub(self._variable(key), value)
        if not text.strip() and not may_be_empty:
            self._fail(key, "must not be empty")
        if "\0" in text:
            self._fail(key, "must not contain a null byte")
        return text

    def _variable(self, key: str) -> Callable[[re.Match[str]], str]:
        """Return the function that replaces variables in a field."""

        def value(found: re.Match[str]) -> str:
            name, otherwise = found.groups()
            given = self._environ.get(name)
            if given or (given is not None and otherwise is None):
                return given
            if otherwise is None:
                self._fail(key, f"{name} is not set; set it, or write ${{{name}:-}} for nothing instead")
            return otherwise

        return value

    def _flag(self, key: str, *, default: bool) -> bool:
        value = self._fields.get(key, default)
        if not isinstance(value, bool):
            self._fail(key, f"expected true or false, not {_shown(value)}")
        return value

    def _seconds(self, key: str, default: float) -> float:
        value = self._fields.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
            self._fail(key, f"expected a number of seconds, not {_shown(value)}")
        return float(value)

    def _get(self, key: str) -> Any:
        return self._fields.get(key)

    def _fail(self, key: str, problem: str) -> NoReturn:
        raise ConfigError(f"{self._where}{'.' if key else ''}{key}: {problem}")


def _kind(value: object) -> str:
    """Return what JSON calls the type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case _:
            return "a list"


def _shown(value: object) -> str:
    """Return a string as it is, and the type of anything else."""
    return f'"{value}"' if isinstance(value, str) else _kind(value)
