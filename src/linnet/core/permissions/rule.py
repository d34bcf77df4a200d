"""Rules about tool calls: what one consists of. Every start imports this, so it imports next to nothing."""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from linnet.core.setting_names import Mode as Mode

if TYPE_CHECKING:
    from linnet.core.messages import ToolCall

Verdict: TypeAlias = Literal["allow", "ask", "deny"]

SEARCHING = frozenset(("grep", "find", "ls"))  # Where they are given no path, they search the working folder.
READING = SEARCHING | {"read"}
WRITING = frozenset(("write", "edit"))
OWN = ("read", "write", "edit", "bash", "grep", "find", "ls", "skill")
"""The names of linnet's own tools, those included that a session may not have."""

SUBJECTS = {"bash": "command", **dict.fromkeys((*READING, *WRITING), "path")}
"""For each tool that a rule may have a pattern for, the argument that the pattern is held against."""


class Rule(Struct, frozen=True):
    """A verdict about all calls that fit a tool and a pattern."""

    verdict: Verdict
    tool: str
    """A tool's name, in which `*` stands for any characters."""
    pattern: str = ""
    """For bash, words of a command, in which `*` stands for any characters. For tools that take a path, a glob of
    paths. Empty, it fits every call.
    """
    whole: bool = False
    """The pattern is all of a command, not only words of it."""

    def __str__(self) -> str:
        """Return the rule in the spelling that makes it again."""
        return f"{self.verdict} {self.tool}" + (f"({self.pattern})" if self.whole else f":{self.pattern}") * bool(
            self.pattern
        )


def subject(call: "ToolCall") -> str:
    """Return the command or path that the call is about; empty if it has none."""
    value: Any = call.args.get(SUBJECTS.get(call.name, ""), "")
    return value if isinstance(value, str) else ""
