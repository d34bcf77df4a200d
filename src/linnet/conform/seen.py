"""What was said in one run, in both directions, and what a check asks about it."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from linnet.conform.check import Broken, brief

Frame: TypeAlias = dict[str, Any]
Kind: TypeAlias = Literal["in", "out", "request", "note"]
LONGEST_SHOWN: Final = 4000  # Characters of a line in a transcript.
MOST_SHOWN: Final = 400  # Lines of a transcript; of a longer one the beginning and the end.


class Line(Struct, frozen=True):
    """Something that was said."""

    ms: float
    """Milliseconds since the program was started."""
    kind: Kind
    text: str


class Seen:
    """A run, as far as it went."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        """All objects that were printed, in order."""
        self.bad_lines: list[str] = []
        """Lines on stdout that are no JSON objects."""
        self.raw: list[bytes] = []
        """The line of each frame, as it was printed."""
        self.torn = b""
        """What followed the last line end on stdout."""
        self.lines: list[Line] = []
        self.requests: list[Any] = []
        """Bodies of the requests to the model, in order."""
        self.headers: list[dict[str, str]] = []
        """Of the same requests, by names in lower case."""
        self.stuck = ""
        """Why the scene did not come to its end; empty if it did."""
        self.exit_code: int | None = None
        """None if it had to be killed; negative for a signal."""
        self.left_running = False
        """Whether something that it had started was still running when it had exited."""
        self.stderr = ""
        self.facts: dict[str, Any] = {}
        """What the scene noted besides: files, processes."""
        self.spans: dict[str, tuple[int, int]] = {}
        """Which frames came from the moment a command was sent to the moment it was over, by the command's id."""

    def fact(self, name: str) -> Any:
        """Return what the scene noted. Raises Broken if it did not get that far."""
        if name not in self.facts:
            raise Broken(self.stuck or f"the scene ended before {name} could be seen")
        return self.facts[name]

    def responses(self, id: Any) -> list[Frame]:
        """Return the responses with this id, of exactly this type."""
        return [
            frame
            for frame in self.frames
            if frame.get("type") == "response"
            and frame.get("id") == id
            and isinstance(frame.get("id"), bool) == isinstance(id, bool)
        ]

    def response(self, id: Any) -> Frame:
        """Return the only response with this id. Raises Broken."""
        found = self.responses(id)
        if not found:
            raise Broken(f"nothing answered the command {id!r}")
        if len(found) > 1:
            raise Broken(f"the command {id!r} was answered {len(found)} times")
        return found[0]

    def data(self, id: Any) -> Any:
        """Return the data of a command that succeeded. Raises Broken."""
        response = self.response(id)
        if response.get("success") is not True:
            raise Broken(f"it was refused: {brief(response)}")
        if "data" not in response:
            raise Broken(f"the response has no data: {brief(response)}")
        return response["data"]

    def done(self, id: Any) -> Frame:
        """Return the response of a command that succeeded. Raises Broken."""
        response = self.response(id)
        if response.get("success") is not True:
            raise Broken(f"it was refused: {brief(response)}")
        return response

    def refused(self, id: Any) -> str:
        """Return why a command was refused. Raises Broken if it was not."""
        response = self.response(id)
        error = response.get("error")
        if response.get("success") is not False or not isinstance(error, str) or not error:
            raise Broken(f"it was not refused with an `error`: {brief(response)}")
        return error

    def of(self, id: str) -> list[Frame]:
        """Return the events that came from the moment a command was sent until it was over. Raises Broken."""
        if id not in self.spans:
            raise Broken(self.stuck or f"the scene ended before {id!r} was sent")
        first, last = self.spans[id]
        return [frame for frame in self.frames[first:last] if frame.get("type") != "response"]

    def events(self) -> list[Frame]:
        """Return everything but responses."""
        return [frame for frame in self.frames if frame.get("type") != "response"]

    def transcript(self) -> list[Line]:
        """Return what was said, each line cut and the middle left out, for people and programs."""
        lines = [Line(each.ms, each.kind, brief(each.text, LONGEST_SHOWN)) for each in self.lines]
        if len(lines) <= MOST_SHOWN:
            return lines
        half = MOST_SHOWN // 2
        left_out = Line(lines[half].ms, "note", f"{len(lines) - 2 * half} lines are left out")
        return [*lines[:half], left_out, *lines[-half:]]


def only(frames: Sequence[Frame], *types: str) -> list[Frame]:
    """Return the frames of these types."""
    return [frame for frame in frames if frame.get("type") in types]


def one(frames: Sequence[Frame], type: str, wanted: Callable[[Frame], object] = lambda frame: True) -> Frame:
    """Return the only frame of this type that is wanted. Raises Broken."""
    found = [frame for frame in only(frames, type) if wanted(frame)]
    if len(found) != 1:
        raise Broken(f"there were {len(found) or 'no'} `{type}` where one was due; there were {kinds(frames)}")
    return found[0]


def first(frames: Sequence[Frame], type: str) -> Frame:
    """Return the first frame of this type. Raises Broken."""
    found = only(frames, type)
    if not found:
        raise Broken(f"there was no `{type}`; there were {kinds(frames)}")
    return found[0]


def order(frames: Sequence[Frame]) -> list[str]:
    """Return the types of the frames, those that repeat at once only once."""
    names = [str(frame.get("type")) for frame in frames]
    return [name for index, name in enumerate(names) if index == 0 or names[index - 1] != name]


def kinds(frames: Sequence[Frame]) -> str:
    """Return what came, in order, for a sentence."""
    names = order(frames)
    shown = names if len(names) <= 24 else [*names[:12], "…", *names[-11:]]
    return ", ".join(shown) or "none"


def positions(frames: Sequence[Frame], wanted: Callable[[Frame], object]) -> list[int]:
    """Return where the frames are that are wanted."""
    return [index for index, frame in enumerate(frames) if wanted(frame)]
