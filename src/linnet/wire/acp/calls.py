"""A tool call as an editor shows it: a title, a kind, the places it is about, and what it changes. The same while it
happens and when it is told again later. Pure.
"""

import posixpath
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from linnet.core.messages import Image, Text, ToolCall, ToolResult, UserPart
from linnet.core.questions import Confirm, Question, Select
from linnet.wire.acp.frames import (
    CallContent,
    CallFields,
    Content,
    Diff,
    ImageBlock,
    Kind,
    Location,
    Status,
    Terminal,
    TextBlock,
)

KINDS: dict[str, Kind] = {
    "read": "read",
    "skill": "read",
    "write": "edit",
    "edit": "edit",
    "bash": "execute",
    "grep": "search",
    "find": "search",
    "ls": "search",
}
LONGEST_TITLE = 200
BEFORE = "before"
"""The name, among a result's details, of what was in a file that was written; None if the file is new."""


def call_id(message: str, call: str) -> str:
    """Return the id of a call, which no other call of the session has: vendors may use theirs again."""
    return f"{message}-{call}" if message else call


def begun(id: str, name: str) -> CallFields:
    """Return what is known of a call when its arguments are still to come."""
    return CallFields(tool_call_id=id, title=name, kind=KINDS.get(name, "other"), status="pending")


def question(id: str, question: Question) -> CallFields:
    """Return a question as a call: where there are no forms, an editor asks only about calls."""
    words = question.title if isinstance(question, Confirm | Select) else ""
    more = question.message if isinstance(question, Confirm) else ""
    content: list[CallContent] = [Content(TextBlock(more))] if more else []
    return CallFields(tool_call_id=f"question-{id}", title=_short(words), status="pending", content=content or UNSET)


def known(id: str, call: ToolCall, cwd: str, status: Status | UnsetType = UNSET) -> CallFields:
    """Return what is known of a call when its arguments are."""
    path = _path(call, cwd)
    changed = diffs(call, path)
    return CallFields(
        tool_call_id=id,
        title=title(call),
        kind=KINDS.get(call.name, "other"),
        status=status,
        content=changed if changed else UNSET,
        locations=[Location(path, _line(call))] if path else UNSET,
        raw_input=call.args if call.args or not call.unparsed else call.unparsed,
    )


def ended(id: str, call: ToolCall | None, result: ToolResult, cwd: str, *, embedded: bool = False) -> CallFields:
    """Return what a call came to. `embedded`: its output is shown otherwise already."""
    details = result.details or {}
    path = _path(call, cwd) if call is not None else ""
    content: list[CallContent] = []
    if call is not None and path and not result.is_error:
        content = diffs(call, path, details)
    if not content or call is None or call.name not in ("write", "edit"):
        content = [Content(_block(part)) for part in result.content if not isinstance(part, Text) or part.text]
    # A session file has names as pi spells them.
    line = details.get("first_changed_line", details.get("firstChangedLine"))
    code = details.get("exitCode", details.get("exit_code"))
    said = "\n".join(part.text for part in result.content if isinstance(part, Text))
    return CallFields(
        tool_call_id=id,
        status="failed" if result.is_error else "completed",
        content=UNSET if embedded else content,
        locations=[Location(path, line)] if path and isinstance(line, int) and line > 0 else UNSET,
        raw_output={"output": said, **({"exitCode": code} if isinstance(code, int) else {})},
    )


def printed(id: str, text: str) -> CallFields:
    """Return what a call that goes on has printed by now."""
    return CallFields(tool_call_id=id, content=[Content(TextBlock(text))])


def in_terminal(fields: CallFields, cwd: str) -> CallFields:
    """Return what is told of a new call whose output the client may show in a terminal."""
    return replace(fields, meta={"terminal_info": {"terminal_id": fields.tool_call_id, "cwd": cwd}})


def printed_more(id: str, text: str, *, first: bool) -> CallFields:
    """Return what a call has printed since, for such a terminal."""
    content: list[CallContent] = [Terminal(id)]
    meta = {"terminal_output": {"terminal_id": id, "data": text}}
    return CallFields(tool_call_id=id, content=content if first else UNSET, meta=meta)


def exited(fields: CallFields) -> CallFields:
    """Return what such a call came to."""
    code = fields.raw_output.get("exitCode")
    exit = {"terminal_id": fields.tool_call_id, "exit_code": code, "signal": None}
    return replace(fields, meta={"terminal_exit": exit})


def title(call: ToolCall) -> str:
    """Return one line that says what the call does."""
    said: dict[str, Any] = call.args
    match call.name:
        case "bash":
            words = _text(said, "command")
        case "grep":
            words = f"Search {_text(said, 'pattern')}"
        case "find":
            words = f"Find {_text(said, 'pattern') or _text(said, 'glob')}"
        case "ls":
            words = f"List {_text(said, 'path') or '.'}"
        case "read" | "write" | "edit":
            words = f"{call.name.title()} {_text(said, 'path')}"
        case _:
            words = call.name
    return _short(words) or call.name


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1] + "…"


def diffs(call: ToolCall, path: str, details: dict[str, Any] | None = None) -> list[CallContent]:
    """Return what a call changes, or will change: of an edit its replacements, of a written file all of it. What was
    in a file that is written is known afterwards.
    """
    if call.name == "edit":
        edits = call.args.get("edits")
        pairs = [each for each in edits if isinstance(each, dict)] if isinstance(edits, list) else []
        if "oldText" in call.args:
            pairs.append(call.args)
        return [
            Diff(path, each["newText"], each["oldText"])
            for each in pairs
            if isinstance(each.get("newText"), str) and isinstance(each.get("oldText"), str)
        ]
    if call.name == "write" and details is not None and BEFORE in details:
        content, before = call.args.get("content"), details[BEFORE]
        if isinstance(content, str) and (before is None or isinstance(before, str)):
            return [Diff(path, content, before)]
    return []


def _path(call: ToolCall, cwd: str) -> str:
    """Return the absolute path that a call is about; empty if it is about none."""
    given = call.args.get("path")
    if call.name not in KINDS or not isinstance(given, str) or not given or given.startswith("~"):
        return ""
    return posixpath.normpath(posixpath.join(cwd, given))


def _line(call: ToolCall) -> int | UnsetType:
    line = call.args.get("offset")
    return line if call.name == "read" and isinstance(line, int) and line > 0 else UNSET


def _text(said: dict[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""


def _block(part: UserPart) -> TextBlock | ImageBlock:
    return ImageBlock(part.data, part.mime_type) if isinstance(part, Image) and part.data else TextBlock(_words(part))


def _words(part: UserPart) -> str:
    return part.text if isinstance(part, Text) else f"[image: {part.url}]"
