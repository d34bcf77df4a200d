"""The command `linnet schema`: prints the JSON Schema of a protocol or a file, or a protocol's types in TypeScript."""

from collections.abc import Callable, Sequence

from linnet.flags.flags import DIALECTS, TABLE, Flag, Program, UsageError, help_text, parse
from linnet.server.terminal import hand_over, tell

FILES = ("settings", "mcp", "models", "script", "extension", "extension-frames")
FORMATS = ("json-schema", "typescript")


def _one_of(*words: str) -> Callable[[str], str]:
    def parsed(word: str) -> str:
        if word not in words:
            raise ValueError(f"one of {', '.join(words)}")
        return word

    return parsed


SCHEMA = Program(
    "linnet schema",
    """\
linnet schema: what linnet reads and prints, as a JSON Schema or as TypeScript

  linnet schema --dialect NAME [--format typescript]   every command, response and event of a protocol
  linnet schema --file WHAT                            a file that you write, or what extensions say

Flags
""",
    (
        Flag(("--dialect",), "dialect", ", ".join(DIALECTS), _one_of(*DIALECTS), "NAME"),
        Flag(("--file",), "file", ", ".join(FILES), _one_of(*FILES), "WHAT"),
        Flag(("--format",), "format", "json-schema, or typescript for a protocol", _one_of(*FORMATS), "NAME"),
    ),
    table=tuple(flag for flag in TABLE if flag.names[0] == "-h"),
)


def schema(argv: Sequence[str]) -> int:
    """Run the command, and return the exit code. Raises UsageError."""
    flags = parse(argv, SCHEMA)
    if flags.help:
        tell(help_text(SCHEMA))
        return 0
    dialect, file = flags.dialect, flags.config.get("file")
    if flags.words or (dialect is None) is (file is None):
        raise UsageError("say of what: linnet schema --dialect NAME, or linnet schema --file WHAT")
    if file is not None and flags.config.get("format") == "typescript":
        raise UsageError("--format typescript is for a protocol: --dialect NAME")
    hand_over(_written(dialect, file, flags.config.get("format", FORMATS[0])))
    return 0


def _written(dialect: str | None, file: str | None, format: str) -> str:
    from msgspec import json

    if dialect is None:
        from linnet.schemas.files import file_schema

        return json.format(json.encode(file_schema(str(file)))).decode()
    from linnet.schemas.dialects import document

    made = document(dialect)
    if format == "typescript":
        from linnet.schemas.typescript import typescript

        return typescript(made, dialect).rstrip("\n")
    return json.format(json.encode(made)).decode()
