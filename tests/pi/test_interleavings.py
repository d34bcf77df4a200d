"""Any commands, at any moment, in any order, to the real program; and what must be true of its frames all the same."""

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from threading import Event as Signal
from time import monotonic
from typing import Any, ClassVar, Literal, TypeAlias

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from linnet.core import commands, models
from linnet.core.cancel import Cancel
from linnet.core.deltas import Delta, PartClosed, ReplyOpened, Stopped, TextDelta
from linnet.core.events import Event, ReplyEnded, RetryEnded, RetryScheduled, RunEnded, Settled, UserSaid
from linnet.errors import ProviderUnavailable
from linnet.providers.base import Provider, Request
from linnet.runtime.config.config import PI, Config
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.settings.settings import resolve
from linnet.testing.agent import Agent, Frame, types
from linnet.testing.listener import Asking, Quiet
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import marked, wait_until
from tests.suite.forked import ForkedAgent
from tests.suite.times import times

Ending: TypeAlias = Literal["eof", "abort, then eof", "sigterm"]

PATIENCE = 60.0  # Seconds: a machine may be busy with other things.
HELD = 0.02  # Seconds that a step lets pass at most, if nothing comes.
CHATTER = ("prompt", "steer", "follow_up")
MODELS = ("claude-sonnet-4-5", "claude-opus-4-5", "claude-3-5-haiku-20241022")
OVERFLOW = "prompt is too long"
OTHER = "other.jsonl"  # A session that can be switched to.
MOVES = ("new_session", "switch_session", "clone", "navigate")
# What to say to the agent, and when to interrupt what comes of it.
MOMENTS = {
    "hello": "message_end",
    '!tool bash {"command":"echo x"}': "tool_execution_start",
    '!tools [["bash",{"command":"echo y"}],["bash",{"command":"true"}],["nosuch",{}]]': "tool_execution_end",
    '!tools [["bash",{"command":"echo up; sleep 61.5"}],["bash",{"command":"true"}]]': "tool_execution_update",
    "!gate": "message_update",
    "!hang": "message_start",
    "!fail 503 1": "auto_retry_start",
    "!fail 529 9": "auto_retry_start",
    "!overflow 1": "auto_compaction_start",
}


