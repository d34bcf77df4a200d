"""One program and its pipes: what it may do, and every way in which it may misbehave."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread, active_count
from typing import Any

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.extensions import extension_events, hooks
from linnet.core.messages import AssistantMessage, Text, ToolCall
from linnet.core.questions import Chosen, Confirm, Confirmed, Select
from linnet.core.ui_events import Displayed, EditorTextSet, Notified
from linnet.errors import Cancelled, LinnetError
from linnet.extensions.programs import pipe
from linnet.extensions.programs.pipe import MOST_UNREAD
from linnet.extensions.programs.program import Program
from linnet.processes.process import Processes
from linnet.testing.processes import alive, wait_until
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput

from .conftest import GUARD, HELLO, READY, TOOL, Run, Session

LINNET = 'send(type="hello", name="x", capabilities=["linnet"])\n'
CALL = hooks.ToolCalling("toolu_1", "bash", {"command": "echo hi"})


def call(
    program: Program,
    processes: Processes,
    cancel: CancelToken | None = None,
    progress: Any = lambda text: None,
    **args: Any,
) -> ToolOutput:
    context = ToolContext("/", cancel or CancelToken(), progress, processes)
    return program.tools.run(ToolCall("toolu_1", "tt", args), context)


def text(output: ToolOutput) -> str:
    (part,) = output.content
    assert isinstance(part, Text)
    return part.text


def judge(program: Program, cancel: CancelToken | None = None, event: hooks.Hook = CALL) -> hooks.Decision | None:
    return program.ask(event, cancel or CancelToken(), 10)


def answering(program: Program, processes: Processes, cancel: CancelToken) -> tuple[Thread, list[ToolOutput]]:
    """A call that goes on in a thread, and what comes of it."""
    outputs: list[ToolOutput] = []
    thread = Thread(target=lambda: outputs.append(call(program, processes, cancel)))
    thread.start()
    return thread, outputs


def test_a_tool_is_offered_and_called(run: Run, processes: Processes) -> None:
    program = run(
        HELLO
        + TOOL
        + READY
        + 'asked = take("tool_call")\n'
        + 'send(type="tool_result", id=asked["id"], content=[{"type": "text", "text": json.dumps(asked)}])\ntake("x")'
    )
    assert [spec.name for spec in program.tools.specs] == ["tt"]
    output = call(program, processes, city="Berlin")
    assert text(output) == '{"type": "tool_call", "id": "000000000001", "name": "tt", "args": {"city": "Berlin"}}'


def test_tools_that_are_registered_after_ready_are_offered_too(run: Run) -> None:
    program = run(HELLO + READY + TOOL + 'take("x")')
    wait_until(lambda: [spec.name for spec in program.tools.specs] == ["tt"])


def test_a_tool_whose_name_is_taken_is_refused_whenever_it_comes(run: Run, session: Session) -> None:
    program = run(HELLO + 'send(type="register_tool", name="bash", schema={})\n' + TOOL + READY + 'take("x")')
    assert [spec.name for spec in program.tools.specs] == ["tt"]
    assert session.wait_for("register_tool") == 'the tool "bash" is refused: linnet itself has one of that name'


def test_one_that_never_says_ready_is_ready_when_it_is_quiet(run: Run, session: Session, tmp_path: Path) -> None:
    at_once = "".join(
        f"sys.stdout.write(json.dumps({frame}) + chr(10))\n"
        for frame in (
            {"type": "hello", "name": "x"},
            {"type": "register_tool", "name": "tt", "schema": {"type": "object", "properties": {}}},
            {"type": "subscribe", "events": ["session_start"]},
        )
    )
    program = run(at_once + 'sys.stdout.flush()\nnote(take("event")["event"])\ntake("x")', idle=0.25)
    assert [spec.name for spec in program.tools.specs] == ["tt"]
    noted = tmp_path / "guard" / "noted"
    wait_until(lambda: noted.exists() and noted.read_text() == "session_start\n")
    wait_until(lambda: "auto-readying after idle" in (tmp_path / "logs/ext-guard.log").read_text())


def test_a_silent_one_is_waited_for_no_longer_than_patience_and_joins_when_it_speaks(
    run: Run, session: Session, tmp_path: Path
) -> None:
    program = run(f'while not os.path.exists("go"): time.sleep(0.01)\n{HELLO}{TOOL}{READY}take("x")', ready=0.05)
    assert session.wait_for("load") == "has said nothing for 0.05 s; the run goes on without it until it does"
    assert program.tools.specs == ()
    (tmp_path / "guard" / "go").touch()
    wait_until(lambda: [spec.name for spec in program.tools.specs] == ["tt"])
    program.wait_ready(10, CancelToken())
    assert len(session.failures) == 1


def test_a_late_one_that_never_says_ready_joins_when_it_is_quiet(run: Run, session: Session, tmp_path: Path) -> None:
    subscribe = 'send(type="subscribe", events=["session_start"])\nnote(take("event")["event"])'
    run(f'while not os.path.exists("go"): time.sleep(0.01)\n{HELLO}{TOOL}{subscribe}', ready=0.05, idle=0.25)
    assert session.wait_for("load").startswith("has said nothing for 0.05 s")
    (tmp_path / "guard" / "go").touch()
    noted = tmp_path / "guard" / "noted"
    wait_until(lambda: noted.exists() and noted.read_text() == "session_start\n")


def test_one_whose_hello_comes_as_the_patience_ends_is_given_the_time_to_subscribe(run: Run, tmp_path: Path) -> None:
    subscribe = 'send(type="subscribe", events=["session_start"])\n' + READY + 'note(take("event")["event"])'
    wait_for_go = 'while not os.path.exists("go"): time.sleep(0.01)\n'
    program = run(HELLO + TOOL + wait_for_go + subscribe, wait=False, idle=600)
    wait_until(lambda: len(program.tools.specs) == 1)  # It has said hello, and is not done.
    program.wait_ready(0, CancelToken())
    (tmp_path / "guard" / "go").touch()
    noted = tmp_path / "guard" / "noted"
    wait_until(lambda: noted.exists() and noted.read_text() == "session_start\n")


def test_one_that_cannot_be_listened_to_is_ended_and_told_of(
    run: Run, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "owner", lambda tool, path: 1 / 0)
    program = run(HELLO + GUARD + TOOL + READY + 'take("x")')
    why = "could not be listened to (ZeroDivisionError: division by zero)"
    assert session.wait_for("exit") == f"extension {why}; what it offered is gone, and what it guards is denied"
    with pytest.raises(LinnetError, match="could not be listened to"):
        judge(program)


def test_whoever_is_in_a_hurry_does_not_wait_for_a_silent_one_and_may_wait_later(run: Run, tmp_path: Path) -> None:
    program = run(f'while not os.path.exists("go"): time.sleep(0.01)\n{HELLO}{READY}take("x")', wait=False, ready=600)
    hurry = CancelToken()
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(program.wait_ready, 600, hurry)
        hurry.set()
        waiting.result(10)
    (tmp_path / "guard" / "go").touch()
    program.wait_ready(600, CancelToken())


def test_a_call_that_takes_too_long_is_given_up(run: Run, processes: Processes) -> None:
    program = run(HELLO + TOOL + READY + 'take("x")', call=0.05)
    output = call(program, processes)
    assert (text(output), output.is_error) == ("extension guard/tt failed: timeout waiting for guard/tt", True)


def test_a_call_ends_at_once_when_its_program_does(run: Run, processes: Processes, session: Session) -> None:
    program = run(HELLO + TOOL + READY + 'take("tool_call"); print("oh no", file=sys.stderr); sys.exit(3)', call=600)
    assert text(call(program, processes)) == ("extension guard/tt failed: the extension exited with code 3 (oh no)")
    assert session.wait_for("exit").startswith("extension exited with code 3 (oh no); what it offered is gone")
    assert program.tools.specs == ()
    assert text(call(program, processes)) == 'extension guard/tt failed: no extension registered for tool "tt"'


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            'send(type="tool_result", id=id, content=5)',
            "tool_result: Expected `array | null`, got `int` - at `$.content`",
        ),
        (
            'print(json.dumps({"type": "tool_result", "id": id, "content": "x" * (33 << 20)}), flush=True)',
            "a line of 33 MiB, which is too long",
        ),
    ],
)
def test_an_answer_that_cannot_be_read_ends_the_call_at_once_and_the_next_one_works(
    run: Run, processes: Processes, answer: str, why: str
) -> None:
    again = 'id = take("tool_call")["id"]; send(type="tool_result", id=id, content=[{"type": "text", "text": "ok"}])'
    program = run(f'{HELLO}{TOOL}{READY}id = take("tool_call")["id"]\n{answer}\n{again}\ntake("x")', call=600)
    assert text(call(program, processes)) == f"extension guard/tt failed: {why}"
    assert text(call(program, processes)) == "ok"


@pytest.mark.parametrize("knows", [True, False])
def test_an_abort_waits_for_nobody_and_reaches_those_who_know_the_frame(
    run: Run, processes: Processes, session: Session, tmp_path: Path, knows: bool
) -> None:
    program = run(
        (LINNET if knows else HELLO)
        + TOOL
        + READY
        + 'for frame in frames():\n    note(frame["type"])\n    if frame["type"] == "shutdown": break',
        call=600,
    )
    cancel = CancelToken()
    thread, outputs = answering(program, processes, cancel)
    noted = tmp_path / "guard" / "noted"
    wait_until(lambda: noted.exists() and "tool_call" in noted.read_text())
    cancel.set()
    thread.join(10)
    assert text(outputs[0]) == "extension guard/tt failed: context canceled"
    program.close(1)
    assert noted.read_text().split() == ["hello_ack", "tool_call", *(["cancel"] if knows else []), "shutdown"]


def test_an_abort_before_the_call_means_that_it_is_not_made(run: Run, processes: Processes) -> None:
    program = run(HELLO + TOOL + READY + 'take("x")')
    cancel = CancelToken()
    cancel.set()
    with pytest.raises(Cancelled):
        call(program, processes, cancel)


def test_progress_is_told_while_it_runs_and_gives_it_more_time(run: Run, processes: Processes) -> None:
    program = run(
        LINNET
        + TOOL
        + READY
        + 'id = take("tool_call")["id"]\nsend(type="tool_progress", id=id, text="half")\n'
        + 'send(type="tool_result", id=id)\ntake("x")'
    )
    told: list[str] = []
    assert text(call(program, processes, progress=told.append)) == "(extension returned no content)"
    assert told == ["half"]


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ("", None),
        ("block=True, reason='no'", hooks.Block("no")),
        ("block=True", hooks.Block("tool call refused by extension guard")),
        ("modified_args={'command': 'true'}", hooks.Replace({"args": {"command": "true"}})),
        ("modified_args=None", hooks.Replace({"args": {}})),
    ],
)
def test_a_guard_decides(run: Run, answer: str, decision: hooks.Decision | None) -> None:
    reply = (
        f'id = take("event_intercept")["id"]\nsend(type="event_intercept_response", id=id{answer and ", " + answer})\n'
    )
    program = run(HELLO + GUARD + READY + reply + 'take("x")')
    assert list(program.asked) == ["tool_call"]
    assert judge(program) == decision


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ('take("x")', "timeout waiting for guard/tool_call"),
        ('take("event_intercept"); send(type="event_intercept_response", id="zzz"); take("x")', "timeout waiting"),
        ('take("event_intercept"); sys.exit(0)', "the extension exited with code 0"),
        (
            'send(type="event_intercept_response", id=take("event_intercept")["id"], block="yes"); take("x")',
            "event_intercept_response: Expected `bool | null`, got `str` - at `$.block`",
        ),
        (
            'send(type="event_intercept_response", id=take("event_intercept")["id"], modified_args="x"); take("x")',
            "its modified_args are no JSON object",
        ),
    ],
)
def test_a_guard_that_fails_says_so_and_so_denies(run: Run, code: str, why: str) -> None:
    patience = {"judge": 0.1} if "timeout" in why else {}
    program = run(HELLO + GUARD + READY + code, **patience)
    with pytest.raises(LinnetError, match=why.replace("$", r"\$").replace("|", r"\|")):
        judge(program)


def test_a_guard_that_died_earlier_goes_on_denying(run: Run, session: Session) -> None:
    program = run(HELLO + GUARD + READY + "time.sleep(0)")
    session.wait_for("exit")
    assert list(program.asked) == ["tool_call"]
    with pytest.raises(LinnetError, match="exited with code 0"):
        judge(program)


def test_an_abort_does_not_wait_for_a_guard(run: Run, tmp_path: Path) -> None:
    program = run(HELLO + GUARD + READY + 'take("event_intercept"); note("asked"); take("x")', judge=600)
    cancel = CancelToken()
    with ThreadPoolExecutor() as threads:
        judging = threads.submit(judge, program, cancel)
        wait_until((tmp_path / "guard" / "noted").exists)
        cancel.set()
        assert isinstance(judging.exception(10), Cancelled)


def test_one_that_does_not_read_blocks_neither_the_run_nor_an_abort_and_is_stopped_in_the_end(
    run: Run, session: Session
) -> None:
    program = run(
        HELLO + GUARD + 'send(type="subscribe", events=["assistant_message"])\n' + READY + "time.sleep(600)", judge=0.1
    )
    large = hooks.ToolCalling("toolu_1", "write", {"content": "x" * (1 << 20)})
    with pytest.raises(LinnetError, match="timeout"):
        judge(program, event=large)
    reply = extension_events.MessageEnded(AssistantMessage((Text("x" * (1 << 20)),), 0, "p", "m"))
    for _ in range(MOST_UNREAD >> 20):
        program.tell(reply)
    assert "was stopped, for it does not read its input" in session.wait_for("exit")


def test_one_that_closes_its_input_is_ended(run: Run, session: Session) -> None:
    program = run(HELLO + GUARD + READY + "os.close(0)\nnote('closed')\ntime.sleep(600)")
    wait_until((Path(program.path) / "noted").exists)
    with pytest.raises(LinnetError, match="was ended by SIGKILL"):
        judge(program)


def test_one_that_is_about_to_end_may_say_how(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipe, "DYING", 60.0)  # So that a busy machine changes nothing.
    program = run(HELLO + GUARD + READY + "os.close(0)\nnote('closed')\ntime.sleep(0.2)\nsys.exit(4)")
    wait_until((Path(program.path) / "noted").exists)
    with pytest.raises(LinnetError, match="exited with code 4"):
        judge(program)


def test_one_that_closes_its_output_is_ended(run: Run, session: Session) -> None:
    run(HELLO + READY + "os.close(1)\ntime.sleep(600)")
    assert session.wait_for("exit").startswith("extension closed its output")


def test_events_come_in_order(run: Run, tmp_path: Path) -> None:
    events = '["session_start", "turn_start", "turn_end", "tool_call", "assistant_message", "nosuch"]'
    program = run(
        f"{HELLO}send(type='subscribe', events={events}, intercept=['turn_start'])\n{READY}"
        "for frame in frames():\n"
        "    note(frame.get('event', frame['type']))\n"
        "    if frame['type'] == 'event_intercept': send(type='event_intercept_response', id=frame['id'])\n"
        "    if frame['type'] == 'shutdown': break"
    )
    called = AssistantMessage(
        (Text("Running."), ToolCall("a", "x", {}), ToolCall("b", "x", {})), 0, "p", "m", stop="tool_use"
    )
    for step in range(1, 20):
        program.tell(extension_events.TurnStarted(step))
        assert judge(program, event=hooks.TurnStarting(step)) is None
        program.tell(extension_events.MessageEnded(called))
    program.tell(extension_events.SessionEnded())
    program.close(1)
    turn = ["turn_start", "turn_start", "assistant_message", "tool_call", "tool_call", "turn_end"]
    noted = (tmp_path / "guard" / "noted").read_text().split()
    assert noted == ["hello_ack", "session_start", *(turn * 19), "shutdown"]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("sys.exit(4)", "extension exited with code 4 before hello"),
        ("print('hi there', flush=True); time.sleep(600)", "parse hello: malformed json"),
        (READY + "time.sleep(600)", 'first frame must be hello (got "ready")'),
    ],
)
def test_one_that_is_rejected_at_the_handshake_is_told_of_and_killed(
    run: Run, session: Session, tmp_path: Path, code: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    program = run("note(str(os.getpid()))\n" + code)
    assert session.wait_for("load").startswith(why)
    assert caplog.messages[0].startswith(f"extension load: {program.path}: {why}")
    pid = int((tmp_path / "guard" / "noted").read_text())
    wait_until(lambda: not alive(pid))


def test_one_that_cannot_be_started_is_told_of(tmp_path: Path, session: Session, processes: Processes) -> None:
    from linnet.extensions.programs.log import ExtensionLog
    from linnet.extensions.programs.manifest import Manifest

    (tmp_path / "plain").write_text("no program")
    for argv, why in (
        (("nosuch-program-anywhere",), "No such file"),
        ((str(tmp_path / "plain"),), "Permission denied"),
    ):
        program = Program(Manifest("x", str(tmp_path), argv), "path", session, ExtensionLog(str(tmp_path / "log")))
        program.start(processes)
        program.wait_ready(10, CancelToken())
        event, error = session.failures[-1]
        assert (event, error.startswith(f"spawn: {argv[0]}: {why}")) == ("load", True)


def test_what_it_started_dies_with_it(run: Run, session: Session, tmp_path: Path) -> None:
    run(
        "import subprocess\n"
        'note(str(subprocess.Popen(["sleep", "600"], start_new_session=True).pid))\n' + HELLO + READY + "sys.exit(0)"
    )
    session.wait_for("exit")
    pid = int((tmp_path / "guard" / "noted").read_text())
    wait_until(lambda: not alive(pid))


def test_one_that_does_not_go_is_killed_when_its_time_is_over(run: Run, tmp_path: Path) -> None:
    program = run(
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nnote(str(os.getpid()))\n"
        + HELLO
        + READY
        + "time.sleep(600)",
        end=0.05,
    )
    program.close(1)
    program.close(1)
    assert not alive(int((tmp_path / "guard" / "noted").read_text()))


def test_no_thread_is_left_behind(run: Run) -> None:
    before = active_count()
    program = run(HELLO + READY + 'take("shutdown")', end=5)
    program.close(5)
    wait_until(lambda: active_count() <= before)


def test_bad_frames_are_visible_and_do_no_harm(run: Run, session: Session, processes: Processes) -> None:
    garbage = 'print("{not json\\n\\nhello world\\n[1]\\nnull\\n\\"s\\"", flush=True); send(type="nosuch", id="1")\n'
    program = run(
        HELLO + TOOL + READY + 'id = take("tool_call")["id"]\n' + garbage + 'send(type="tool_result", id=id)\ntake("x")'
    )
    assert text(call(program, processes)) == "(extension returned no content)"
    assert [event for event, _ in session.failures] == ["frame"] * 5 + ["nosuch"]
    assert session.failures[-1][1] == 'unknown frame type "nosuch"'


def test_the_token_is_not_in_its_environment(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZOTCORE_RPC_TOKEN", "s3cret")
    run('note(str("ZOTCORE_RPC_TOKEN" in os.environ))\n' + HELLO + READY + 'take("x")')
    assert (tmp_path / "guard" / "noted").read_text() == "False\n"


def test_notices_come_through_even_before_it_is_ready(run: Run, session: Session) -> None:
    levels = ["info", "success", "warn", "error", None]
    run(HELLO + f'for level in {levels}: send(type="notify", level=level, message=str(level))\n' + READY + 'take("x")')
    assert session.shown == [
        Notified("guard", "info", "info"),
        Notified("guard", "success", "success"),
        Notified("guard", "warn", "warning"),
        Notified("guard", "error", "error"),
        Notified("guard", "None", "info"),
    ]


def test_commands_are_run(run: Run, session: Session) -> None:
    program = run(
        HELLO
        + 'send(type="register_command", name="/hi", description="say hi")\n'
        + READY
        + "for frame in frames():\n"
        + '    if frame["type"] != "command_invoked": continue\n'
        + '    action, _, words = frame["args"].partition(" ")\n'
        + '    answer = json.loads(words) if action == "raw" else {"action": action, action: words}\n'
        + '    send(type="command_response", id=frame["id"], **answer)\n'
    )
    assert [(command.name, command.description) for command in program.commands] == [("hi", "say hi")]
    for arguments in ("prompt do it", "insert a text", "display  hello", "noop"):
        program.run_command("hi", arguments, CancelToken())
    assert session.said == [("prompt", "do it")]
    assert session.shown == [EditorTextSet("guard", "a text"), Displayed("guard", " hello")]
    with pytest.raises(LinnetError, match="no luck"):
        program.run_command("hi", 'raw {"error": "no luck"}', CancelToken())


def test_the_user_is_asked_and_the_time_for_that_does_not_count(
    run: Run, session: Session, processes: Processes
) -> None:
    program = run(
        LINNET
        + TOOL
        + READY
        + 'id = take("tool_call")["id"]\n'
        + 'send(type="ask", id="q1", method="confirm", title="Sure?", message="Really?")\n'
        + 'first = take("answer")\n'
        + 'send(type="ask", id="q2", method="select", title="Which?", options=["a", "b"])\n'
        + 'said = json.dumps([first, take("answer")])\n'
        + 'send(type="tool_result", id=id, content=[{"type": "text", "text": said}])\ntake("x")',
        call=0.3,
    )
    thread, outputs = answering(program, processes, CancelToken())
    wait_until(lambda: len(session.questions) == 1)
    thread.join(0.8)  # Longer than a call may take.
    session.replies.put(Confirmed(True))
    wait_until(lambda: len(session.questions) == 2)
    session.replies.put(Chosen("b"))
    thread.join(10)
    assert session.questions == [Confirm("Sure?", "Really?"), Select("Which?", ("a", "b"))]
    assert text(outputs[0]) == (
        '[{"type": "answer", "id": "q1", "confirmed": true}, {"type": "answer", "id": "q2", "value": "b"}]'
    )


def test_an_abort_withdraws_its_questions(run: Run, session: Session, processes: Processes) -> None:
    program = run(
        LINNET + TOOL + READY + 'take("tool_call"); send(type="ask", id="q", method="input", title="Name?"); take("x")',
        call=600,
    )
    cancel = CancelToken()
    thread, outputs = answering(program, processes, cancel)
    wait_until(lambda: len(session.questions) == 1)
    cancel.set()
    thread.join(10)
    assert text(outputs[0]) == "extension guard/tt failed: context canceled"
    wait_until(lambda: session.withdrawn == 1)


def test_its_stderr_is_in_its_log_which_stays_small(run: Run, session: Session, tmp_path: Path) -> None:
    run(
        HELLO
        + READY
        + 'for _ in range(40): sys.stderr.write("x" * (1 << 16))\nsys.stderr.write("\\nlast words\\n")\nsys.exit(1)'
    )
    assert session.wait_for("exit").startswith("extension exited with code 1 (last words)")
    folder = tmp_path / "logs"
    wait_until(lambda: "last words" in (folder / "ext-guard.log").read_text())
    assert sorted(os.listdir(folder)) == ["ext-guard.log", "ext-guard.log.old"]
    assert sum(file.stat().st_size for file in folder.iterdir()) < 3 << 20


def test_what_a_tool_returned_may_be_replaced_by_those_who_know_linnet(run: Run) -> None:
    program = run(
        LINNET
        + 'send(type="subscribe", intercept=["tool_result", "input"])\n'
        + READY
        + 'asked = take("event_intercept")\n'
        + 'content = [{"type": "text", "text": asked["content"][0]["text"].upper()}]\n'
        + 'send(type="event_intercept_response", id=asked["id"], content=content)\n'
        + 'asked = take("event_intercept")\n'
        + 'send(type="event_intercept_response", id=asked["id"], replace_text=asked["text"] + "!")\n'
        + 'take("x")'
    )
    assert sorted(program.asked) == ["input", "tool_result"]
    returned = hooks.ToolReturning("toolu_1", "bash", {}, (Text("quiet"),))
    changed = judge(program, event=returned)
    assert changed == hooks.Replace({"content": (Text("QUIET"),), "is_error": False})
    assert judge(program, event=hooks.InputGiven("hello")) == hooks.Replace({"text": "hello!"})


def test_a_frame_with_half_a_character_is_written_all_the_same(run: Run) -> None:
    program = run(
        HELLO + GUARD + READY + 'asked = take("event_intercept")\n'
        'size = str(len(asked["tool_args"]["command"]))\n'
        'send(type="event_intercept_response", id=asked["id"], block=True, reason=size)\n'
        'take("x")'
    )
    assert judge(program, event=hooks.ToolCalling("a", "bash", {"command": "\ud800x"})) == hooks.Block("2")
