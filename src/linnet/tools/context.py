"""What a tool is given besides its arguments: the working folder, the abort, and ways to report and to ask."""

import os
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from linnet.core.cancel import Cancel
from linnet.errors import ToolFailed
from linnet.processes.shell import Shell

if TYPE_CHECKING:
    from linnet.core.questions import Question, Reply
    from linnet.processes.process import Processes
    from linnet.processes.sandbox.bounds import Bounds

Wording: TypeAlias = Literal["zot", "pi", "pi-0.73"]
"""The agent in whose words results are told: clients show them, and some look into them."""


class EditorFiles(Protocol):
    """Files that somebody has open, with what is not saved, also those that were never on disk. All methods but `has`
    raise ToolFailed and Cancelled.
    """

    def has(self, path: str, *, writing: bool) -> bool:
        """Return whether this file is to be read, or written, here."""

    def read(self, path: str) -> str:
        """Return what is in it. Raises FileNotFoundError if it is nowhere."""

    def write(self, path: str, content: str) -> None:
        """Write all of it, and make it if it is not there."""


class ToolContext:
    """What one call is given. The tool uses it in its own thread; `has_begun` may be read in any."""

    def __init__(
        self,
        cwd: str | os.PathLike[str],
        cancel: Cancel,
        progress: Callable[[str], None],
        processes: "Processes",
        wording: Wording = "zot",
        ask: "Callable[[Question], Reply | None]" = lambda question: None,
        bash_timeout: float | None = None,
        bounds: "Bounds | None" = None,
        shell: Shell | None = None,
    ) -> None:
        """`ask` puts a question to whoever drives the agent, and waits; None is no answer."""
        self.cwd = os.fspath(cwd)
        self.wording = wording
        self.cancel = cancel
        self.progress = progress
        """Takes new output while the tool runs."""
        self.processes = processes
        """Starts children, and sees that none is left."""
        self.bash_timeout = bash_timeout
        """Seconds for a command whose caller says nothing about that; None is as long as it takes."""
        self.bounds = bounds
        """Where tools may read and write; None is everywhere."""
        self.shell = shell or Shell()
        self.files: EditorFiles | None = None
        """Has some files otherwise than they are on disk; None if nobody has."""
        self.may_find: Callable[[str], bool] | None = None
        """Returns whether a search may show an absolute path; None is that it may show all."""
        self._ask = ask
        self._begun = False
        self._beginning = Lock()  # For `_begun`, together with the look at `cancel`.

    def begin(self) -> None:
        """Note that the work is about to be handed to somebody else: from here on it may have been done, whatever
        comes of it. Raises Cancelled if there was an abort before; then it must not be begun.
        """
        with self._beginning:  # So that what `has_begun` says after an abort does not change any more.
            self.cancel.check()
            self._begun = True

    @property
    def has_begun(self) -> bool:
        """Whether the work may have been done."""
        with self._beginning:
            return self._begun

    def ended(self) -> None:
        """Note that the work was done."""
        self._begun = True

    def finding(self, may_find: Callable[[str], bool]) -> "ToolContext":
        """Return a copy for a search that may show only what `may_find` returns true for."""
        from copy import copy

        found = copy(self)
        found.may_find = may_find
        return found

    def confirm(self, title: str, message: str = "") -> bool:
        """Ask whoever drives the agent, wait, and return the answer; no answer is no. Raises Cancelled."""
        from linnet.core.questions import Confirm, Confirmed

        reply = self._ask(Confirm(title, message))
        return isinstance(reply, Confirmed) and reply.yes

    def select(self, title: str, options: tuple[str, ...]) -> str | None:
        """Ask for one of these options, wait, and return it; None if nobody chose. Raises Cancelled."""
        from linnet.core.questions import Chosen, Select

        reply = self._ask(Select(title, options))
        return reply.text if isinstance(reply, Chosen) else None

    def input(self, title: str, placeholder: str = "") -> str | None:
        """Ask for a line of text, wait, and return it; None if nobody answered. Raises Cancelled."""
        from linnet.core.questions import Chosen, EnterText

        reply = self._ask(EnterText(title, placeholder))
        return reply.text if isinstance(reply, Chosen) else None

    def resolve(self, path: str, *, writing: bool = False) -> str:
        """Return the absolute path: relative ones start in the working folder, and `~` is the user's home.

        Raises ToolFailed if it is out of bounds, or can be no path. What is opened there must be checked once more,
        with `bounds`: meanwhile it may be something else.
        """
        try:
            usable = b"\0" not in os.fsencode(path)
        except UnicodeEncodeError:
            usable = False
        if not usable:
            raise ToolFailed(f"{path!r} cannot be the name of a file.")
        found = os.path.join(self.cwd, os.path.expanduser(path))  # `~name` stays as it is if nobody has that name.
        if self.bounds is not None:
            self.bounds.check(found, writing=writing)
        return found
