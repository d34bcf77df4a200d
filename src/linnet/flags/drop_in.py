"""The flags that `linnet-pi` and `linnet-zot` accept besides linnet's own: those of pi and zot.

So a client which spawns pi or zot by name works when it is pointed here. Here are only tables, and how pi makes prompts
of words; the parser is the one in `flags`.
"""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from linnet.core.models import LEVELS
from linnet.errors import ConfigError, Contradiction
from linnet.flags.flags import TABLE, Flag, Flags, Program

if TYPE_CHECKING:
    from linnet.core.commands import Prompt

LARGEST = 64 << 20  # Bytes of a file that is shown to the model.
_UNPICKED = "is ignored: nobody can be asked here; --continue takes the newest session, --session names one"
_UNDRAWN = "is ignored: nothing is drawn here"
_BUILTIN = "builtin:"
_BUILT_INTO_PI = ("codemode", "llama.cpp", "mcp", "tool-search")
_NOT_BUILT_IN = "is ignored: it is a part of pi, and linnet has none of it"
_UNFILTERED = "is ignored, as by pi 0.37; --skill names a skill or a folder of them, --no-skills leaves the others out"


_LIST_MODELS = Flag(("--list-models",), "list_models", "list the models that can be used; a word narrows it down")


def _like(name: str, *aliases: str, **changes: Any) -> Flag:
    """Return linnet's own flag with more names, or with other fields."""
    own = next(flag for flag in TABLE if name in flag.names)
    return replace(own, names=(*own.names, *aliases), **changes)


def _accepted(*names: str, word: str = "", note: str = "") -> Flag:
    """Return a flag that is accepted, and has no effect."""
    return Flag(names, "", "accepted, without effect", str if word else None, word, note=note)


def _text_or_file(word: str) -> str:
    """Return the content of a file, if this is the name of one, or else the word, as pi does. Raises ConfigError."""
    if not os.path.isfile(word):
        return word
    from linnet.files.reading import required

    try:
        return required(word).decode()
    except UnicodeError as error:
        raise ConfigError(f"{word} cannot be used: {error}") from None


def _amend(flags: Flags) -> None:
    """Read what is said as pi does: rpc mode takes no words; what is not on a terminal is to print something. Raises
    ConfigError.
    """
    if flags.mode == "rpc" and flags.words:
        if any(word.startswith("@") for word in flags.words):
            raise ConfigError("@file arguments are not supported in RPC mode")
        flags.notes.append(f"rpc mode takes prompts on stdin, so this one is ignored: {flags.words[0]!r}")
        flags.words = []
    if flags.mode is None and not (os.isatty(0) and os.isatty(1)):
        flags.print = True
    _amend_config(flags.config, flags.notes)


def _amend_config(config: dict[str, Any], notes: list[str]) -> None:
    """Read what is said of thinking, extensions and sessions as pi does. Raises ConfigError."""
    if any(path.startswith(_BUILTIN) for path in config.get("extensions", ())):
        config["extensions"] = list(_without_built_in(config["extensions"], notes))
    level = config.get("reasoning", "off")
    if level not in LEVELS:
        notes.append(f'Invalid thinking level "{level}". Valid values: {", ".join(LEVELS)}')
        del config["reasoning"]
    if "session_name" in config and not config["session_name"].strip():
        raise ConfigError("--name requires a non-empty value")
    if config.get("save") is False and "fork" in config:
        raise Contradiction("--fork", "--no-session")
    unused = ("session", "resume") if config.get("save") is False else ("resume",) if "session" in config else ()
    for each in (each for each in unused if each in config and "fork" not in config and "session_id" not in config):
        why = "--no-session" if config.get("save") is False else "--session"
        notes.append(f"--{'continue' if each == 'resume' else each} is ignored: {why} comes first")
        del config[each]


def _without_built_in(paths: Sequence[str], notes: list[str]) -> Iterator[str]:
    """Yield what is not the name of a part of pi. linnet has MCP servers without being told. Raises ConfigError if pi
    has no such part.
    """
    for path in paths:
        name = path.removeprefix(_BUILTIN)
        if name == path:
            yield path
        elif name not in _BUILT_INTO_PI:
            raise ConfigError(f'Failed to load extension "{path}": Unknown built-in extension: {path}')
        elif name != "mcp":
            notes.append(f"--extension {path} {_NOT_BUILT_IN}")


def _in_pis_words(error: Exception) -> str:
    from linnet.flags.pi_words import in_pis_words  # Few starts go wrong.

    return in_pis_words(error)


