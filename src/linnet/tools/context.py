"""What a tool is given besides its arguments."""

import os
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Literal, TypeAlias

from linnet.core.cancel import Cancel
from linnet.errors import ToolFailed
from linnet.processes.shell import Shell

if TYPE_CHECKING:
    from linnet.core.questions import Question, Reply
    from linnet.processes.process import Processes
    from linnet.processes.sandbox.bounds import Bounds

Wording: TypeAlias = Literal["zot", "pi"]


class ToolContext:
    """`progress` takes new output while the tool runs. `processes` starts children and sees that none is left.

    `ask` puts a question to whoever drives the agent, and waits; None is no answer.

    `bash_timeout`: seconds for a command whose caller says nothing about that; None is as long as it takes.

    `wording`: clients show results, and some look into them, so they are told in the words of the agent that a client
    was written for.

    `bounds` say where tools may read and write; None is everywhere. `may_find` says of an absolute path whether a
    search may show it.
    """

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
        self.cwd = os.fspath(cwd)
        self.wording = wording
        self.cancel = cancel
        self.progress = progress
        self.processes = processes
        self.bash_timeout = bash_timeout
        self.bounds = bounds
        self.shell = shell or Shell()
        self.may_find: Callable[[str], bool] | None = None
        self._ask = ask
        self._begun = False
        self._beginning = Lock()

    def begin(self) -> None:
        """Called by whoever hands the work to somebody else: from here on it may have been done, whatever comes of it.

        Raises Cancelled if there was an abort before; then it must not be begun.
        """
        with self._beginning:  # Whoever asks after an abort hears what is so, and stays so.
            self.cancel.check()
            self._begun = True

    @property
    def has_begun(self) -> bool:
        with self._beginning:
            return self._begun

    def ended(self) -> None:
        """It was done."""
        self._begun = True

    def finding(self, may_find: Callable[[str], bool]) -> "ToolContext":
        """Return a copy for one call of a search, which leaves out the rest."""
        from copy import copy

        found = copy(self)
        found.may_find = may_find
        return found

    def confirm(self, title: str, message: str = "") -> bool:
        """Ask whoever drives the agent, and wait. No answer is no. Raises Cancelled."""
        from linnet.core.questions import Confirm, Confirmed

        reply = self._ask(Confirm(title, message))
        return isinstance(reply, Confirmed) and reply.yes

    def select(self, title: str, options: tuple[str, ...]) -> str | None:
        """Ask for one of these, and wait. None if nobody chose. Raises Cancelled."""
        from linnet.core.questions import Chosen, Select

        reply = self._ask(Select(title, options))
        return reply.text if isinstance(reply, Chosen) else None

    def input(self, title: str, placeholder: str = "") -> str | None:
        """Ask for a line of text, and wait. None if nobody answered. Raises Cancelled."""
        from linnet.core.questions import Chosen, EnterText

        reply = self._ask(EnterText(title, placeholder))
        return reply.text if isinstance(reply, Chosen) else None

    def resolve(self, path: str, *, writing: bool = False) -> str:
        """Relative paths start in the working folder; `~` is the user's home. Raises ToolFailed if it is out of bounds.

        What is opened there must be checked once more, with `bounds`: meanwhile it may be something else.
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
