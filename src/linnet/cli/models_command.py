"""The command `linnet models`: lists the models that can be used, what they cost, and where the key comes from."""

import os
import sys
from collections.abc import Collection, Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from linnet.core.models import Model
from linnet.core.text.terminal_text import one_line
from linnet.errors import ProviderError
from linnet.flags.flags import TABLE, Flag, Flags, Program, UsageError, help_text, parse
from linnet.providers.apis import api_named
from linnet.server.terminal import say, tell

if TYPE_CHECKING:
    from linnet.runtime.models.known_models import KnownModels
    from linnet.runtime.models.known_providers import KnownProviders

_OWN = ("--provider", "--model", "--api-key", "--base-url", "-h")

MODELS = Program(
    "linnet models",
    """\
linnet models: the models that can be used; * marks the default, which is used unless you choose another

  linnet models [WORD] [flags]        only those with this in their name, or in their provider's

Prices are US dollars for a million tokens; ? is a price that nobody knows.
ENDS is the day on which the vendor takes the model away, where that is known.
A server on your own machine, such as ollama, is asked which models it has if you name it (--provider) or its address.

Flags
""",
    (
        Flag(("--all",), "everywhere", "also those of providers that have no key"),
        Flag(("--json",), "json", "one JSON object a line, with all that is known"),
    ),
    table=tuple(flag for flag in TABLE if flag.names[0] in _OWN),
)
HEADER = ("", "PROVIDER", "MODEL", "CONTEXT", "OUTPUT", "$ IN", "$ OUT", "KEY", "ENDS")
_RIGHT = range(3, 7)


class ModelRow(Struct, frozen=True):
    """A row of the list."""

    model: Model
    default: bool  # Whether it is what would be used.
    usable: bool
    key: str  # Where the provider's key comes from, or what to do about it.


def models(argv: Sequence[str]) -> int:
    """Run the command, and return the exit code. Raises UsageError and ConfigError."""
    flags = parse(argv, MODELS)
    if flags.help:
        tell(help_text(MODELS))
        return 0
    return list_models(flags, MODELS.name)


def list_models(flags: Flags, program: str) -> int:
    """Print the models that can be used with these flags. Raises ConfigError if flags or a file make no sense."""
    from linnet.runtime.models.accounts import Accounts
    from linnet.runtime.models.known_models import KnownModels
    from linnet.runtime.models.known_providers import KnownProviders
    from linnet.runtime.project.resource_folders import peer_home
    from linnet.runtime.settings.folders import home_folder

    if len(flags.words) > 1:
        raise UsageError(f"give one word to look for, not {len(flags.words)}: {flags.words[1]!r}")
    config = flags.config
    theirs = peer_home("pi", os.environ) if flags.stands_in_for == "pi" else None
    providers = KnownProviders(os.environ, home_folder(os.environ), theirs)
    known = KnownModels(Accounts(providers, config.get("api_key"), config.get("base_url"), config.get("api")))
    named, model = config.get("provider"), config.get("model")
    default = None
    if named and not model and not providers.info(named).default_model:
        known.begin_with_any(named)
    else:
        default = known.begin(named, model)
    wanted = flags.words[0].lower() if flags.words else ""
    found = [
        row
        for row in _rows(known, named or "", default, everywhere=flags.everywhere)
        if wanted in f"{row.model.provider}/{row.model.id} {row.model.name}".lower()
    ]
    if theirs is not None:
        tell("\n".join(map(one_line, _pis_table([row.model for row in found]))) if found else _none_for_pi(flags.words))
    elif flags.json:
        _print_json(found)
    elif found:
        tell("\n".join(map(one_line, table(found))))
    elif named and known.accounts.usable(named) and not wanted:
        say(f"no model of {named} is known")
    else:
        why = "has that in its name" if wanted else f"can be used: set {_variables(providers)}"
        more = (
            "; --all lists those of providers without a key" if program == MODELS.name and not flags.everywhere else ""
        )
        say(f"no model {why}{more}")
    return 0


def _variables(providers: "KnownProviders") -> str:
    named = [info.key_variable for info in providers.infos.values() if info.key_variable][:3]
    return f"{', '.join(named)} or that of another provider (see linnet auth)"


