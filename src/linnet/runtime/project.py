"""The folder of the project that is worked on, and whether what it brings may be used."""

import os

FOLDER = ".linnet"


class Project:
    """Invariant: what comes from `resources` is used only while `trusted`, since it can run code or speak to the model.

    Whoever reads something from there asks `resources` at the moment of reading, for the answer may change.
    """

    def __init__(self, root: str, *, trusted: bool) -> None:
        self.root = root
        self.trusted = trusted

    @property
    def resources(self) -> str | None:
        """The project's own `.linnet` folder; None if there is none, or nobody trusts it."""
        folder = os.path.join(self.root, FOLDER)
        return folder if self.trusted and os.path.isdir(folder) else None