class Ledger:
    """What was sent and what came back. Raises AssertionError at the first frame that cannot be.

    Only what the order of the frames implies is held against them: they leave in the order of the changes they tell.
    """

    def __init__(self) -> None:
        self.sent: dict[int, Frame] = {}
        self.answers: dict[int, Frame] = {}
        self.waiting: list[str] = []  # Texts that were accepted, and neither delivered nor dropped.
        self.queued: list[str] = []
        self.delivered: list[str] = []  # In this session.
        self.may_be_cut = False
        self.there: tuple[list[str], bool] = ([], False)  # The same of the other one, when it was left.
        self.is_there = False
        self.told: list[str] = []  # Everything that was delivered, wherever.
        self.overflowed = False
        self.in_run = self.in_turn = self.in_compaction = False
        self.message: str | None = None  # The role of the one that is open.
        self.tools: dict[str, bool] = {}  # Of this turn: whether it has finished.
        self.retry = 0
        self.unsettled = False  # A run was begun, and nothing has said that all is over.
        self.last = ""

    def send(self, command: Frame) -> None:
        self.sent[command["id"]] = command

    def unanswered(self, *names: str) -> list[Frame]:
        open_ = [command for id, command in self.sent.items() if id not in self.answers]
        return [command for command in open_ if not names or command["type"] in names]

    def see(self, frame: Frame) -> None:
        kind = frame["type"]
        getattr(self, f"see_{kind}", self.see_unknown)(frame)
        self.last = kind

    def check_balance(self) -> None:
        assert not self.in_run, "a run did not end"
        assert not self.in_turn, "a turn did not end"
        assert self.message is None, "a message did not end"
        assert not self.retry, "a retry did not end"
        assert not self.in_compaction, "a compaction did not end"
        assert not self.unsettled, "a prompt was not settled"

    def see_unknown(self, frame: Frame) -> None:
        raise AssertionError(f"no frame is called {frame['type']}")

    def see_agent_start(self, frame: Frame) -> None:
        assert not self.in_run, "one run at a time"
        assert not self.in_compaction
        self.in_run = self.unsettled = True
        self.overflowed = False

    def see_agent_end(self, frame: Frame) -> None:
        assert self.in_run
        assert not self.in_turn
        assert frame["messages"], "a run consists of messages"
        self.in_run = False
        self.overflowed = OVERFLOW in frame["messages"][-1].get("errorMessage", "")

    def see_agent_settled(self, frame: Frame) -> None:
        assert self.unsettled, "once for each prompt, and for nothing else"
        to_come = self.in_run or self.in_compaction or self.retry
        assert not to_come, "something was still to come"
        assert not self.queued, "what waits is said first"
        self.unsettled = False

    def see_turn_start(self, frame: Frame) -> None:
        assert self.in_run
        assert not self.in_turn
        self.in_turn = True
        self.tools = {}

    def see_turn_end(self, frame: Frame) -> None:
        assert self.in_turn
        assert self.message is None
        calls = [block["id"] for block in frame["message"]["content"] if block["type"] == "toolCall"]
        assert [result["toolCallId"] for result in frame["toolResults"]] == calls, "a call was left unanswered"
        assert self.tools == dict.fromkeys(calls, True)
        self.in_turn = False

    def see_message_start(self, frame: Frame) -> None:
        assert self.in_turn
        assert self.message is None
        self.message = frame["message"]["role"]

    def see_message_update(self, frame: Frame) -> None:
        assert self.message == "assistant"

    def see_message_end(self, frame: Frame) -> None:
        message = frame["message"]
        assert self.message == message["role"]
        self.message = None
        if message["role"] == "user":
            text = message["content"][0]["text"]
            assert text in self.waiting, "nobody said that, or it was dropped, or it was said before"
            self.waiting.remove(text)
            self.delivered.append(text)
            self.told.append(text)
        elif message["role"] == "toolResult":
            assert self.tools[message["toolCallId"]]

    def see_tool_execution_start(self, frame: Frame) -> None:
        assert self.in_turn
        assert self.message is None
        assert frame["toolCallId"] not in self.tools
        self.tools[frame["toolCallId"]] = False

    def see_tool_execution_update(self, frame: Frame) -> None:
        assert self.tools[frame["toolCallId"]] is False

    def see_tool_execution_end(self, frame: Frame) -> None:
        assert self.tools[frame["toolCallId"]] is False
        self.tools[frame["toolCallId"]] = True

    def see_auto_retry_start(self, frame: Frame) -> None:
        last = self.last in ("agent_end", "auto_retry_end")  # The end of one that had succeeded before.
        assert last, "a retry follows the run that failed in the same breath"
        assert frame["attempt"] == self.retry + 1
        self.retry += 1

    def see_auto_retry_end(self, frame: Frame) -> None:
        assert not self.in_run
        assert frame["attempt"] == self.retry > 0
        assert frame["success"] is ("finalError" not in frame)
        self.retry = 0

    def see_auto_compaction_start(self, frame: Frame) -> None:
        assert not self.in_run
        assert not self.in_compaction
        self.in_compaction = self.may_be_cut = True

    def see_auto_compaction_end(self, frame: Frame) -> None:
        assert self.in_compaction
        self.in_compaction = False

    def see_queue_update(self, frame: Frame) -> None:
        self.queued = [*frame["steering"], *frame["followUp"]]
        assert set(self.queued) <= set(self.waiting)
        for text in frame.get("dropped", ()):
            self.waiting.remove(text)

    def see_response(self, frame: Frame) -> None:
        id = frame["id"]
        assert id in self.sent, "nobody asked"
        assert id not in self.answers, "answered twice"
        command = self.sent[id]
        assert frame["command"] == command["type"]
        assert frame["success"] is ("error" not in frame)
        self.answers[id] = frame
        if frame["success"]:
            self.see_success(command, frame.get("data"))

    def see_success(self, command: Frame, data: Any) -> None:
        match command["type"]:
            case "prompt" | "steer" | "follow_up":
                if not command["message"].startswith("/"):
                    self.waiting.append(command["message"])
            case "new_session" | "switch_session" | "clone" | "navigate" as move:
                self.see_moved(move, cancelled=data["cancelled"])
            case "compact":
                self.may_be_cut = True
            case "get_state":
                self.see_state(data)
            case "get_messages":
                self.see_messages(data["messages"])
            case "bash":
                assert data["cancelled"] is (data["exitCode"] is None)
            case _:
                pass

    def see_moved(self, move: str, *, cancelled: bool) -> None:
        assert not cancelled
        self.see_move(move)

    def see_move(self, move: str) -> None:
        assert not self.in_run, "nobody leaves before the run has ended"
        if self.is_there:
            self.there = (self.delivered, self.may_be_cut)
        match move:
            case "switch_session":
                self.delivered, self.may_be_cut = self.there
            case "clone":
                self.delivered = list(self.delivered)
            case _:
                self.delivered, self.may_be_cut = [], False
        if move != "navigate":
            self.is_there = move == "switch_session"

    def see_session_info_changed(self, frame: Frame) -> None:
        assert frame["name"] == "mine"

    def see_state(self, state: Frame) -> None:
        compacts = bool(self.unanswered("compact"))
        streaming, compacting = state["isStreaming"], state["isCompacting"]
        assert state["pendingMessageCount"] == len(self.queued)
        if self.in_run or (self.retry and not self.overflowed):
            assert streaming, "it is at work, or about to try again"
        elif self.waiting and not self.overflowed:
            assert streaming or compacting or compacts, "somebody was promised to be heard"
        elif not self.waiting and not self.retry:
            assert not streaming, "there is nothing that it could be at"
        if self.in_compaction:
            assert compacting
        elif not compacts:
            assert not compacting

    def see_messages(self, messages: list[Frame]) -> None:
        """Those that were delivered in this session and are still there."""
        listed = [message["content"][0]["text"] for message in messages if message["role"] == "user"]
        cut = self.may_be_cut or bool(self.unanswered("compact"))
        assert self.delivered[len(self.delivered) - len(listed) :] == listed
        assert cut or len(listed) == len(self.delivered)