def table(rows: Sequence[ModelRow]) -> list[str]:
    """Return the lines of the table, with its header."""
    lines = [HEADER, *map(_line, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    return ["  ".join(_padded(line, widths)).rstrip() for line in lines]


def _pis_table(models: Sequence[Model]) -> list[str]:
    """Return the lines that pi prints for these models, for programs that read them."""
    lines: list[tuple[str, ...]] = [("provider", "model", "context", "max-out", "thinking", "images")]
    for each in sorted(models, key=lambda each: (each.provider, each.id)):
        sizes = _rounded(each.context_window), _rounded(each.max_output)
        lines.append(
            (each.provider, each.id, *sizes, *("yes" if has else "no" for has in (each.reasoning, each.images)))
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)) for line in lines]


def _rounded(tokens: int) -> str:
    for size, unit in ((1_000_000, "M"), (1_000, "K")):
        if tokens >= size:
            return f"{tokens / size:.1f}".removesuffix(".0") + unit if tokens % size else f"{tokens // size}{unit}"
    return str(tokens)


def _none_for_pi(words: Sequence[str]) -> str:
    why = (
        f'matching "{words[0]}"'
        if words
        else "available. Set the variable of a provider's key, or keep it in auth.json."
    )
    return f"No models {why}"


def _rows(known: "KnownModels", named: str, default: Model | None, *, everywhere: bool) -> list[ModelRow]:
    """Return the rows of usable models, or of all; those of the provider that would be used come first. `named` is the
    provider that somebody asked for.
    """
    first = default.provider if default else named
    rows: list[ModelRow] = []
    accounts = known.accounts
    for name in sorted(known.providers.infos, key=lambda name: name != first):
        info = known.providers.info(name)
        remote = api_named(info.api).remote
        if not remote and not everywhere and name != first:
            continue  # It has to be chosen.
        place = os.path.basename(accounts.key(name).place) or accounts.seen(name).place
        usable = not remote or accounts.usable(name)
        if usable or everywhere:
            key = place or ("none needed" if usable else f"none; set {info.key_variable}")
            found = known.of(name)
            given = name == named or accounts.has_own_server(name)
            if usable and info.open_ended and (name == named or (info.on_this_machine and (given or everywhere))):
                found += _asked(known, name, {model.id for model in found}, quiet=not given)
            rows += [ModelRow(each, each == default and usable, usable, key) for each in found]
    return rows


def _asked(known: "KnownModels", name: str, listed: Collection[str], *, quiet: bool) -> list[Model]:
    """Return the models that the provider's server says it has, without those that are `listed`. If it cannot be asked,
    say so, unless that is to be done quietly: then nobody has said that there is such a server.
    """
    from linnet.concurrency.cancel import CancelToken
    from linnet.providers.endpoint import Endpoint
    from linnet.providers.http.listing import offers

    info, key, url = known.providers.info(name), known.accounts.key(name), known.accounts.base_url(name)
    if key.command or not api_named(info.api).lists_models:
        return []
    endpoint = Endpoint(name, url, key.word, auth=key.auth)
    try:
        found = offers(name, url, {**endpoint.credentials("Authorization", "Bearer"), **info.headers}, CancelToken())
    except ProviderError as error:
        if not quiet:
            say(f"{error}: it cannot be asked which models it has; any id that it knows works")
        return []
    more = [(each, known.find(name, each.id, unlisted=True)) for each in found if each.id not in listed]
    return [replace(model, context_window=each.window) if each.window else model for each, model in more]


def _line(row: ModelRow) -> tuple[str, ...]:
    model = row.model
    prices = ("?", "?") if model.prices is None else (f"{model.prices.input:g}", f"{model.prices.output:g}")
    mark = "*" if row.default else ""
    sizes = (f"{model.context_window:,}", f"{model.max_output:,}")
    from linnet.providers.catalog import PROVIDERS

    vendor = PROVIDERS.get(model.provider)
    ends = model.ends if vendor and model.base_url == vendor.base_url else ""  # A server of one's own ends nothing.
    return (mark, model.provider, model.id, *sizes, *prices, row.key, ends)


def _padded(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        word.rjust(width) if column in _RIGHT else word.ljust(width)
        for column, (word, width) in enumerate(zip(line, widths, strict=True))
    ]


def _print_json(rows: Sequence[ModelRow]) -> None:
    from msgspec import to_builtins

    from linnet.wire.jsonl import encode_lines
    from linnet.wire.pi.state import model

    if isinstance(sys.stdout, TextIOWrapper):  # A spawner may have closed it.
        known = [
            {**to_builtins(model(row.model)), "default": row.default, "usable": row.usable, "key": row.key}
            for row in rows
        ]
        sys.stdout.buffer.write(encode_lines(known))
