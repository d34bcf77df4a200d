"""Turns what a program answers to a call into output for the model, in zot's words. Pure."""

from collections.abc import Iterable

from linnet.core.images import image
from linnet.core.messages import Text, UserPart
from linnet.errors import BadInput
from linnet.extensions.programs.frames import Block
from linnet.tools.spec import ToolOutput, failed

NO_CONTENT = "(extension returned no content)"


def output(extension: str, tool: str, blocks: Iterable[Block], *, is_error: bool) -> ToolOutput:
    """Return all blocks in order as output, never nothing. An image that cannot be read makes it an error."""
    parts: list[UserPart] = []
    for block in blocks:
        if block.type == "text":
            if block.text:
                parts.append(Text(block.text))
        elif block.type == "image":
            try:
                parts.append(image(block.data or "", block.mime_type or ""))
            except BadInput as error:
                return failed(f"extension {extension}/{tool} returned undecodable image: {error}")
        else:
            parts.append(Text(f'[unknown block type "{block.type or ""}" from extension {extension}]'))
    return ToolOutput(tuple(parts) or (Text(NO_CONTENT),), is_error=is_error)


def failure(extension: str, tool: str, why: str) -> ToolOutput:
    """Return the output of a call that the program failed to answer."""
    return failed(f"extension {extension}/{tool} failed: {why}")
