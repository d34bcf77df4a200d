"""What a call is about to do, for somebody who is asked whether it may. Nothing is changed here."""

from msgspec import MsgspecError, json

from linnet.core.messages import ToolCall
from linnet.errors import ToolFailed
from linnet.tools.context import ToolContext
from linnet.tools.truncate import keep_head


def preview(call: ToolCall, context: ToolContext) -> str:
    """The command, the diff or the arguments, at most as long as a tool's result may be. Never raises."""
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
        shown = json.format(json.encode(call.args), indent=2).decode("utf-8", "replace") if call.args else call.unparsed
    kept = keep_head(shown)
    return f"{kept.text}\n[{kept.cut_lines} more lines]" if kept.cut_bytes else kept.text


def _edited(call: ToolCall, context: ToolContext) -> str:
    from linnet.tools.diff import diff
    from linnet.tools.edit import edit
    from linnet.tools.replace import Source, locate

    args = edit.parse(call.args)
    with open(context.resolve(args.path), "rb") as file:
        source = Source(file.read().decode("utf-8", "surrogateescape"))
    changes = locate(source.text, [(each.old_text, each.new_text) for each in args.edits], args.path)
    return f"{args.path}\n{diff(source.text, changes)}".encode("utf-8", "replace").decode()


def _written(call: ToolCall, context: ToolContext) -> str:
    """A new file is shown as it will be, an existing one as what changes."""
    from linnet.tools.diff import diff
    from linnet.tools.replace import Change
    from linnet.tools.write import write

    args = write.parse(call.args)
    try:
        with open(context.resolve(args.path), "rb") as file:
            old = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return f"{args.path} (new)\n{args.content}"
    return f"{args.path}\n{diff(old, [Change(0, len(old), args.content)])}"
