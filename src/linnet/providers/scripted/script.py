"""The script of model turns that the scripted provider plays. docs/scripted.md is its manual."""

from typing import Any, Literal

from msgspec import Struct, field

from linnet.core.json.checked import checked, misplaced
from linnet.core.messages import Usage
from linnet.files.reading import required


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing the model does: exactly one of the verbs `text`, `think`, `call`, `pause`, `fail`, `stop`, `usage`."""

    text: str | None = None
    think: str | None = None
    call: str | None = None  # A tool's name; `args` and `id` belong to it.
    pause: float | None = None  # Seconds.
    fail: str | None = None  # The stream breaks here, with this reason; `retryable` belongs to it.
    stop: Literal["end", "tool_use", "length"] | None = None
    usage: Usage | None = None
    args: dict[str, Any] | None = None
    id: str | None = None
    retryable: bool = False
    pace: float = 0  # Seconds between two pieces of a text, a thought or a call's arguments.

    @property
    def verbs(self) -> list[str]:
        return [
            name
            for name in ("text", "think", "call", "pause", "fail", "stop", "usage")
            if getattr(self, name) is not None
        ]


class Script(Struct, frozen=True, forbid_unknown_fields=True):
    """What the model does, for every request."""

    turns: list[list[Step]]
    """Played in order, one for each model call."""
    summary: str = "A scripted summary of what was said."
    """Answers a request to compact, which takes no turn."""
    loop: bool = False
    """Begin again after the last turn."""
    schema: str = field(default="", name="$schema")
    """Where the schema is, for editors."""


LARGEST = 64 << 20  # Bytes.


def parse(text: bytes, source: str) -> Script:
    """Return the script that a text says. Raises ConfigError with the line, the key and what was expected there."""
    script = checked(text, Script, f"the script {source}")
    for number, turn in enumerate(script.turns):
        for place, step in enumerate(turn):
            if len(step.verbs) != 1:
                found = " and ".join(step.verbs) or "none"
                where = ("turns", number, place)
                raise misplaced(text, where, f"a step needs one verb; found {found}", f"the script {source}")
    return script


def load(path: str) -> Script:
    """Return the script in a file. Raises ConfigError."""
    return parse(required(path, LARGEST), path)


def pieces(text: str) -> list[str]:
    """Return the words of a text, as models stream them. Joined, they are the text again."""
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + ([words[-1]] if words[-1] else [])


def built_in() -> Script:
    """Return a script of a small real job for any folder: write a program, run it, find it wanting, mend it, run it."""
    return Script(
        loop=True,
        turns=[
            [
                Step(think="The user wants to see me work. A tiny program will do: write it, run it, look at it."),
                Step(text="I will write a small program and run it."),
                Step(
                    call="write",
                    args={
                        "path": "linnet_demo.py",
                        "content": 'import sys\n\nname = sys.argv[1]\nprint(f"Hello, {name}!")\n',
                    },
                ),
            ],
            [Step(text="Now I run it."), Step(call="bash", args={"command": "python3 linnet_demo.py"})],
            [
                Step(text="It needs a name and fails without one. Let me look at it again and give it a default."),
                Step(call="read", args={"path": "linnet_demo.py"}),
                Step(
                    call="edit",
                    args={
                        "path": "linnet_demo.py",
                        "edits": [
                            {
                                "oldText": "name = sys.argv[1]",
                                "newText": 'name = sys.argv[1] if len(sys.argv) > 1 else "world"',
                            }
                        ],
                    },
                ),
            ],
            [
                Step(text="And once more, with and without a name:"),
                Step(call="bash", args={"command": "python3 linnet_demo.py && python3 linnet_demo.py linnet"}),
            ],
            [
                Step(
                    text="Done. I wrote linnet_demo.py, found that it failed without an argument, gave it a default, "
                    "and ran it both ways. Nothing is left to do."
                )
            ],
        ],
    )
