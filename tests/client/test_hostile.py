"""Agents that die, babble, say nothing, never end a line or will not go: no hang, no crash, a clear error."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linnet.client import AgentGone, BadAnswer, BadLine, PiClient, Refused, TimedOut, UnknownEvent, ZotClient, zot
from linnet.testing.processes import alive, wait_until

Fake = Callable[[str], list[str]]
SOON = 20.0  # Nothing waits that long: it is there so that a defect fails instead of hanging.


def test_an_agent_that_dies_fails_every_call_with_its_code_and_its_last_words(fake: Fake) -> None:
    command = fake("""
asked = [hear() for _ in range(3)]
say("text_delta", delta="half a sen")
os.write(2, b"something terrible\\n")
os._exit(7)
""")
    with ZotClient(command) as agent:
        failures: list[AgentGone] = []

        def ping() -> None:
            try:
                agent.ping(timeout=SOON)
            except AgentGone as gone:
                failures.append(gone)

        threads = [Thread(target=ping) for _ in range(2)]
        for thread in threads:
            thread.start()
        listening = agent.events()
        run = agent.prompt("hi")
        for thread in threads:
            thread.join()
        for gone in failures:
            assert (gone.exit_code, gone.stderr_tail) == (7, "something terrible\n")
            assert str(gone) == "the agent has ended (exit code 7); its last words were:\nsomething terrible"
        assert len(failures) == 2
        assert listening.next(timeout=SOON) == run.next(timeout=SOON) == zot.TextDelta("half a sen")
        for taking in (listening.next, run.next, run.accepted, agent.ping, agent.wait_idle):
            with pytest.raises(AgentGone) as raised:
                taking(timeout=SOON)
            assert str(raised.value) == str(failures[0])
        with pytest.raises(AgentGone):
            agent.prompt("again")
        with pytest.raises(AgentGone):
            agent.tell("abort")
        with pytest.raises(AgentGone):
            next(agent.events())
        assert (agent.close(), agent.exit_code) == (7, 7)


def test_an_agent_killed_in_mid_frame_leaves_what_it_said_and_the_torn_rest(fake: Fake) -> None:
    command = fake("""
answer(hear())
say("text_delta", delta="whole")
os.write(1, b'{"type":"text_delta","delta":"to')
os.kill(os.getpid(), 9)
""")
    with ZotClient(command) as agent:
        run = agent.prompt("hi")
        events = [run.next(timeout=SOON), run.next(timeout=SOON)]
        with pytest.raises(AgentGone) as gone:
            run.next(timeout=SOON)
    assert gone.value.exit_code == -signal.SIGKILL
    assert "(signal 9)" in str(gone.value)
    assert events[0] == zot.TextDelta("whole")
    assert isinstance(events[1], BadLine)
    assert events[1].line == b'{"type":"text_delta","delta":"to'


def test_a_frame_of_100_megabytes_in_pieces_arrives_whole(fake: Fake) -> None:
    command = fake("""
answer(hear())
sys.stdout.write('{"type":"text_delta","delta":"' + "\u2028x" * 25_000_000 + '"}\\n{"type":"done"}\\n')
sys.stdout.flush()
hear()
""")
    with ZotClient(command, env={"PYTHONUTF8": "1"}) as agent:
        delta, done = agent.prompt("hi")
        assert isinstance(delta, zot.TextDelta)
        assert delta.delta == "\u2028x" * 25_000_000
        assert isinstance(done, zot.Done)


def test_a_line_that_never_ends_is_an_error_and_the_end_of_the_agent(fake: Fake) -> None:
    command = fake("""
hear()
while True:
    os.write(1, b"x" * 65536)
""")
    with ZotClient(command, longest_line=1 << 20) as agent:
        with pytest.raises(AgentGone, match="it printed a line of more than 1048576 bytes"):
            agent.ping(timeout=SOON)
        wait_until(lambda: not alive(agent.pid))


def test_what_is_no_frame_is_told_and_nothing_stops(fake: Fake) -> None:
    command = fake("""