class Conversation(RuleBasedStateMachine):
    """One process for each example. What is drawn never depends on what came back, which is a matter of timing."""

    server: ClassVar[ModelServer]
    folder: ClassVar[Path]
    numbers: ClassVar["count[int]"] = count()
    flags: ClassVar[tuple[str, ...]] = ()
    ledgers: ClassVar[type[Ledger]] = Ledger

    def __init__(self) -> None:
        super().__init__()
        self.ledger = self.ledgers()
        self.stack = ExitStack()
        self.gates: set[str] = set()
        self.held: list[Frame] = []
        self.checked = 0
        self.log: list[str] = []

    @initialize(
        ending=st.sampled_from(("eof", "abort, then eof", "sigterm")),
        stream=st.sampled_from(("full", "deltas")),
        delay=st.sampled_from(("0.01", "60")),
    )
    def start(self, ending: Ending, stream: str, delay: str) -> None:
        self.number = next(self.numbers)
        self.ending = ending
        folder = self.folder / str(self.number)
        folder.mkdir()
        self.mark = f"TEST_MARK={folder}"
        (folder / OTHER).write_text('{"type":"session","version":3,"id":"other"}\n')
        base = (
            "--mode",
            "rpc",
            "--settled",
            "--provider",
            "anthropic",
            "--base-url",
            self.server.url,
            "--api-key",
            "x",
        )
        delay = delay if ending != "eof" else "0.01"  # Nobody will be there to end the wait.
        flags = ("--retry-delay", delay, "--compact-keep", "1", "--stream", stream, "--session-dir", str(folder))
        env = {"TEST_MARK": str(folder)}
        self.agent = self.stack.enter_context(ForkedAgent(*base, *flags, *self.flags, cwd=folder, env=env))
        self.send({"type": "get_state"}, hold=False)
        self.listen(lambda: not self.ledger.unanswered())  # From here on it knows what to do about a signal.

    @rule(
        kind=st.sampled_from(CHATTER),
        behavior=st.sampled_from((None, "steer", "followUp")),
        directive=st.sampled_from(
            (*MOMENTS, "hello", "!text 20", "!fail 400 1", "!overflow 9", "!drop 2", "!hanghead")
        ),
        hold=st.booleans(),
    )
    def say(self, kind: str, behavior: str | None, directive: str, hold: bool) -> None:
        number = len(self.ledger.sent)
        if directive == "!gate":
            self.gates.add(gate := f"{self.number}-{number}")
            directive = f"!gate {gate}"
        elif directive.startswith("!fail"):
            directive += f" 0.00{self.number}{number:03}"  # The server counts the tries of each line apart.
        elif directive.startswith("!hang") or "61.5" in directive:
            directive = directive if self.ending != "eof" else "hello"  # Nobody will be there to abort it.
        command: Frame = {"type": kind, "message": f"{directive}\n#{number}"}
        if kind == "prompt" and behavior:
            command["streamingBehavior"] = behavior
        self.send(command, hold=hold)

    @rule(
        directive=st.sampled_from(tuple(MOMENTS)),
        then=st.sampled_from(("abort", "abort_retry", "compact", *MOVES, *CHATTER, "get_state", "nothing")),
        ask=st.booleans(),
    )
    def catch(self, directive: str, then: str, ask: bool) -> None:
        """At the moment that is worth interrupting; if it does not come soon, at whatever moment it is."""
        self.say("prompt", "followUp", directive, hold=False)
        self.wait(MOMENTS[directive])
        if then in CHATTER:
            self.say(then, None, "hello", hold=ask)
        elif then in MOVES:
            self.move(then, hold=ask)
        elif then != "nothing":
            self.send({"type": then}, hold=ask)
        if ask:
            self.send({"type": "get_state"}, hold=False)

    @rule(
        command=st.sampled_from(
            (
                {"type": "abort"},
                {"type": "abort"},
                {"type": "abort_bash"},
                {"type": "abort_retry"},
                {"type": "compact"},
                {"type": "get_state"},
                {"type": "get_state"},
                {"type": "get_messages"},
                {"type": "bash", "command": "echo quick"},
                {"type": "bash", "command": "sleep 0.05; echo slow"},
                {"type": "bash", "command": "sleep 61.5 & wait"},
                {"type": "set_session_name", "name": "mine"},
                {"type": "get_entries"},
                {"type": "export_html", "outputPath": "page.html"},
                {"type": "list_sessions"},
                {"type": "nonsense"},
            )
        ),
        hold=st.booleans(),
    )
    def command(self, command: Frame, hold: bool) -> None:
        if self.ending == "eof" and "61.5" in command.get("command", ""):
            command = {"type": "get_state"}
        self.send(command, hold=hold)

    @rule(move=st.sampled_from(MOVES), hold=st.booleans())
    def move(self, move: str, hold: bool) -> None:
        fields: dict[str, Frame] = {"switch_session": {"sessionPath": OTHER}, "navigate": {"entryId": None}}
        self.send({"type": move, **fields.get(move, {})}, hold=hold)

    @rule(
        command=st.one_of(
            st.builds(
                lambda name: {"type": "set_model", "provider": "anthropic", "modelId": name},
                st.sampled_from((*MODELS, "nosuch")),
            ),
            st.builds(
                lambda level: {"type": "set_thinking_level", "level": level}, st.sampled_from(("off", "high", "much"))
            ),
            st.builds(
                lambda queue, mode: {"type": f"set_{queue}_mode", "mode": mode},
                st.sampled_from(("steering", "follow_up")),
                st.sampled_from(("all", "one-at-a-time")),
            ),
            st.builds(lambda on: {"type": "set_auto_retry", "enabled": on}, st.sampled_from((True, True, False))),
            st.builds(lambda on: {"type": "set_auto_compaction", "enabled": on}, st.sampled_from((True, True, False))),
            st.builds(lambda mode: {"type": "set_stream", "mode": mode}, st.sampled_from(("full", "deltas"))),
        ),
        hold=st.booleans(),
    )
    def setting(self, command: Frame, hold: bool) -> None:
        self.send(command, hold=hold)

    @rule()
    def release(self) -> None:
        self.log.append("(the gates are opened)")
        self.open_gates()
        self.hear()

    @rule(kind=st.sampled_from(("agent_start", "message_update", "turn_end", "agent_end", "response")))
    def wait(self, kind: str) -> None:
        """Until such a frame comes, or for a moment."""
        self.send_held()
        before = len(self.agent.seen)
        with suppress(TimeoutError):
            self.listen(lambda: kind in types(self.agent.seen[before:]), HELD)

    def send(self, command: Frame, *, hold: bool) -> None:
        """If held, it goes out in the same write as the next."""
        command = {"id": len(self.ledger.sent), **command}
        self.ledger.send(command)
        self.log.append(f"{'+' if self.held else '>'} {json.dumps(command)}")
        self.held.append(command)
        if not hold:
            self.send_held()
            self.hear()

    def send_held(self) -> None:
        held, self.held = self.held, []
        if held:
            self.agent.send(*held)

    def open_gates(self) -> None:
        for gate in self.gates:
            self.server.release(gate)
        self.gates = set()

    def hear(self) -> None:
        """What has come by now."""
        with suppress(TimeoutError):
            self.listen(lambda: False, 0.0005)

    def listen(self, enough: Callable[[], bool], timeout: float = PATIENCE) -> None:
        """Raises TimeoutError if there has not been enough by then; returns at the end of stdout."""
        while not enough():
            try:
                frame = self.agent.read(timeout)
            finally:
                self.check()
            if frame is None:
                return

    def check(self) -> None:
        for frame in self.agent.seen[self.checked :]:
            self.checked += 1
            self.log.append(f"    < {_short(frame)}")
            try:
                self.ledger.see(frame)
            except AssertionError as error:
                raise AssertionError(self.report(error)) from None

    def report(self, error: object) -> str:
        story = "\n".join(self.log)
        return f"{error or 'see the trace'}\nThe whole story, which ends by {self.ending}:\n{story}"

    def teardown(self) -> None:
        with self.stack:
            try:
                self.end()
            except AssertionError as error:
                told = str(error)
                raise AssertionError(told if "The whole story" in told else self.report(error)) from None
            except TimeoutError as error:
                raise AssertionError(self.report(f"{error}\nIt hangs.")) from None

    def end(self) -> None:
        self.send_held()
        if self.ending == "sigterm":
            self.log.append("(SIGTERM)")
            self.agent.signal(signal.SIGTERM)
        elif self.ending == "eof":
            self.log.append("(stdin ends, and the gates are opened)")
            end_input(self.agent)
            self.open_gates()
        else:
            self.calm()
            self.log.append("(stdin ends)")
            end_input(self.agent)
        self.listen(lambda: False)
        assert self.agent.wait(PATIENCE) == (128 + signal.SIGTERM if self.ending == "sigterm" else 0)
        self.ledger.check_balance()
        self.check_answers()
        wait_until(lambda: not marked(self.mark), PATIENCE)
        self.check_stderr()
        self.check_files()

    def check_stderr(self) -> None:
        assert self.agent.stderr == ""

    def check_files(self) -> None:
        """Every session is whole, and what was said is in one of them."""
        saved: set[str] = set()
        for file in (self.folder / str(self.number)).glob("*.jsonl"):
            header, *entries = [json.loads(line) for line in file.read_text().splitlines()]
            assert header["type"] == "session"
            known = [entry["id"] for entry in entries]
            assert len(set(known)) == len(known)
            before = {None, *known}
            assert all(entry["parentId"] in before for entry in entries)
            said = [entry["message"] for entry in entries if entry["type"] == "message"]
            saved |= {message["content"][0]["text"] for message in said if message["role"] == "user"}
        assert set(self.ledger.told) <= saved

    calming: tuple[str, ...] = ("abort", "abort_bash", "get_state")

    def calm(self) -> None:
        """Abort until there is nothing left to abort. Who is answered later, behind what waits, is not waited for."""
        deadline = monotonic() + PATIENCE
        while monotonic() < deadline:
            for name in self.calming:
                self.send({"type": name}, hold=name != "get_state")
            asked = len(self.ledger.sent) - 1
            self.listen(lambda asked=asked: asked in self.ledger.answers)  # type: ignore[misc]
            state = self.ledger.answers[asked]["data"]
            if not (state["isStreaming"] or state["isCompacting"] or self.ledger.unanswered() or self.left()):
                return
            with suppress(TimeoutError):
                self.listen(lambda: not (self.ledger.unanswered() or self.left()), HELD)
        raise AssertionError("it cannot be brought to rest")

    def left(self) -> bool:
        """Return whether something that was said waits to be said to the agent."""
        return bool(self.ledger.waiting)

    def check_answers(self) -> None:
        """A process that was told to stop need not have read everything; what came before an answer, it has."""
        read = max(self.ledger.answers) if self.ending == "sigterm" else len(self.ledger.sent)
        missing = [command for command in self.ledger.unanswered() if command["id"] <= read]
        assert not missing, f"never answered: {missing}"
        assert not self.ledger.waiting, f"neither said nor dropped: {self.ledger.waiting}"


