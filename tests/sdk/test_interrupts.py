"""Ctrl-C at any point of any call leaves the runtime usable.

Python looks for signals after calls, at the start of functions and at the end of loops, and nowhere else. So an
interrupt is raised at the first of these places in a call, in the next try at the second, and so on to the last.
"""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import dis, faulthandler, sys
from itertools import count
from linnet import LinnetError, NotRunning, Runtime

LOOKS = {"RESUME", "CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD"}
NAMES = {}

class Interrupt:
    def __init__(self, after):
        self.after = after
        self.last = {}

    def trace(self, frame, event, arg):
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        if event == "call":
            self.last[id(frame)] = "RESUME"  # Not the frame itself: it would keep what it refers to.
        elif event == "opcode":
            names = NAMES.get(frame.f_code) or NAMES.setdefault(frame.f_code, frame.f_code.co_code)
            last, self.last[id(frame)] = self.last[id(frame)], dis.opname[names[frame.f_lasti]]
            if last in LOOKS:
                self.after -= 1
                if self.after < 0:
                    raise KeyboardInterrupt
        return self.trace

def iterate(runtime):
    for event in runtime.prompt("hello"):
        pass

def leave(runtime):
    with runtime.prompt("hello") as run:
        next(run)

def steer(runtime):
    try:
        runtime.steer("now")
    except NotRunning:
        pass

CALLS = {
    "run": lambda runtime: runtime.run("hello"),
    "iterate": iterate,
    "leave": leave,
    "compact": lambda runtime: runtime.compact(),
    "steer": steer,
    "abort": lambda runtime: runtime.abort(),
    "bash": lambda runtime: runtime.bash("true"),
    "state": lambda runtime: runtime.state(),
    "new": lambda runtime: runtime.sessions.new(),
}
faulthandler.dump_traceback_later(100, exit=True)
sys.unraisablehook = lambda told: None  # An interrupt in a finalizer is told there, and goes no further.
call = CALLS[sys.argv[1]]
with Runtime(provider="scripted", script=sys.argv[2]) as runtime:
    for after in count():
        interrupted = False
        sys.settrace(Interrupt(after).trace)
        try:
            call(runtime)
        except KeyboardInterrupt:
            interrupted = True
        except LinnetError as error:
            assert sys.argv[1] == "compact", error
        sys.settrace(None)
        assert runtime.run("hello").text == "Hello.", after
        runtime.clear()
        if not interrupted:
            break
print(after)
"""


@pytest.mark.parametrize("call", ["run", "iterate", "leave", "compact", "steer", "abort", "bash", "state", "new"])
def test_an_interrupt_at_any_point_of_a_call_leaves_the_runtime_usable(call: str, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"loop": true, "turns": [[{"text": "Hello."}]]}')
    program = [sys.executable, "-c", PROGRAM, call, str(script)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 10  # So many points there were.