asked = hear()
os.write(1, b"Warning: on stdout\\n\\n\\xff\\xfe\\n" + b"[" * 100_000 + b"\\n")
os.write(2, b"and this on stderr\\n")
say("text_delta", delta={"not": "text"})
say("weather", sky="clear")
answer(asked)
say("done")
hear()
""")
    with ZotClient(command) as agent:
        listening = agent.events()
        agent.prompt("hi").wait()
    kinds = [type(event) for event in listening]
    assert kinds == [BadLine, BadLine, BadLine, UnknownEvent, UnknownEvent, zot.Done]
    assert agent.stderr == "and this on stderr\n"


@pytest.mark.parametrize("client", [ZotClient, PiClient])
def test_any_bytes_at_all_are_survived(client: type[ZotClient] | type[PiClient]) -> None:
    frames = [b'{"type":"done"}', b'{"type":"agent_end"}', b'{"type":"response","success":true}', b"\n", b"{", b"\x00"]

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.sampled_from(frames) | st.binary(max_size=30)).map(b"".join), st.sampled_from([0, 3, -9]))
    def survived(noise: bytes, end: int) -> None:
        how = f"os._exit({end})" if end >= 0 else "os.kill(os.getpid(), 9)"
        program = f"import os, sys; sys.stdin.readline(); os.write(1, {noise!r}); os.write(2, b'bye'); {how}"
        with client([sys.executable, "-S", "-c", program]) as agent:
            listening = agent.events()
            with suppress(AgentGone, Refused, BadAnswer):
                agent.get_state(timeout=SOON)
            with pytest.raises(AgentGone) as gone:
                for _ in listening:
                    pass
        assert (gone.value.exit_code, gone.value.stderr_tail) == (end, "bye")

    survived()


def test_an_agent_that_does_not_read_holds_nobody_up(fake: Fake) -> None:
    command = fake("time.sleep(3600)")
    with ZotClient(command, patience=0.05) as agent:
        with pytest.raises(TimedOut):
            list(agent.prompt("x" * 1_000_000, timeout=0.1))
        with pytest.raises(TimedOut):
            agent.ping(timeout=0.05)
    assert agent.exit_code == -signal.SIGTERM


def test_an_agent_that_ends_while_it_is_written_to(fake: Fake) -> None:
    with ZotClient(fake("sys.exit('no key')")) as agent:
        with pytest.raises(AgentGone, match="no key") as gone:
            list(agent.prompt("x" * 1_000_000))
        assert gone.value.exit_code == 1


def test_one_that_closes_its_stdout_and_stays_is_sent_away(fake: Fake) -> None:
    command = fake("hear(); os.close(1); time.sleep(3600)")
    with ZotClient(command) as agent:
        with pytest.raises(AgentGone, match="closed its pipes and did not exit") as gone:
            agent.ping(timeout=SOON)
        assert gone.value.exit_code == -signal.SIGTERM


def test_one_that_will_not_go_is_killed_with_its_children(fake: Fake) -> None:
    command = fake("""
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
answer(hear(), child=child.pid)
while True:
    time.sleep(3600)
""")
    with ZotClient(command, patience=0.01) as agent:
        child = agent.ask("who")["child"]
    assert agent.exit_code == -signal.SIGKILL
    wait_until(lambda: not alive(child))


def test_a_grandchild_that_keeps_the_pipes_does_not_hide_the_death(fake: Fake) -> None:
    command = fake("""
import subprocess
hear()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
say("child", pid=child.pid)
os._exit(3)
""")
    with ZotClient(command) as agent:
        listening = agent.events()
        with pytest.raises(AgentGone) as gone:
            agent.ping(timeout=SOON)
        assert gone.value.exit_code == 3
        told = listening.next(timeout=SOON)
        assert isinstance(told, UnknownEvent)
        os.kill(told.raw["pid"], signal.SIGKILL)


def test_a_command_that_is_not_there_is_an_error_of_the_system() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-agent"):
        ZotClient(["no-such-agent"])


def test_a_start_that_fails_half_way_leaves_no_child(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    def refuse(thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    real = subprocess.Popen

    class Watched(real):  # type: ignore[valid-type, misc]
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)
            started.append(self.pid)

    monkeypatch.setattr(subprocess, "Popen", Watched)
    monkeypatch.setattr(Thread, "start", refuse)
    with pytest.raises(RuntimeError):
        ZotClient(fake("hear()"))
    monkeypatch.undo()
    assert len(started) == 1
    assert not alive(started[0])


def test_a_client_that_nobody_holds_takes_its_agent_along(fake: Fake) -> None:
    agent = ZotClient(fake("answer(hear())\ntime.sleep(3600)"))
    agent.ping()
    pid = agent.pid
    del agent
    gc.collect()
    wait_until(lambda: not alive(pid))


def test_clients_leave_no_files_open_and_no_threads_behind(fake: Fake) -> None:
    def once() -> None:
        with ZotClient(fake("answer(hear())\nsay('done')\nhear()")) as agent:
            agent.prompt("hi").wait()
        with pytest.raises(AgentGone, match="the client is closed"):
            agent.ping()

    once()
    gc.collect()
    files, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(5):
        once()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= files
    assert threading.active_count() <= threads


def test_a_run_keeps_its_agent_alive(fake: Fake) -> None:
    command = fake("answer(hear())\nsay('text_delta', delta='still here')\nsay('done')\nhear()")
    assert ZotClient(command).prompt("hi").text() == "still here"


def test_a_program_that_forgets_to_close_ends_and_leaves_nothing(fake: Fake) -> None:
    agent = fake("answer(hear(), pid=os.getpid())\ntime.sleep(3600)")
    program = f"""