def end_input(agent: Agent) -> None:
    assert agent.process.stdin
    agent.process.stdin.close()


def _short(frame: Frame) -> str:
    match frame["type"]:
        case "response":
            text = json.dumps({name: frame[name] for name in frame if name not in ("type", "data")})
            data = frame.get("data") or {}
            shown = {name: data[name] for name in data if name.startswith(("is", "pending", "cancelled"))}
            return f"{text} {json.dumps(shown) if shown else ''}"
        case "message_start" | "message_end":
            message = frame["message"]
            shown = message["content"] if message["role"] == "user" else message.get("stopReason", "")
            return f"{frame['type']} {message['role']} {json.dumps(shown)}"
        case "message_update":
            return f"message_update {frame['assistantMessageEvent']['type']}"
        case "agent_end" | "turn_end":
            return str(frame["type"])
        case _:
            return json.dumps(frame)[:200]


def run_conversations(kind: type[Conversation], server: ModelServer, folder: Path, examples: int) -> None:
    class Here(kind):  # type: ignore[valid-type, misc]
        pass

    Here.server, Here.folder = server, folder
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            deadline=None,
            database=None,
            phases=[Phase.generate],  # What a race has broken once, a shorter story may not break again.
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.drawn
@pytest.mark.timeout(400)
def test_whatever_is_sent_whenever_the_frames_add_up(server: ModelServer, tmp_path: Path) -> None:
    run_conversations(Conversation, server, tmp_path, times(20))