def _amend_zot(flags: Flags) -> None:
    """Read what is said as zot does: of --with-skills and --no-skills, the second wins."""
    if flags.config.pop("with_skills", False):
        flags.config.setdefault("skills", True)


PI = Program(
    "linnet-pi",
    """\
linnet-pi: linnet for clients that spawn pi

  linnet-pi --mode rpc [flags]                      speak the pi protocol on stdin and stdout
  linnet-pi -p [flags] [@file ...] "prompt" ...     do one thing after another, print the final text
  linnet-pi --mode json [@file ...] "prompt" ...    the same, but print every event as a line of JSON
  linnet-pi --pi-version 0.73 …                     as a client expects that was written for this version of pi

Flags
""",
    (
        _like("--version", "-v"),
        _like("--tools", "-t"),
        _like("--exclude-tools", "-xt"),
        _like("--no-tools", "-nt"),
        _like("--no-builtin-tools", "-nbt"),
        _like(
            "--system-prompt", parse=_text_or_file, help="say this, or what this file says, and not linnet's own words"
        ),
        _like(
            "--append-system-prompt", parse=_text_or_file, help="say this, or what this file says, after it; repeatable"
        ),
        _like("--continue", "-c"),
        _like("--name", "-n"),
        _like("--trust", "--approve", "-a"),
        _like("--no-trust", "--no-approve", "-na"),
        _accepted("-r", "--resume", note=_UNPICKED),
        _like("--extension", "--hook"),
        _like("--no-extensions", "-ne"),
        _accepted("--skills", word="GLOB", note=_UNFILTERED),
        _like("--no-skills", "-ns"),
        _like("--no-prompt-templates", "-np"),
        _accepted("--theme", word="FILE", note=_UNDRAWN),
        _accepted("--use-theme", word="NAME", note=_UNDRAWN),
        _accepted("--no-themes"),
        _accepted("--tui-mode", word="MODE", note=_UNDRAWN),
        _like("--no-context-files", "-nc"),
        _accepted("--verbose"),
        _accepted("--offline"),
        Flag(("--export",), "export", "make a page of HTML of this session; the next word names the page", str, "FILE"),
        _LIST_MODELS,
    ),
    dialect="pi-1",
    stands_in_for="pi",
    elsewhere=("install", "remove", "uninstall", "update", "list", "config", "auth", "mcp"),
    version="{pi}",
    errors=("Error", "Warning"),
    misuse=1,
    spell=_in_pis_words,
    amend=_amend,
)

ZOT = Program(
    "linnet-zot",
    """\
linnet-zot: linnet for clients that spawn zot

  linnet-zot rpc [flags]              speak the zot protocol on stdin and stdout
  linnet-zot -p "prompt" [flags]      do one thing, print the final text
  linnet-zot --json "prompt"          do one thing, print every event as a line of JSON

Flags
""",
    (
        _like("--version", "-v"),
        _like("--json", help="do one thing, print every event as a line of JSON"),
        _like("--continue", "-c"),
        _accepted("-r", "--resume", note=_UNPICKED),
        _like("--extension", "--ext"),
        _like("--no-extensions", "--no-ext"),
        Flag(("--with-skills",), "with_skills", "look for skills in the user's and the project's folders"),
        Flag(("--no-yolo",), "permission", "ask before a tool changes something or runs a command", value="ask"),
        _LIST_MODELS,
    ),
    dialect="zot",
    stands_in_for="zot",
    amend=_amend_zot,
)


def prompts(words: Sequence[str], piped: str = "") -> "list[Prompt]":
    """Return one prompt for each word. What was piped in and files, which are words that start with @, are shown to the
    model with the first, in that order. Raises ConfigError if a file cannot be read.
    """
    from base64 import b64encode

    from linnet.core.commands import Prompt
    from linnet.core.images import sniffed
    from linnet.core.messages import Image
    from linnet.files.reading import contents

    shown = piped
    images: list[Image] = []
    for path in (os.path.abspath(os.path.expanduser(word[1:])) for word in words if word.startswith("@")):
        data = contents(path, LARGEST)
        if data is None:
            raise ConfigError(f"File not found: {path}")
        kind = sniffed(data[:16])
        if kind:
            images.append(Image(kind, b64encode(data).decode()))
        shown += f'<file name="{path}">' + ("" if kind else f"\n{data.decode(errors='replace')}\n") + "</file>\n"
    said = [word for word in words if not word.startswith("@")]
    if not shown:
        return [Prompt(text) for text in said]
    first, rest = said[:1], said[1:]
    return [Prompt(shown + "".join(first), tuple(images)), *map(Prompt, rest)]
