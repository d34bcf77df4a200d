"""The commands `linnet login`, `linnet logout` and `linnet auth`: keep, remove and list keys of providers."""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from msgspec import Struct

from linnet.errors import ConfigError, UnknownProvider
from linnet.flags.flags import TABLE, Flag, Program, UsageError, help_text, parse
from linnet.providers import catalog
from linnet.providers.apis import api_named
from linnet.runtime.models.accounts import Accounts
from linnet.runtime.models.keys import COMMAND, Key, StoredKeys
from linnet.runtime.models.known_providers import KnownProviders
from linnet.runtime.settings.folders import home_folder
from linnet.server.terminal import ask, tell

_HELP = tuple(flag for flag in TABLE if flag.names[0] == "-h")

LOGIN = Program(
    "linnet login",
    """\
linnet login: keep the key of a provider, for you alone, in auth.json in the linnet home folder

  linnet login PROVIDER            asks for the key, and does not show it
  linnet login PROVIDER < FILE     takes it from there

A key may also be ! and a command that prints it, such as: !pass show anthropic
It is run when a key is needed, once, and has ten seconds.

Flags
""",
    table=_HELP,
)
LOGOUT = Program(
    "linnet logout",
    """\
linnet logout: forget the key that linnet login keeps

  linnet logout PROVIDER

Flags
""",
    table=_HELP,
)
AUTH = Program(
    "linnet auth",
    """\
linnet auth: which providers have a key, and where it comes from; never the key

  linnet auth [flags]

Flags
""",
    (Flag(("--json",), "json", "one JSON object a line"),),
    table=_HELP,
)


class Account(Struct, frozen=True):
    """A line of `linnet auth --json`."""

    provider: str
    key: bool  # Whether there is one.
    source: str | None  # variable or file; None if there is none.
    place: str  # The name of the variable, or the path of the file.
    command: bool  # Whether the key is what a command will print.
    problem: str  # Why there is none although one is kept.


def run(word: str, argv: Sequence[str]) -> int:
    """Run one of the three commands, and return the exit code. Raises UsageError and ConfigError."""
    program = {"login": LOGIN, "logout": LOGOUT, "auth": AUTH}[word]
    flags = parse(argv, program)
    if flags.help:
        tell(help_text(program))
        return 0
    if word == "auth":
        if flags.words:
            raise UsageError(f"linnet auth takes no words, only flags: {flags.words[0]!r}; see linnet auth --help")
        return auth(as_json=flags.json)
    if len(flags.words) != 1:  # A key on the command line would be in the shell's history.
        raise UsageError(f"linnet {word} takes the name of one provider; see linnet {word} --help")
    return login(flags.words[0]) if word == "login" else logout(flags.words[0])


def login(provider: str) -> int:
    """Ask for a key, and keep it. Raises ConfigError."""
    info = _with_key(provider)
    keys = StoredKeys(home_folder(os.environ))
    keys.check()  # What cannot be changed is said before anybody types a key.
    keys.put(provider, _checked(_asked(provider)))
    tell(f"The key of {provider} is kept in {keys.path}.")
    if info.key_variable and os.environ.get(info.key_variable):
        ask(f"{info.key_variable} is set, and wins over it.\n")
    return 0


def logout(provider: str) -> int:
    """Remove a key that is kept. Raises ConfigError if there is none."""
    info = _with_key(provider)
    keys = StoredKeys(home_folder(os.environ))
    if not keys.remove(provider):
        raise ConfigError(f"{keys.path} has no key of {provider}")
    tell(f"The key of {provider} is no longer in {keys.path}.")
    if info.key_variable and os.environ.get(info.key_variable):
        ask(f"{info.key_variable} is set, so {provider} still has one.\n")
    return 0


def auth(*, as_json: bool) -> int:
    """Print where the key of each provider comes from."""
    accounts = _accounts()
    found = [_account(info, accounts.key(name)) for name, info in _keyed(accounts.providers).items()]
    if as_json:
        from linnet.wire.jsonl import encode_lines

        if isinstance(sys.stdout, TextIOWrapper):  # A spawner may have closed it.
            sys.stdout.buffer.write(encode_lines(found))
        return 0
    width = max(len(account.provider) for account in found)
    for account in found:
        tell(f"{account.provider:<{width}}  {_words(account)}")
    return 0


def _account(info: catalog.ProviderInfo, key: Key) -> Account:
    return Account(info.name, bool(key), key.source, key.place, bool(key.command), key.problem)


def _words(account: Account) -> str:
    if account.problem:
        return f"no key: {account.problem}"
    if not account.key:
        accounts = _accounts()
        if place := accounts.seen(account.provider).place:
            return f"no key, but credentials: {place}"
        info = accounts.providers.info(account.provider)
        if info.keyless:
            return "needs no key"
        variable = info.key_variable
        return f"no key; {f'set {variable}, or: ' if variable else ''}linnet login {account.provider}"
    return f"{'a command' if account.command else 'a key'} in {account.place}"


def _providers() -> KnownProviders:
    return KnownProviders(os.environ, home_folder(os.environ))


def _accounts() -> Accounts:
    return Accounts(_providers())


def _keyed(providers: KnownProviders) -> dict[str, catalog.ProviderInfo]:
    """Return linnet's providers and those of the user, but for the one that needs no key."""
    return {name: info for name, info in providers.infos.items() if api_named(info.api).remote}


def _with_key(provider: str) -> catalog.ProviderInfo:
    """Return a provider that has a key. Raises UnknownProvider."""
    known = _keyed(_providers())
    if provider not in known:
        raise UnknownProvider(provider, known)
    return known[provider]


def _asked(provider: str) -> str:
    """Return the key that a person types, unseen, or that is piped in. Raises ConfigError."""
    if sys.stdin is None:
        raise UsageError("there is no stdin to take the key from")
    if not sys.stdin.isatty():
        return sys.stdin.read(1 << 16)
    from getpass import getpass

    try:
        return getpass(f"Key of {provider}: ")
    except (EOFError, KeyboardInterrupt):
        raise ConfigError("nothing was kept") from None


def _checked(text: str) -> str:
    """Return the key without white space around it. Raises ConfigError if it can be none."""
    word = text.strip()
    if not word.removeprefix(COMMAND).strip():
        raise ConfigError("the key is empty; nothing was kept")
    if not word.isprintable() or (not word.startswith(COMMAND) and (" " in word or not word.isascii())):
        raise ConfigError("this is no key: one word of plain characters was expected; nothing was kept")
    return word
