"""The write tool: creates a file, or replaces all of one."""

from typing import Annotated

from msgspec import Meta, Struct

from linnet.errors import ToolFailed
from linnet.tools.context import ToolContext
from linnet.tools.edit import put
from linnet.tools.spec import tool
from linnet.tools.text.os_errors import explain


class WriteArgs(Struct):
    path: Annotated[
        str, Meta(min_length=1, description="File to write, absolute or relative to the working directory.")
    ]
    content: Annotated[str, Meta(description="The whole new content of the file.")]


@tool(WriteArgs)
def write(args: WriteArgs, context: ToolContext) -> str:
    """Create a file, or replace all of an existing one. Missing parent directories are created.

    Use it for new files and complete rewrites; to change part of a file, use edit.
    """
    try:
        content = args.content.encode()
    except UnicodeEncodeError as error:
        raise ToolFailed(f"content cannot be written as UTF-8: {error.reason} at character {error.start}.") from None
    try:
        path = context.resolve(args.path, writing=True)
        put(path, content, context)
    except OSError as error:
        raise explain(args.path, error) from None
    return f"Successfully wrote {len(content)} bytes to {args.path}"
