"""Writes a tool's arguments and its result as HTML. How they look depends on the tool."""

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from linnet.core.messages import Image, ToolCall, ToolResult, texts
from linnet.export.html import ansi, diff
from linnet.export.html.block import block
from linnet.export.html.escape import LINE_END, escape, short
from linnet.export.html.highlight import Highlighter
from linnet.export.html.image import picture
from linnet.export.html.palette import Palette

_MAIN = ("command", "cmd", "pattern", "query", "url", "path", "file_path", "filePath", "name", "prompt")
_NOTE = re.compile(r"\n\n(\[[^\n]*\])\n?\Z")  # `read` says so that a file goes on.


class Tools:
    """Renders calls, results and commands."""

    def __init__(self, highlighter: Highlighter, palette: Palette) -> None:
        self._highlighter = highlighter
        self._palette = palette

    def asked(self, call: ToolCall) -> str:
        """Return the arguments as HTML, without those that the headline or the result shows."""
        args = call.args
        match call.name:
            case _ if call.unparsed:
                return block(escape(call.unparsed).split("\n"))
            case "bash" if isinstance(command := args.get("command"), str):
                return self._command(command) + self._rest(args, "command")
            case "read" if isinstance(args.get("path"), str):
                return self._rest(args, "path", "offset", "limit")
            case "write" if isinstance(path := args.get("path"), str) and isinstance(
                content := args.get("content"), str
            ):
                return block(self._highlighter.by_file(content, path), "src") + self._rest(args, "path", "content")
            case "edit" if isinstance(args.get("path"), str) and _replacements(args) is not None:
                return ""
            case _:
                return self.value(args) if args else ""

    def result(self, call: ToolCall | None, result: ToolResult) -> str:
        """Return a result as HTML. `call` is the one that it answers, if that is known."""
        text = texts(result.content)
        pictures = "".join(picture(part) for part in result.content if isinstance(part, Image))
        return (self._said(call, result, text) if text else "") + pictures

    def unanswered(self, call: ToolCall) -> str:
        """Return the changes that an edit without a result asked for, as HTML; "" for other calls."""
        pairs = _replacements(call.args) if call.name == "edit" else None
        return self._replaced(pairs) if pairs else ""

    def run(self, command: str, output: str) -> str:
        return self._command(command) + self.output(output)

    def output(self, text: str) -> str:
        if diff.is_unified(text):
            return block(diff.lines(text), "diff", joint="")
        return block(ansi.lines(text, self._palette), "out")

    def value(self, value: Any) -> str:
        return block(self._highlighter.by_language(_json(value), "json"), "src")

    def raw(self, line: bytes) -> str:
        """Return a line of the file as HTML; JSON is indented."""
        try:
            text = msgspec.json.format(line, indent=2).decode()
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return block(escape(line.decode("utf-8", "replace")).split("\n"))
        return block(self._highlighter.by_language(text, "json"), "src")

    def _said(self, call: ToolCall | None, result: ToolResult, text: str) -> str:
        args = call.args if call else {}
        match result.name:
            case "edit" if isinstance(made := (result.details or {}).get("diff"), str) and made.strip():
                told = "" if diff.is_unified(text) else _remark(text)
                return block(diff.lines(made), "diff", joint="") + told
            case "edit" if (pairs := _replacements(args)) and not diff.is_unified(text):
                return self._replaced(pairs) + self.output(text)
            case "read" if isinstance(path := args.get("path"), str) and not result.is_error:
                note = _NOTE.search(text)
                body = text[: note.start()] if note else text
                return block(self._highlighter.by_file(body, path), "src") + (_remark(note[1]) if note else "")
            case "write" if not result.is_error and "\n" not in text:
                return _remark(text)
            case "bash" if isinstance(command := args.get("command"), str):
                return self.output(text.removeprefix(f"$ {command}\n\n"))
            case _ if text[:1] in ("{", "[") and _is_json(text):
                return block(self._highlighter.by_language(text, "json"), "src")
            case _:
                return self.output(text)

    def _command(self, command: str) -> str:
        return block(self._highlighter.by_language(command, "bash"), "cmd")

    def _replaced(self, pairs: Sequence[tuple[str, str]]) -> str:
        return "".join(block(diff.replaced(old, new), "diff", joint="") for old, new in pairs)

    def _rest(self, args: dict[str, Any], *known: str) -> str:
        """Return the arguments that are not known, as HTML; short ones on one line."""
        rest = {name: value for name, value in args.items() if name not in known}
        if all(isinstance(value, str | int | float | bool) and len(str(value)) < 80 for value in rest.values()):
            return _remark(" · ".join(f"{name}: {value}" for name, value in rest.items())) if rest else ""
        return self.value(rest)


def headline(call: ToolCall) -> str:
    """Return the argument of a call that says most, on one line and not escaped."""
    args = call.args
    value = next((args[name] for name in _MAIN if isinstance(args.get(name), str)), UNSET)
    if value is UNSET:
        value = next((each for each in args.values() if isinstance(each, str)), call.unparsed)
    told = short(str(value), 160, end=LINE_END)
    offset, limit = args.get("offset"), args.get("limit")
    if call.name == "read" and (isinstance(offset, int) or isinstance(limit, int)):
        first = offset if isinstance(offset, int) else 1
        told += f":{first}" + (f"–{first + limit - 1}" if isinstance(limit, int) else "")
    return told


def _replacements(args: dict[str, Any]) -> list[tuple[str, str]] | None:
    """Return pairs of old and new text, from a list of edits or from a single one; None if it is neither."""
    edits = args.get("edits", [])
    if isinstance(edits, list) and ("oldText" in args or "newText" in args):
        edits = [*edits, args]
    if not isinstance(edits, list) or not all(isinstance(edit, dict) for edit in edits):
        return None
    pairs = [(edit.get("oldText"), edit.get("newText")) for edit in edits]
    told = [(old, new) for old, new in pairs if isinstance(old, str) and isinstance(new, str)]
    return told if told and len(told) == len(pairs) else None


def _remark(text: str) -> str:
    return f'<p class="remark">{escape(text)}</p>'


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    return True


def _json(value: Any) -> str:
    try:
        try:
            return msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode()
        except (UnicodeError, TypeError):  # Half a character, or a key that is no text.
            return json.dumps(value, indent=2, default=str, skipkeys=True)
    except RecursionError:
        return "(nested too deeply to be shown)"
