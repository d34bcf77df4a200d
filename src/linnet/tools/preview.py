"""Shows what a call is about to do to somebody who is asked whether it may. Changes nothing."""

from msgspec import MsgspecError, json

from linnet.core.messages import ToolCall
from linnet.errors import ToolFailed
from linnet.tools.context import ToolContext
from linnet.tools.text.truncate import keep_head


def preview(call: ToolCall, context: ToolContext) -> str:
    """Return the command, the diff or the arguments, at most as long as a tool's result may be."""
    shown = ""
    try:
        if call.name == "bash":
            shown = str(call.args.get("command", ""))
        elif call.name == "edit":
            shown = _edited(call, context)
        elif call.name == "write":
            shown = _written(call, context)
    except (OSError, ToolFailed, MsgspecError, ValueError):
        pass  # It is going to fail; its arguments say as much as can be said.
    if not shown:
        shown = _arguments(call) if call.args else call.unparsed
    kept = keep_head(shown)
    return f"{kept.text}\n[{kept.cut_lines} more lines]" if kept.cut_bytes else kept.text


def _arguments(call: ToolCall) -> str:
    """Return the arguments as JSON, or in another spelling where they have a lone surrogate or are too deep for it."""
    try:
        return json.format(json.encode(call.args), indent=2).decode("utf-8", "replace")
    except UnicodeEncodeError:
        return ascii(call.args)
    except RecursionError:
        return "(arguments that are nested too deeply to be shown)"


def _edited(call: ToolCall, context: ToolContext) -> str:
    """Return the diff that an edit would make. Raises ToolFailed and OSError."""
    from linnet.tools.edit import contents, edit
    from linnet.tools.text.diff import diff
    from linnet.tools.text.replace import SourceText, locate

    args = edit.parse(call.args)
    found = contents(args.path, context.resolve(args.path), context)
    source = SourceText(found.decode("utf-8", "surrogateescape"))
    changes = locate(source.text, [(each.old_text, each.new_text) for each in args.edits], args.path)
    return f"{args.path}\n{diff(source.text, changes)}".encode("utf-8", "replace").decode()


def _written(call: ToolCall, context: ToolContext) -> str:
    """Return a new file as it will be, of an existing one the diff. Raises ToolFailed and OSError."""
    from linnet.tools.edit import contents
    from linnet.tools.text.diff import diff
    from linnet.tools.text.replace import Change
    from linnet.tools.write import write

    args = write.parse(call.args)
    try:
        old = contents(args.path, context.resolve(args.path), context).decode("utf-8", "replace")
    except FileNotFoundError:
        return f"{args.path} (new)\n{args.content}"
    return f"{args.path}\n{diff(old, [Change(0, len(old), args.content)])}"
