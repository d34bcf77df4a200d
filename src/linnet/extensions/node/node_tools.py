"""The toolset of an extension for pi."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from linnet.core.messages import Text, ToolCall, Verbatim
from linnet.core.toolspec import ToolSpec
from linnet.errors import BadInput
from linnet.extensions.node import frames, pi_words
from linnet.extensions.node.link import HostFailed
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput, failed

if TYPE_CHECKING:
    from linnet.extensions.node.node_extension import NodeExtension


class NodeTools:
    """The tools that an extension has registered by now; none when the host is gone."""

    def __init__(self, extension: "NodeExtension") -> None:
        self._extension = extension

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """The tools, in the order in which they were registered."""
        return self._extension.specs

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Have the extension run the call, which may take as long as it likes. Raises Cancelled, and nothing else."""
        if call.unparsed:
            return failed(f"invalid args: not a JSON object: {call.unparsed[:200]}")
        extension = self._extension
        shown = ""

        def progress(partial: Any) -> None:
            nonlocal shown
            text = _text(partial)
            if text == shown:
                return
            context.progress(text[len(shown) :] if text.startswith(shown) else f"\n{text}")
            shown = text

        context.begin()
        try:
            value = extension.link.ask(
                lambda number: frames.RunTool(number, extension.index, call.name, call.id, call.args),
                context.cancel,
                None,
                progress,
            )
            return output(value)
        except (HostFailed, BadInput) as fault:
            context.cancel.check()
            return ToolOutput((Text(str(fault)),), is_error=True, details={})


def output(value: Any) -> ToolOutput:
    """Return what a tool in JavaScript returned. Raises BadInput if it makes no sense."""
    details = value.get("details")
    return ToolOutput(
        pi_words.read_content(value.get("content") or []),
        bool(value.get("isError")),
        Verbatim(details) if isinstance(details, dict) else None,
        ends_run=bool(value.get("terminate")),
    )


def _text(partial: Any) -> str:
    """Return the words of what a tool shows while it runs."""
    blocks = partial.get("content") if isinstance(partial, dict) else None
    texts = (block.get("text") for block in blocks or () if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