NASTY = '''
"""In every hook, one misbehaviour after the other."""
import sys
import threading
import time
from itertools import cycle

from linnet.extensions.python.api import ASKED, TOLD


def throw(ctx):
    raise RuntimeError("boom")


def hang(ctx):
    time.sleep(30)


def print_(ctx):
    print("{", flush=True)
    sys.__stdout__.write("a stray line\\n")


def exit_(ctx):
    sys.exit(7)


def interrupt(ctx):
    raise KeyboardInterrupt


def leave_a_thread(ctx):
    threading.Thread(target=throw_later, daemon=False).start()


def throw_later():
    time.sleep(0.001)
    raise RuntimeError("boom in a thread")


def odd(ctx):
    return {"block": "yes"}


def ask(ctx):
    return ctx.confirm("really?", timeout=0.01) or None


def notify(ctx):
    ctx.notify("here")


KINDS = [throw, print_, hang, exit_, notify, interrupt, leave_a_thread, odd, ask]


def extend(linnet):
    def handler(name, turns):
        def handle(event, ctx):
            kind = next(turns)
            if kind is None:
                return linnet.cancel() if name.startswith("session_before") else None
            return kind(ctx)

        linnet.on(name)(handle)

    for at, name in enumerate(sorted({*ASKED, *TOLD})):
        kinds = [*KINDS, None, None, None, None]
        handler(name, cycle(kinds[at % len(kinds):] + kinds[:at % len(kinds)]))

    @linnet.command("nasty")
    def nasty(args, ctx):
        {kind.__name__: kind for kind in KINDS}[args](ctx)
'''


