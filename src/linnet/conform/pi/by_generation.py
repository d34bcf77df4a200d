"""What differs between the generations of pi's protocol, for scenes and checks."""

from linnet.conform.check import Dialect, at
from linnet.conform.play import Play
from linnet.conform.seen import Frame, Seen, only

FIRST: frozenset[Dialect] = frozenset(("pi",))
FULL: frozenset[Dialect] = frozenset(("pi", "pi-0.73"))
"""Those whose updates repeat the message so far."""
LATER: frozenset[Dialect] = frozenset(("pi-0.73", "pi-0.87", "pi-1"))
TODAY: frozenset[Dialect] = frozenset(("pi-0.87", "pi-1"))
NEWEST: frozenset[Dialect] = frozenset(("pi-1",))
ALL: tuple[Dialect, ...] = ("pi", "pi-0.73", "pi-0.87", "pi-1")
WORDS = "Hello from the scripted model."
LONG = "A long story. " * 8000
"""More than a compaction keeps by default."""


def compaction(play_or_dialect: Play | Dialect) -> str:
    """Return how events of a compaction begin."""
    dialect = play_or_dialect.dialect if isinstance(play_or_dialect, Play) else play_or_dialect
    return "auto_compaction" if dialect == "pi" else "compaction"


def fork(play: Play) -> tuple[str, str]:
    """Return the commands that list messages to branch from, and branch."""
    return ("get_branch_messages", "branch") if play.dialect == "pi" else ("get_fork_messages", "fork")


def is_over(frame: Frame) -> bool:
    """Return whether a frame is the last of a run."""
    return frame.get("type") == "agent_end"


def said(frames: list[Frame]) -> list[str]:
    """Return what the user said, in the order in which it was delivered."""
    ends = [at(frame, "message") for frame in only(frames, "message_end")]
    return [text_of(message) for message in ends if message.get("role") == "user"]


def text_of(message: Frame) -> str:
    """Return the text of a message."""
    content = at(message, "content")
    if isinstance(content, str):
        return content
    return "".join(str(block.get("text", "")) for block in content)


def reply(frames: list[Frame]) -> Frame:
    """Return the last message of the model's that ended among these frames. Raises Broken."""
    ends = [at(frame, "message") for frame in only(frames, "message_end")]
    found: Frame = at([message for message in ends if message.get("role") == "assistant"], -1)
    return found


def updates(frames: list[Frame]) -> list[Frame]:
    """Return what was new in each update."""
    return [at(frame, "assistantMessageEvent") for frame in only(frames, "message_update")]


def messages(seen: Seen, id: str = "messages", *, system: bool = False) -> list[Frame]:
    """Return the messages that `get_messages` listed, without those of today's that tell the system prompt."""
    found: list[Frame] = at(seen.data(id), "messages")
    return [message for message in found if system or at(message, "role") != "system"]
