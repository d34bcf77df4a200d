"""The lists that grep, find and ls return: lines, and a last one that says what was left out and how to get it."""

from typing import Any

from linnet.core.messages import Text
from linnet.tools.spec import ToolOutput
from linnet.tools.text.truncate import MAX_BYTES

_CONTROLS = {code: repr(chr(code))[1:-1] for code in (*range(32), 127)}


class Listing:
    """Whole lines, as many as fit into 50 KiB. Once it is full, what else is added is only counted."""

    def __init__(self) -> None:
        self.details: dict[str, Any] = {}
        """What was noted, under the names that pi has for it."""
        self.count = 0
        """Lines that were added, whether they fit or not."""
        self._lines: list[str] = []
        self._size = 0
        self._notes: list[str] = []

    @property
    def is_full(self) -> bool:
        """Whether a line did not fit."""
        return self._size > MAX_BYTES + 1

    def add(self, line: str) -> None:
        """Count a line, and keep it if it fits."""
        self.count += 1
        if self.is_full:
            return
        self._size += len(line.encode("utf-8", "surrogatepass")) + 1
        if not self.is_full:
            self._lines.append(line)

    def note(self, words: str, name: str = "", value: Any = True) -> None:
        """Have the last line say this, and `details` have this value, if it has a name."""
        self._notes.append(words)
        if name:
            self.details[name] = value

    def note_size(self) -> None:
        """Note that there were more lines than fit, if that is so."""
        if self.is_full:
            size = len("\n".join(self._lines).encode("utf-8", "surrogatepass"))
            cut = {"truncated": True, "truncatedBy": "bytes", "maxBytes": MAX_BYTES}
            self.note(f"{MAX_BYTES / 1024:.1f}KB limit reached", "truncation", cut)
            cut |= {"outputLines": len(self._lines), "outputBytes": size}

    def output(self, instead: str) -> ToolOutput:
        """Return the list as a tool's output; `instead` stands in for it if there is not a single line."""
        text = "\n".join(self._lines) if self.count else instead
        if self._notes:
            text += f"\n\n[{'. '.join(self._notes)}]"
        return ToolOutput((Text(text),), details=self.details or None)


def shown(name: bytes) -> str:
    """Return the name of a file as one line of text, whatever is in it."""
    return name.decode("utf-8", "replace").translate(_CONTROLS)