class NastyLedger(Ledger):
    """Extensions may call a move off, tell that they failed, and show something; nothing else is different."""

    def see_moved(self, move: str, *, cancelled: bool) -> None:
        if not cancelled:
            self.see_move(move)

    def see_hook_error(self, frame: Frame) -> None:
        assert frame["hookPath"].endswith("nasty.py")
        assert frame["error"]

    def see_extension_ui_request(self, frame: Frame) -> None:
        assert frame["method"] in ("notify", "confirm")

    def see_extension_ui_closed(self, frame: Frame) -> None:
        assert frame["reason"] in ("expired", "withdrawn")


class Nasty(Conversation):
    ledgers = NastyLedger

    @rule(kind=st.sampled_from(("throw", "print_", "hang", "exit_", "interrupt", "leave_a_thread", "ask", "notify")))
    def run_command(self, kind: str) -> None:
        if kind == "hang" and self.ending == "eof":
            kind = "throw"  # Nobody will be there to abort it.
        self.send({"type": "prompt", "message": f"/nasty {kind}"}, hold=False)

    @rule(hold=st.booleans())
    def reload(self, hold: bool) -> None:
        self.send({"type": "reload"}, hold=hold)

    def send(self, command: Frame, *, hold: bool) -> None:
        """Without pages, which take too long to be made while a signal ends everything."""
        super().send({"type": "get_state"} if command["type"] == "export_html" else command, hold=hold)

    def check_stderr(self) -> None:
        """What is printed ends up there, and so do the last words of a thread that was left behind."""
        assert "internal error" not in self.agent.stderr


