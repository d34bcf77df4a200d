"""Any commands, at any moment, in any order, in the protocol of today; and what must be true of its frames.

Above all: one `agent_settled` for each prompt that was accepted, after the last thing that follows from it, and never
before a retry, a compaction or a message that waits.
"""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from linnet.testing.agent import Frame
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import marked, wait_until
from tests.pi.test_interleavings import CHATTER, PATIENCE, Conversation, Ledger, end_input, run_conversations
from tests.suite.times import times


class TodaysLedger(Ledger):
    """What the order of today's frames implies."""

    def __init__(self) -> None:
        super().__init__()
        self.will_retry = False
        self.taken: set[int] = set()  # Commands whose message was shown before they were answered.

    def see(self, frame: Frame) -> None:
        if self.will_retry and frame["type"] not in ("response", "queue_update", "bash_execution_update"):
            told = ("auto_retry_start", "compaction_start", "entry_appended")
            assert frame["type"] in told, "a retry was announced, and something else came"
            self.will_retry = False
        super().see(frame)

    def see_agent_end(self, frame: Frame) -> None:
        super().see_agent_end(frame)
        self.will_retry = frame["willRetry"]

    def see_agent_settled(self, frame: Frame) -> None:
        assert self.unsettled, "once for each prompt, and for nothing else"
        assert not self.in_run, "a run goes on"
        assert not self.in_compaction, "a compaction goes on"
        assert not self.retry, "a retry is to come"
        assert frame["aborted"] or not self.queued, "what waits is said first"
        self.unsettled = False

    def see_message_start(self, frame: Frame) -> None:
        super().see_message_start(frame)
        if self.message == "assistant" and "errorMessage" not in frame["message"]:
            assert frame["message"]["stopReason"] == "pending"

    def see_auto_retry_start(self, frame: Frame) -> None:
        assert not self.in_run
        assert frame["attempt"] == self.retry + 1
        self.retry += 1

    def see_auto_retry_end(self, frame: Frame) -> None:
        assert frame["success"] is ("finalError" not in frame)
        assert frame["success"] is self.in_turn, "a try that went well is told before its turn ends"
        assert frame["attempt"] == self.retry > 0
        self.retry = 0

    def see_compaction_start(self, frame: Frame) -> None:
        assert not self.in_turn
        assert not self.in_compaction
        self.in_compaction = self.may_be_cut = True

    def see_compaction_end(self, frame: Frame) -> None:
        assert self.in_compaction
        self.in_compaction = False

    def see_entry_appended(self, frame: Frame) -> None:
        assert frame["entry"]["type"] in ("context_edit", "custom", "usage")

    def see_thinking_level_changed(self, frame: Frame) -> None:
        assert frame["level"]

    def see_bash_execution_update(self, frame: Frame) -> None:
        assert frame["id"] not in self.answers, "its output is told before it is answered"

    def see_summarization_retry_scheduled(self, frame: Frame) -> None:
        assert self.in_compaction

    see_summarization_retry_attempt_start = see_summarization_retry_scheduled
    see_summarization_retry_finished = see_summarization_retry_scheduled

    def see_queue_update(self, frame: Frame) -> None:
        self.queued = [*frame["steering"], *frame["followUp"]]
        for text in set(self.queued) - set(self.waiting):
            self.see_taken(text)

    def see_message_end(self, frame: Frame) -> None:
        message = frame["message"]
        if message["role"] == "user" and message["content"][0]["text"] not in self.waiting:
            self.see_taken(message["content"][0]["text"])
        super().see_message_end(frame)

    def see_taken(self, text: str) -> None:
        """A message may be shown before the command that brought it is answered."""
        asked = [command["id"] for command in self.unanswered(*CHATTER) if command["message"] == text]
        assert asked, "nobody said that, or it was dropped, or it was said before"
        self.waiting.append(text)
        self.taken |= set(asked)

    def see_success(self, command: Frame, data: Any) -> None:
        match command["type"]:
            case "prompt" | "steer" | "follow_up":
                assert data["disposition"] in ("started", "queued")
                if command["id"] not in self.taken:
                    self.waiting.append(command["message"])
            case "clear_queue":
                for text in (*data["steering"], *data["followUp"]):
                    self.waiting.remove(text)
            case "bash":
                assert data["cancelled"] is ("exitCode" not in data)
            case "get_tree":
                assert isinstance(data["tree"], list)
            case _:
                super().see_success(command, data)

    def see_moved(self, move: str, *, cancelled: bool) -> None:
        super().see_moved(move, cancelled=cancelled)
        self.waiting = [text for text in self.waiting if text not in self.queued]
        self.queued = []

    def see_state(self, state: Frame) -> None:
        assert state["pendingMessageCount"] == len(self.queued)
        if self.in_run or self.retry:
            assert state["isStreaming"], "it is at work, or about to try again"
        if self.in_compaction:
            assert state["isCompacting"]


class TodaysConversation(Conversation):
    ledgers = TodaysLedger
    flags = ("--dialect", "pi-1")
    calming = ("clear_queue", "abort", "abort_bash", "get_state")

    @rule(hold=st.booleans())
    def clear(self, hold: bool) -> None:
        self.send({"type": "clear_queue"}, hold=hold)

    @rule(name=st.sampled_from(("get_tree", "get_session_stats", "get_available_thinking_levels")), hold=st.booleans())
    def look(self, name: str, hold: bool) -> None:
        self.send({"type": name}, hold=hold)

    def send(self, command: Frame, *, hold: bool) -> None:
        """Without what changes the shape of frames: clients of today know one only."""
        if command["type"] == "set_stream":
            command = {"type": "get_state"}
        super().send(command, hold=hold)

    def end(self) -> None:
        self.send_held()
        if self.ending == "sigterm":
            self.log.append("(SIGTERM)")
            self.agent.signal(signal.SIGTERM)
        else:
            if self.ending != "eof":
                self.calm()
            self.log.append("(stdin ends)")
            end_input(self.agent)
            self.open_gates()
        self.listen(lambda: False)
        assert self.agent.wait(PATIENCE) == (128 + signal.SIGTERM if self.ending == "sigterm" else 0)
        self.ledger.check_balance()
        wait_until(lambda: not marked(self.mark), PATIENCE)
        self.check_stderr()
        self.check_files()

    def left(self) -> bool:
        return bool(self.ledger.queued)


@pytest.mark.drawn
@pytest.mark.timeout(400)
def test_whatever_is_sent_whenever_todays_frames_add_up(server: ModelServer, tmp_path: Path) -> None:
    run_conversations(TodaysConversation, server, tmp_path, times(20))


def test_a_queue_that_an_abort_leaves_is_shown_and_goes_with_the_next_prompt(pi: Any) -> None:
    agent = pi("--dialect", "pi-1", "--no-session")
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.ask("follow_up", message="still here")
    agent.send({"id": "a", "type": "abort"})
    frames = agent.until(lambda frame: frame.get("id") == "a")
    kinds = [frame["type"] for frame in frames]
    assert kinds.count("agent_settled") == 1
    assert kinds.index("agent_settled") < kinds.index("response")
    assert [frame["followUp"] for frame in frames if frame["type"] == "queue_update"][-1:] in ([], [["still here"]])
    agent.send({"type": "prompt", "message": "next"})
    frames = agent.until("agent_settled")
    said = [json.dumps(frame["message"]["content"]) for frame in frames if frame["type"] == "message_end"]
    assert sum("still here" in text for text in said) == 1
