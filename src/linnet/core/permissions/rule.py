"""What a rule about tool calls is. Every start imports this, so it imports next to nothing."""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from linnet.core.messages import ToolCall

Verdict: TypeAlias = Literal["allow", "ask", "deny"]
Mode: TypeAlias = Literal["auto", "ask", "read-only", "deny"]

SEARCHING = frozenset(("grep", "find", "ls"))  # Without a path, in the working folder.
READING = SEARCHING | {"read"}
WRITING = frozenset(("write", "edit"))
OWN = ("read", "write", "edit", "bash", "grep", "find", "ls", "skill")
"""The names of linnet's own tools, those included that a session may not have."""

SUBJECTS = {"bash": "command", **dict.fromkeys((*READING, *WRITING), "path")}
"""Of the tools that a rule may have a pattern for: the argument that it is held against."""


class Rule(Struct, frozen=True):
    """`tool` is a tool's name, in which `*` stands for any characters. Empty, `pattern` fits every call.

    For bash it is words of a command, or with `whole` all of it; `*` stands for any characters. For tools that take a
    path it is a glob of paths.
    """

    verdict: Verdict
    tool: str
    pattern: str = ""
    whole: bool = False

    def __str__(self) -> str:
        """Return the rule in the spelling that makes it again."""
        return f"{self.verdict} {self.tool}" + (f"({self.pattern})" if self.whole else f":{self.pattern}") * bool(
            self.pattern
        )


def subject(call: "ToolCall") -> str:
    """Return the command or path that the call is about; empty if it has none."""
    value: Any = call.args.get(SUBJECTS.get(call.name, ""), "")
    return value if isinstance(value, str) else ""
