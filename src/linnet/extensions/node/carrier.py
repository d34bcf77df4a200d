"""The extensions for pi of one session, carried by one host in Node: loaded together, told together, ended together."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Condition
from time import monotonic
from typing import TYPE_CHECKING, Any

from linnet.concurrency.cancel import CancelToken
from linnet.core import events
from linnet.core.extensions import hooks
from linnet.core.extensions.extension_events import Observed, SessionEnded, SessionStarted
from linnet.core.messages import AssistantMessage, Message, Note, ToolResult
from linnet.core.slash import Location
from linnet.errors import Cancelled, Closed, ConfigError, LinnetError
from linnet.extensions.node import frames, questions
from linnet.extensions.node.actions import Actions
from linnet.extensions.node.link import HOST, Link
from linnet.extensions.node.node_extension import NodeExtension
from linnet.extensions.node.node_program import age_problem, node_program
from linnet.extensions.node.pi_words import replaced, spelled, spelled_all
from linnet.extensions.node.told import UPDATES, Telling, tool_ended
from linnet.logs import warn

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.extensions.host import PiHost
    from linnet.extensions.programs.log import ExtensionLog

PI_COMMAND = (sys.executable, "-c", "from linnet.cli.entry_points import pi; pi()")
"""What stands in for pi where an extension starts it."""
_REASONS = {"startup": "startup", "new": "new", "resume": "resume", "branch": "fork", "clone": "fork"}


def host_settings(cwd: str) -> dict[str, Any]:
    """Return what the host is told before it loads anything, whoever it is for."""
    return {
        "cwd": cwd,
        "mode": "print",
        "hasUI": False,
        "flags": {},
        "patience": 10,
        "launcher": os.path.join(HOST, "launch-pi.js"),
        "pi": list(PI_COMMAND),
    }


class Carrier:
    """Invariant: extensions are asked and told in the order of their paths; the host ends when the last is closed."""

    def __init__(
        self,
        places: Sequence[tuple[str, str, Location]],
        host: "PiHost",
        log: "ExtensionLog",
        patience: float,
    ) -> None:
        """`places` are names, files and locations. `patience` are the seconds that a handler has for an event."""
        self.link = Link(log, self._heard)
        self.extensions = [NodeExtension(at, *place, self) for at, place in enumerate(places)]
        self.host = host
        self._patience = patience
        self._node = ""
        self._changed = Condition()
        self._open = {each.index for each in self.extensions}
        self._loaded: set[int] = set()  # Those that are loaded, or have failed.
        self._problem = ""  # Why none of them can be loaded.
        self._begun = self.closed = False
        self._ending = "quit"  # Why it ends, once it does.
        self._file: str | None = None
        self._wanted: frozenset[str] = frozenset()  # Events that any extension wants to be told of.
        self._updates = False
        self._actions = Actions(host, self)
        self._telling: Telling | None = None
        self._ended: list[Message] = []  # Messages whose end extensions have heard of; nobody else has yet.
        self._said: set[str] = set()  # Events that never happen, of which that was said.
        self._started = False  # They have heard that a run starts; nobody else has yet.

    def start(self, environ: Mapping[str, str]) -> None:
        """Start the host, and have it load all of them. Why it cannot be is raised by `wait_ready`."""
        host = self.host
        try:
            self._node = node_program(environ)
            self.link.start(host.processes, self._node, host.cwd)
        except Closed:
            self._fail("the session is closed")
        except (ConfigError, OSError, ValueError) as error:
            self._fail(error.strerror or str(error) if isinstance(error, OSError) else str(error))
        else:
            self.link.send(frames.Start([each.path for each in self.extensions], self._settings()))

    def _settings(self) -> dict[str, Any]:
        host = self.host
        driven = {"mode": host.mode, "hasUI": host.answerable, "flags": dict(host.flags)}
        return {**host_settings(host.cwd), **driven, "patience": self._patience}

    def wait_ready(self, extension: NodeExtension, patience: float, hurry: "Cancel") -> None:
        """Wait until it is loaded. Raises ConfigError if it could not be; TimeoutError."""
        until = monotonic() + patience
        with self._changed:
            while extension.index not in self._loaded and not self._problem and not hurry.is_set:
                left = until - monotonic()
                if left <= 0:
                    raise TimeoutError(f"it was not loaded within {patience:g} s")
                self._changed.wait(min(left, 0.5))
        if problem := extension.failure or self._problem:
            raise ConfigError(problem)

    def question(self, event: hooks.Hook) -> tuple[str, dict[str, Any]]:
        """Return the name and the payload of the event that an extension is asked about."""
        options = self._actions.prompt_options() if isinstance(event, hooks.AgentStarting) else {}
        source = self._actions.source(event.text) if isinstance(event, hooks.InputGiven) else ""
        return questions.question(event, options, source)

    def tell(self, extension: NodeExtension, event: Observed) -> None:
        """Have the host begin, or go on in another session. Returns at once: the session's lock is held."""
        if extension is not self._first:
            return
        match event:
            case SessionStarted(reason, _, file) if not self._begun:
                self._begun = True
                self._telling = Telling(self.host.model, self.host.thinking)
                self._file = file
                told = "reload" if reason == "startup" and self.host.reloaded else _REASONS[reason]
                self.link.send(frames.Begin({"reason": told}))
            case SessionStarted(reason, _, file):
                before, self._file = self._file, file
                told = _REASONS[reason]
                shutdown = {"reason": told, **({"targetSessionFile": file} if file else {})}
                start = {"reason": told, **({"previousSessionFile": before} if before else {})}
                self.link.send(frames.Enter(shutdown, start))
            case SessionEnded(reason):
                self._ending = reason
            case _:
                pass

    def hear(self, extension: NodeExtension, event: events.Event) -> None:
        """Tell all extensions what happened. Returns at once: the session's lock is held."""
        if extension is not self._first or self._telling is None or self.link.how:
            return
        known = {"agent_end"}  # Which was waited for.
        if isinstance(event, events.RunStarted) and self._started:
            self._started = False
            known.add("agent_start")
        if self._was_ended(event):
            known |= {"message_start", "message_end", "tool_execution_end"}
        for name, payload in self._telling.tell(event, self._updates):
            if name in self._wanted and name not in known:
                self.link.send(frames.Tell(name, payload))
        if isinstance(event, events.RunEnded):
            self._ended.clear()

    def _was_ended(self, event: events.Event) -> bool:
        """Return whether extensions have heard of the end of this message before."""
        match event:
            case (
                events.UserSaid(message)
                | events.NoteAdded(message)
                | events.ReplyEnded(message)
                | events.ToolFinished(message)
            ):
                before = len(self._ended)
                self._ended = [each for each in self._ended if each is not message]
                return len(self._ended) < before
            case _:
                return False

    def ended(self, extension: NodeExtension, message: Message, cancel: "Cancel", patience: float) -> Message:
        """Have all extensions hear the end of a message that nobody was told yet, and return it as they want it. Raises
        Cancelled, TimeoutError, LinnetError.
        """
        if extension is not self._first or not self.wants("message_end") or self._telling is None:
            return message
        told = spelled(message)
        if not self._telling.running and not self._started:
            self._started = True
            self._say("agent_start", {})
        if isinstance(message, ToolResult):
            self._say("tool_execution_end", tool_ended(message))
        if not isinstance(message, AssistantMessage) or not self._telling.replying:
            self._say("message_start", {"message": told})
        after = message
        try:
            made = self._decided("message_end", {"message": told}, cancel, patience)
            if "message" in made:
                after = replaced(message, made["message"])
        finally:
            self._ended.append(after)
        return after

    def headers(
        self, extension: NodeExtension, headers: dict[str, str], cancel: "Cancel", patience: float
    ) -> dict[str, str | None]:
        """Return the headers that extensions want a request to have; None for one that it is not to have. Raises
        Cancelled, TimeoutError, LinnetError.
        """
        if extension is not self._first or not self.wants("before_provider_headers"):
            return {**headers}
        made = self._decided("before_provider_headers", {"headers": headers}, cancel, patience).get("headers", headers)
        return {str(name): None if value is None else str(value) for name, value in made.items()}

    def settling(
        self, extension: NodeExtension, messages: Sequence[Message], outcome: str, cancel: "Cancel", patience: float
    ) -> tuple[Sequence[Note], bool]:
        """Return what extensions add before the agent is done with a prompt, and whether it is to go on. Raises
        Cancelled, TimeoutError, LinnetError.
        """
        name = "agent_before_settle"
        if extension is not self._first or not self.wants(name):
            return (), False
        made = self._decided(name, questions.settling(messages, outcome), cancel, patience)
        notes, data, others = questions.proposed(made.get("entries"), time.time_ns() // 1_000_000)
        for kind, each in data:
            self.host.keep(kind, each)
        for kind in others:
            self.host.failed("<boundary>", name, f"linnet adds no entry of the type {kind} here")
        goes_on = made.get("continue") is True
        if goes_on and not notes and isinstance(messages[-1] if messages else None, AssistantMessage | None):
            self.host.failed("<boundary>", name, f"{name} requested continuation without runnable model context")
            goes_on = False
        return notes, goes_on

    def _say(self, name: str, payload: dict[str, Any]) -> None:
        if name in self._wanted:
            self.link.send(frames.Tell(name, payload))

    def _decided(self, name: str, payload: dict[str, Any], cancel: "Cancel", patience: float) -> dict[str, Any]:
        """Return what all extensions together make of an event."""
        made = self.link.ask(lambda number: frames.Await(number, name, payload), cancel, patience)
        return made if isinstance(made, dict) else {}

    def ending(self, extension: NodeExtension, messages: Sequence[Message], cancel: "Cancel", patience: float) -> None:
        """Tell all extensions that a run has ended, and wait until they have heard it: the agent goes on if one of them
        says something to it. Raises Cancelled, TimeoutError, LinnetError.
        """
        if extension is self._first and "agent_end" in self._wanted:
            payload = {"messages": spelled_all(messages)}
            self.link.ask(lambda number: frames.Await(number, "agent_end", payload), cancel, patience)

    def wants(self, name: str) -> bool:
        """Return whether any extension wants to be told of this event."""
        return name in self._wanted and not self.link.how

    def told_of(self, extension: NodeExtension, name: str, payload: dict[str, Any]) -> None:
        """Tell all extensions of something that is no event of the session. Returns at once."""
        if extension is self._first and self.wants(name):
            self.link.send(frames.Tell(name, payload))

    def settle(self, extension: NodeExtension, patience: float) -> None:
        """Wait until all extensions have heard what they were told; the first of them does it for all."""
        if extension is self._first:
            with suppress(LinnetError, TimeoutError, Cancelled):
                self.link.ask(
                    lambda number: frames.Ask(number, extension.index, "settled", {}), CancelToken(), patience
                )

    @property
    def _first(self) -> NodeExtension:
        """Return the one that speaks for all: the first that was loaded."""
        return next((each for each in self.extensions if not each.failure), self.extensions[0])

    def close(self, extension: NodeExtension, patience: float) -> None:
        """Let go of one of them; with the last, tell all that it is over, wait, and end the host. Idempotent."""
        with self._changed:
            self._open.discard(extension.index)
            if self.closed or self._open:
                return
            self.closed = True
        self._actions.close()
        self.link.end(frames.End({"reason": self._ending}), patience if self._begun else 0)

    def _fail(self, problem: str) -> None:
        with self._changed:
            self._problem = self._problem or problem
            self._changed.notify_all()

    def _heard(self, frame: frames.Incoming) -> None:
        """Take a frame of the host's, in the thread that reads."""
        match frame:
            case frames.Call() | frames.Withdraw():
                self._actions.take(frame)
            case frames.Offers(at):
                extension = self.extensions[at]
                problems = extension.take(frame)
                self._wanted = frozenset(event for each in self.extensions for event in each.offers.events)
                self._updates = not UPDATES.isdisjoint(self._wanted)
                self._mark(at)
                for name in sorted(questions.NEVER_TOLD.keys() & set(frame.events) - self._said):
                    self._said.add(name)
                    warn("linnet.extensions", f"{name} never happens here: {questions.NEVER_TOLD[name]}")
                for problem in problems:
                    self.host.failed(extension.path, "register_tool", problem)
                if self._begun:
                    self.host.offers_changed()
            case frames.Failed(at, error):
                self.extensions[at].failure = error
                self._mark(at)
            case frames.Report(at, event, error):
                path = self.extensions[at].path if at >= 0 else "<runtime>"
                self.host.failed(path, event, error)
            case frames.Hello(version):
                if problem := age_problem(version, self._node):
                    self._fail(problem)
            case frames.Ended():
                self._fail(self.link.how or "the host has ended")
            case _:
                pass

    def _mark(self, at: int) -> None:
        with self._changed:
            self._loaded.add(at)
            self._changed.notify_all()