@pytest.mark.drawn
@pytest.mark.timeout(400)
def test_extensions_that_throw_hang_print_and_exit_in_every_hook_break_nothing(
    server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "nasty.py").write_text(NASTY)
    Nasty.flags = ("-e", str(tmp_path / "nasty.py"), "--hook-timeout", "0.03")
    run_conversations(Nasty, server, tmp_path, times(10))


def said(frames: list[Frame]) -> list[str]:
    """The texts of user messages, in the order they were delivered."""
    ends = [frame["message"] for frame in frames if frame["type"] == "message_end"]
    return [message["content"][0]["text"] for message in ends if message["role"] == "user"]


@pytest.mark.parametrize("kind", ["prompt", "steer", "follow_up"])
def test_what_is_said_after_a_new_session_was_asked_for_is_said_in_it(pi: Callable[..., Agent], kind: str) -> None:
    agent = pi()
    for _ in range(5):
        agent.send({"type": "prompt", "message": "!gate never"})
        agent.until("message_update")
        agent.send({"id": "n", "type": "new_session"}, {"id": "s", "type": kind, "message": "in the new one"})
        frames = agent.until(lambda frame: frame.get("id") == "n")
        assert said(frames) == []
        agent.until(lambda frame: said([frame]) == ["in the new one"])
        agent.until("agent_end")
        assert said(agent.seen[-1:]) == []
        users = [message for message in agent.ask("get_messages")["data"]["messages"] if message["role"] == "user"]
        assert [message["content"][0]["text"] for message in users] == ["in the new one"]
    assert all(frame["success"] for frame in agent.seen if frame["type"] == "response")


def test_a_retry_that_ends_in_an_overflow_is_told_to_its_end(pi: Callable[..., Agent]) -> None:
    agent = pi()
    agent.send(
        {"type": "prompt", "message": "!fail 503 1"},
        {"type": "steer", "message": "!overflow 9"},  # Heard when the second try has gone well.
        {"type": "follow_up", "message": "!fail 529 1"},
    )
    assert agent.until("auto_retry_end")[-1] == {"type": "auto_retry_end", "success": True, "attempt": 1}
    agent.until("auto_compaction_end")
    assert agent.until("auto_retry_end")[-1]["success"] is True
    names = [kind for kind in types(agent.seen) if kind.startswith("auto_retry")]
    assert names == ["auto_retry_start", "auto_retry_end"] * 2