from linnet.client import ZotClient
agent = ZotClient({agent!r})
print(agent.ask("who")["pid"], flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not alive(int(done.stdout))


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """Whoever started the tests may have SIGINT ignored: then no KeyboardInterrupt comes of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_ctrl_c_during_a_call_leaves_the_client_usable(fake: Fake) -> None:
    command = fake("""
slow = hear()
os.kill(os.getppid(), 2)
fast = hear()
answer(slow, slow=True)
answer(fast, fast=True)
hear()
""")
    with ZotClient(command) as agent:
        with pytest.raises(KeyboardInterrupt):
            agent.ask("slow", timeout=SOON)
        assert agent.ask("fast", timeout=SOON) == {"fast": True}


def test_the_time_of_day_may_jump(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    command = fake("""
asked = hear()
say("jump")
hear()
answer(asked)
say("done")
hear()
""")
    with ZotClient(command) as agent:
        listening = agent.events()
        run = agent.prompt("hi", timeout=SOON)
        listening.next(timeout=SOON)
        monkeypatch.setattr(time, "time", lambda: 4e9)
        agent.tell("on")
        assert isinstance(list(run)[-1], zot.Done)


FLOOD = """
asked = hear()
answer(asked)
for number in range(20_000):
    say("text_delta", delta=str(number).ljust(1000))
    if number == 100:
        os.write(2, b"flooding")
say("done")
while True:
    answer(hear())
"""


def test_a_reader_that_dawdles_holds_the_agent_up_and_misses_nothing(fake: Fake) -> None:
    with ZotClient(fake(FLOOD), room=1 << 20) as agent:
        run = agent.prompt("hi")
        wait_until(lambda: agent.stderr == "flooding")
        wait_until(lambda: run._stream.size > 1 << 20)
        assert run._stream.size < 4 << 20
        assert not run._stream.ended
        deltas = [int(event.delta) for event in run if isinstance(event, zot.TextDelta)]
        assert deltas == list(range(20_000))


def test_a_call_is_answered_however_much_was_not_taken(fake: Fake) -> None:
    with ZotClient(fake(FLOOD), room=1000) as agent:
        run, listening = agent.prompt("hi"), agent.events()
        agent.ping(timeout=SOON)
        agent.wait_idle(timeout=SOON)
        assert len(list(run)) == 20_001
        assert len([listening.next() for _ in range(20_000)]) == 20_000


def test_events_that_nobody_wants_any_more_hold_nobody_up(fake: Fake) -> None:
    with ZotClient(fake(FLOOD), room=1000) as agent:
        held, closed = agent.prompt("hi"), agent.events()
        listening = agent.events()
        closed.close()
        del held
        assert len([listening.next(timeout=SOON) for _ in range(20_000)]) == 20_000
        assert list(closed) == []


def test_of_stderr_the_end_is_kept(fake: Fake) -> None:
    command = fake("""
hear()
for number in range(100_000):
    os.write(2, b"%d of many\\n" % number)
sys.exit(4)
""")
    with ZotClient(command) as agent:
        with pytest.raises(AgentGone) as gone:
            agent.ping(timeout=SOON)
        assert agent.stderr.endswith("\n99999 of many\n")
        assert len(agent.stderr) == 256 * 1024
        assert gone.value.stderr_tail.endswith("\n99999 of many\n")


def test_stderr_can_be_seen_as_it_comes(fake: Fake, capfd: pytest.CaptureFixture[str]) -> None:
    with ZotClient(fake("os.write(2, b'look at me')\nanswer(hear())\nhear()"), show_stderr=True) as agent:
        agent.ping(timeout=SOON)
    assert capfd.readouterr().err == "look at me"
    assert agent.stderr == "look at me"
