"""When a script may go on: everything that was asked is answered, and over."""

import json
from typing import Any

import pytest

from linnet.capture.pending import QUIET, Pending
from linnet.capture.record import Capture
from linnet.capture.script import Send, WaitDone, WaitFor, parse
from linnet.errors import ConfigError
from linnet.monitor.states import Compacting, Retrying, Running, Speaking, Thinking
from linnet.monitor.watch import Watch


def line(type: str, **fields: Any) -> bytes:
    return json.dumps({"type": type, **fields}).encode()


def answered(command: str, success: bool = True, **data: Any) -> bytes:
    return line("response", command=command, success=success, **({"data": data} if data else {}))


def pending(*sent: str) -> Pending:
    waiting = Pending()
    for type in sent:
        waiting.said(line(type))
    return waiting


def over_after(waiting: Pending, *lines: bytes) -> list[bool]:
    """After each line, as soon as it has come."""
    said = []
    for each in lines:
        waiting.heard(1.0, each)
        said.append(waiting.over(1.0))
    return said


def test_nothing_asked_is_over() -> None:
    assert Pending().over(0.0)
    assert not pending("ping").over(0.0)


def test_zots_prompts_each_have_an_end() -> None:
    waiting = pending("prompt", "prompt")
    started = answered("prompt", started=True)
    assert over_after(waiting, started, line("done"), started, line("done")) == [False, False, False, True]
    compact = pending("compact")
    assert over_after(compact, answered("compact", started=True), line("compact_done")) == [False, True]


def test_what_is_refused_has_no_end_to_wait_for() -> None:
    assert over_after(pending("prompt"), answered("prompt", success=False)) == [True]


def test_pis_documented_run_is_over_when_nothing_follows_its_end() -> None:
    waiting = pending("prompt")
    lines = [answered("prompt"), line("agent_start"), line("agent_end", messages=[])]
    assert over_after(waiting, *lines) == [False, False, False]
    assert waiting.over(1.0 + QUIET)
    again = [line("auto_retry_start"), line("agent_start"), line("agent_end", messages=[])]
    for each in again[:2]:
        waiting.heard(1.0, each)
        assert not waiting.over(100.0)
    waiting.heard(1.0, again[2])
    assert waiting.over(1.0 + QUIET)


def test_pi_goes_on_after_an_overflow() -> None:
    waiting = pending("prompt")
    overflow = [line("auto_compaction_start"), line("auto_compaction_end", willRetry=True)]
    for each in (answered("prompt"), line("agent_start"), line("agent_end", messages=[]), *overflow):
        waiting.heard(1.0, each)
    assert not waiting.over(100.0)


def test_today_s_pi_says_when_it_is_over() -> None:
    waiting = pending("prompt")
    lines = [answered("prompt", disposition="started"), line("agent_start"), line("agent_end", willRetry=False)]
    assert over_after(waiting, *lines, line("agent_settled")) == [False, False, False, True]
    assert over_after(pending("prompt"), answered("prompt", disposition="handled")) == [True]


def test_what_is_said_to_an_idle_agent_may_start_a_run() -> None:
    lines = [answered("steer", disposition="started"), line("agent_start"), line("agent_end"), line("agent_settled")]
    assert over_after(pending("steer"), *lines) == [False, False, False, True]
    assert over_after(pending("steer"), answered("steer", disposition="queued")) == [True]


def test_a_pause_inside_a_run_that_settles_is_not_its_end() -> None:
    waiting = pending("prompt")
    compacted = [line("compaction_start"), line("compaction_end", willRetry=False)]
    for each in (answered("prompt", disposition="started"), line("agent_start"), line("turn_end"), *compacted):
        waiting.heard(1.0, each)
    assert not waiting.over(100.0)
    for each in (line("agent_end", willRetry=True), line("auto_retry_start"), line("auto_retry_end", success=False)):
        waiting.heard(2.0, each)
        assert not waiting.over(100.0)
    waiting.heard(3.0, line("agent_settled", aborted=True))
    assert waiting.over(3.0)


def test_a_pi_that_tells_of_retries_need_not_tell_that_it_has_settled() -> None:
    """pi 0.78 is such a one."""
    waiting = pending("prompt")
    for each in (answered("prompt"), line("agent_start"), line("agent_end", messages=[], willRetry=False)):
        waiting.heard(1.0, each)
    assert not waiting.over(1.0)
    assert waiting.over(1.0 + QUIET)


def test_at_no_moment_of_any_capture_is_it_over_while_the_agent_works(captures: dict[str, Capture]) -> None:
    """But for runs that pi forgot about: moves to another session that told nobody of the run they ended."""
    over = 0
    for name, capture in captures.items():
        waiting, watch = Pending(), Watch()
        for record in capture.records:
            if record.kind == "in":
                waiting.said(record.line)
                watch.said(record.at, record.line)
            elif record.kind == "out":
                waiting.heard(record.at, record.line)
                watch.heard(record.at, record.line)
            if waiting.over(record.at):
                over += 1
                assert not isinstance(watch.state, Thinking | Speaking | Running | Retrying | Compacting), name
    assert over > 1000


def test_a_script_is_lines_and_waits() -> None:
    text = '# a comment\n{"type":"ping"}\r\n\nwait done\n  wait 2s\nwait 500ms\nnot json\n'
    steps = [Send(b'{"type":"ping"}'), WaitDone(), WaitFor(2.0), WaitFor(0.5), Send(b"not json")]
    assert parse(text, "s") == steps


@pytest.mark.parametrize("wait", ["wait", "wait 2", "wait for it", "wait -1s", "wait done now"])
def test_a_wait_that_makes_no_sense_gets_a_sentence(wait: str) -> None:
    with pytest.raises(ConfigError, match=r"^s, line 2: wait for what\?"):
        parse(f'{{"type":"ping"}}\n{wait}', "s")