def test_any_number_of_new_sessions_may_wait_for_a_run_to_end(pi: Callable[..., Agent]) -> None:
    agent = pi("--no-session")
    agent.send({"type": "prompt", "message": '!tool bash {"command":"echo up; sleep 61.5"}'})
    agent.until("tool_execution_update")
    agent.send(*({"id": number, "type": "new_session"} for number in range(2000)))
    agent.until(lambda frame: frame.get("id") == 1999)
    answers = [frame for frame in agent.seen if frame.get("command") == "new_session"]
    assert [answer["id"] for answer in answers] == list(range(2000))
    assert all(answer["success"] for answer in answers)
    assert agent.ask("get_state")["data"]["isStreaming"] is False
    assert agent.stderr == ""


def test_a_compaction_is_answered_before_the_session_is_at_rest() -> None:
    """For when it is, and stdin has ended, the process does."""
    config = resolve(Config(provider="scripted", save=False), {}, PI)
    for _ in range(20):
        listener = Quiet()
        session = Session(Resources(config), [listener])
        session.submit(commands.Compact(), Asking(refused=listener.story.append))
        session.finish()
        assert listener.story == ["Nothing to compact (session too small)", "at rest"]
        session.close()


class Model(Resources):
    """`speak` is all there is to it."""

    name = "scripted"
    asked = 0

    def provider(self, model: models.Model, cancel: Cancel) -> Provider:
        return self

    def warm(self) -> None:
        pass

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        cancel.check()
        self.asked += 1
        yield [ReplyOpened(), TextDelta("word"), PartClosed()]
        self.speak()
        yield [Stopped("end")]
        self.fall_silent()

    def speak(self) -> None:
        pass

    def fall_silent(self) -> None:
        pass


class Failing(Model):
    def speak(self) -> None:
        if self.asked < 3:
            raise ProviderUnavailable("scripted", "not now")


def test_a_failed_run_and_the_retry_of_it_are_told_in_one_breath() -> None:
    """Whoever is told that it ended, and asks, must not be told that all is over."""
    config = resolve(Config(provider="scripted", retry_delay=0.001, save=False), {}, PI)
    listener = Quiet()
    session = Session(Failing(config), [listener])
    session.submit(commands.Prompt("hello"), Asking())
    session.finish()
    session.close()
    ends = [breath for breath in listener.breaths if RunEnded in breath]
    assert ends == [[RunEnded, RetryScheduled], [RunEnded, RetryScheduled], [RunEnded, RetryEnded, Settled]]


class Impatient(Quiet):
    """Ends the wait for a retry the very moment it hears of it."""

    session: Session

    def __init__(self) -> None:
        super().__init__()
        self.rests = Signal()

    def hear(self, events: Sequence[Event]) -> None:
        super().hear(events)
        if any(isinstance(event, RetryScheduled) for event in events):
            self.session.submit(commands.AbortRetry(), Asking())

    def idle(self) -> None:
        self.rests.set()


def test_the_wait_for_a_retry_can_be_ended_from_the_moment_it_is_announced() -> None:
    config = resolve(Config(provider="scripted", retry_delay=60, save=False), {}, PI)
    listener = Impatient()
    listener.session = session = Session(Failing(config), [listener])
    session.submit(commands.Prompt("hello"), Asking())
    rested = listener.rests.wait(PATIENCE)
    session.close()
    assert rested, "it waits as if nobody had said anything"
    assert listener.breaths[-1] == [RetryEnded, Settled]


class Interrupted(Model):
    """When its first reply is complete, and before anybody knows, the user aborts and says more."""

    session: Session

    def fall_silent(self) -> None:
        if self.asked == 1:
            self.session.submit(commands.Abort(), Asking())
            self.session.submit(commands.Prompt("second", when_busy="follow_up"), Asking())


def test_an_abort_is_not_for_what_was_said_after_it() -> None:
    config = resolve(Config(provider="scripted", save=False), {}, PI)
    listener = Quiet()
    resources = Interrupted(config)
    resources.session = session = Session(resources, [listener])
    session.submit(commands.Prompt("first"), Asking())
    session.finish()
    session.close()
    stops = [event.message.stop for event in listener.heard if isinstance(event, ReplyEnded)]
    assert sum(isinstance(event, UserSaid) for event in listener.heard) == 2
    assert stops[1:] == ["end"]
