"""`linnet capture` around real agents: what is asked, what came, what it means, and no secret in any of it."""

import base64
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linnet.capture.compare import compare
from linnet.capture.record import Capture, Record, dump, load
from linnet.capture.report import folded, report
from linnet.errors import ConfigError
from linnet.testing.processes import alive, wait_until
from tests.suite import forked

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
ROOT = Path(__file__).parents[2]
LINNET = str(Path(sys.executable).with_name("linnet"))
DOCUMENT = """\
{"command":"prompt","data":{"started":true},"id":"1","success":true,"type":"response"}
{"content":[{"text":"check the current directory","type":"text"}],"time":"2026-06-21","type":"user_message"}
{"step":1,"type":"turn_start"}
{"error":"deepseek: http 401: ...","stop":"error","type":"turn_end"}
{"message":"deepseek: http 401: ...","type":"error"}
{"type":"done"}
"""
KEY = "q7Wk-3fP/tz+9sLm"


class Captured:
    """A run of `linnet capture`: the report, the raw lines, what it printed and how it ended."""

    def __init__(
        self, folder: Path, script: str, *command: str, env: dict[str, str] | None = None, **flags: str
    ) -> None:
        (folder / "script.txt").write_text(script)
        more = [word for name, value in flags.items() for word in (f"--{name}", value)]
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        self.done = forked.run(
            [LINNET, "capture", "--script", "script.txt", "--out", "r.md", "--raw", "raw.jsonl", *more, "--", *command],
            cwd=folder,
            env={"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", **(env or {})},
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.report = (folder / "r.md").read_text() if (folder / "r.md").exists() else ""
        self.raw = (folder / "raw.jsonl").read_text() if (folder / "raw.jsonl").exists() else ""

    @property
    def capture(self) -> Capture:
        return load(self.raw, "raw.jsonl")


@pytest.fixture
def captured(tmp_path: Path) -> Callable[..., Captured]:
    return lambda script, *command, **options: Captured(tmp_path, script, *command, **options)


def printing(*chunks: bytes, then: str = "") -> tuple[str, ...]:
    """A program that prints these chunks, each in a write of its own."""
    return (sys.executable, "-c", f"import os, sys\nfor chunk in {chunks!r}: os.write(1, chunk)\n{then}")


def without_times(text: str) -> str:
    """But for times, ids, and what depends on how long the name of a folder is."""
    text = re.sub(r"\d{4}-\d\d-\d\d(T[\d:.]+Z)?", "DATE", text)
    text = re.sub(r"call_\d+_\d+", "ID", text)
    return re.sub(r'(Took |"input":|"cost_usd":)[\d.e-]+', r"\1N", text)


def block(report: str, title: str) -> str:
    return report.partition(f"## {title}")[2].partition("```jsonl\n")[2].partition("```")[0]


def shown_command(name: str) -> tuple[str, list[str]]:
    """The script and the command of the page that make this report."""
    page = (ROOT / "docs" / "monitor.md").read_text()
    [command] = re.findall(rf"^linnet capture .*--out {name}.*$", page, re.MULTILINE)
    words: list[str] = command.split()
    script = words[words.index("--script") + 1]
    [text] = re.findall(rf"^```text title={script}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return text, words[words.index("--") + 1 :]


@pytest.mark.parametrize("name", ["deepseek-401.md", "deepseek-tools.md"])
def test_the_reports_in_the_docs_are_what_their_commands_make(name: str, captured: Callable[..., Captured]) -> None:
    script, command = shown_command(name)
    made = captured(script, *command)
    assert (made.done.returncode, made.done.stderr) == (0, "")
    kept = (ROOT / "docs" / "captures" / name).read_text()
    assert without_times(made.report) == without_times(kept), "run the command of docs/monitor.md again"


def test_the_document_s_transcript_is_reproduced_word_for_word() -> None:
    kept = (ROOT / "docs" / "captures" / "deepseek-401.md").read_text()
    assert without_times(block(kept, "Raw stdout")) == without_times(DOCUMENT)
    assert block(kept, "Request shape") == '{"id":"1","type":"prompt","message":"check the current directory"}\n'
    assert "6 of 16 mapped types" in kept


def test_the_run_that_the_document_could_not_make_validates_every_type() -> None:
    kept = (ROOT / "docs" / "captures" / "deepseek-tools.md").read_text()
    assert "16 of 16 mapped types" in kept
    assert kept.count("✅") == 16
    assert "❌" not in kept


@pytest.mark.parametrize(
    "flags", [("rpc",), ("--mode", "rpc", "--no-session"), ("--mode", "rpc", "--stream", "deltas")]
)
def test_wait_done_understands_both_protocols(flags: tuple[str, ...], captured: Callable[..., Captured]) -> None:
    script = "".join(f'{{"id":"{n}","type":"prompt","message":"go"}}\nwait done\n' for n in range(3))
    made = captured(script, LINNET, *flags, "--provider", "scripted", "--no-tools", deadline="50")
    assert made.done.returncode == 0, made.done.stderr
    kinds = [record.kind for record in made.capture.records if record.kind != "out"]
    assert kinds == ["in", "in", "in", "end", "exit"]
    ends = [i for i, r in enumerate(made.capture.records) if re.search(rb'"(done|agent_end)"', r.line)]
    sent = [i for i, r in enumerate(made.capture.records) if r.kind == "in"]
    assert [a < b for a, b in zip(ends, sent[1:], strict=False)] == [True, True]
    assert folded(made.capture).prompts == 3


def test_an_agent_that_never_answers_meets_the_deadline_and_so_does_what_it_started(
    captured: Callable[..., Captured],
) -> None:
    made = captured('{"type":"prompt"}\nwait done\n', "sh", "-c", "sleep 600 & echo $! >&2; wait", deadline="2")
    assert made.done.returncode == 1
    sentence = "it was ended after 2 s, the deadline; what was asked was not over"
    assert made.done.stderr == f"linnet: {sentence}\n"
    assert f"Note: {sentence}." in made.report
    assert f"- The capture is not whole: {sentence}." in made.report
    pid = int(made.capture.lines("err")[0])
    wait_until(lambda: not alive(pid))


def test_an_interrupted_capture_reports_what_came(tmp_path: Path) -> None:
    (tmp_path / "script.txt").write_text('{"type":"prompt"}\nwait done\n')
    told = tmp_path / "told"
    command = ["sh", "-c", 'echo \'{"type":"turn_start"}\'; echo $$ > told; sleep 600']
    with forked.Popen(
        [LINNET, "capture", "--script", "script.txt", "--out", "r.md", "--", *command],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    ) as process:
        wait_until(lambda: told.exists() and bool(told.read_text().strip()))
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (1, b"linnet: it was interrupted\n")
    assert "- The capture is not whole: it was interrupted." in (tmp_path / "r.md").read_text()
    assert not alive(int(told.read_text()))


def test_an_agent_that_goes_away_ends_every_wait(captured: Callable[..., Captured]) -> None:
    torn = printing(b'{"type":"turn_start"}\n', b'{"type":"text_del', then="os.kill(os.getpid(), 9)")
    made = captured('{"type":"prompt"}\nwait done\n{"type":"prompt"}\nwait done\n', *torn)
    assert made.capture.code == 137
    assert [(record.line, record.torn) for record in made.capture.records if record.kind == "out"] == [
        (b'{"type":"turn_start"}', False),
        (b'{"type":"text_del', True),
    ]
    assert "Lines that are no such object" in made.report


@pytest.mark.parametrize("piece", [1, 7, 64])
def test_no_secret_is_in_any_file(piece: int, captured: Callable[..., Captured], tmp_path: Path) -> None:
    coded = base64.b64encode(b"user:" + KEY.encode()).decode()
    shape = "sk-ant-api03-0123456789abcdefghij"
    said = f"key {KEY} and {coded} and {shape} and {json.dumps(KEY)}"
    frames: list[dict[str, str]] = [{"type": "tool_progress", "id": "c", "text": said}]
    frames += [{"type": "text_delta", "delta": said[at : at + 3]} for at in range(0, len(said), 3)]
    data = b"".join(json.dumps(frame).encode() + b"\n" for frame in frames)
    chunks = [data[at : at + piece] for at in range(0, 400, piece)]
    code = printing(*chunks, data[sum(map(len, chunks)) :], then=f"sys.stderr.write({said!r})")[2]
    (tmp_path / "agent.py").write_text(code)
    script = json.dumps({"type": "hello", "token": "another-token-1"}) + "\nwait 10ms\n"
    made = captured(script, sys.executable, "agent.py", "--api-key", KEY, env={"SOME_TOKEN": KEY})
    assert made.done.returncode == 0, made.done.stderr
    words = "".join(json.loads(line)["delta"] for line in made.capture.lines("out") if b"text_delta" in line)
    for text in (made.raw, made.report, made.done.stdout, made.done.stderr, words):
        for secret in (KEY, json.dumps(KEY)[1:-1], shape, coded[8:-4], "another-token-1"):
            assert secret not in text
    assert words.count("[REDACTED]") == 4


@pytest.mark.parametrize("megabytes", [10, pytest.param(100, marks=pytest.mark.chaos)])
def test_a_frame_of_many_megabytes_is_captured(megabytes: int, captured: Callable[..., Captured]) -> None:
    code = f'import sys; sys.stdout.write(\'{{"type":"done","x":"\' + "y" * {megabytes}_000_000 + \'"}}\\n\')'
    made = captured("wait 1ms\n", sys.executable, "-c", code)
    assert made.done.returncode == 0, made.done.stderr
    [line] = made.capture.lines("out")
    assert len(line) == megabytes * 1_000_000 + 22
    assert len(made.report) < 5000


@pytest.mark.parametrize("seed", range(3))
def test_bytes_of_any_kind_are_captured_and_reported(seed: int, captured: Callable[..., Captured]) -> None:
    code = f"""
import os, random
chance = random.Random({seed})
pieces = [b'{{"type":"text_delta","delta":"', b'x"}}', b"\\n", b"\\r", b"\\xe2\\x80\\xa8", b"\\0", b"sk-", b'{{"type":']
for _ in range(300):
    os.write(chance.choice((1, 1, 2)), chance.choice([*pieces, chance.randbytes(20)]))
os.kill(os.getpid(), 9)
"""
    made = captured('{"type":"prompt"}\nnot json\nwait done\n', sys.executable, "-c", code)
    assert made.done.returncode == 0, made.done.stderr
    assert made.capture.code == 137
    assert "## Verdict" in made.report


def test_a_pipe_that_somebody_else_holds_open_keeps_nobody_waiting(captured: Callable[..., Captured]) -> None:
    """It is in a session of its own, so that it outlives the agent's group."""
    made = captured("wait 60s\n", "sh", "-c", "setsid sleep 600 & echo $!; printf torn")
    assert made.done.returncode == 0, made.done.stderr
    pid, last = made.capture.lines("out")
    os.kill(int(pid), signal.SIGKILL)
    assert last == b"torn"


def test_stderr_between_and_odd_bytes_are_kept_apart(captured: Callable[..., Captured]) -> None:
    chunks = (b'{"type":"text_delta","delta":"\xe2\x80\xa8"}\n', b"\xff\xfe\0 junk\n", b'{"type":"done"}\n')
    made = captured("wait 1ms\n", *printing(*chunks, then="sys.stderr.write('on stderr')"))
    assert made.capture.lines("out") == [chunk.removesuffix(b"\n") for chunk in chunks]
    assert made.capture.lines("err") == [b"on stderr"]
    assert "2 of 16 mapped types" in made.report
    assert "Wire format not confirmed" in made.report


def test_a_raw_capture_makes_the_same_report_again(captured: Callable[..., Captured], tmp_path: Path) -> None:
    made = captured('{"type":"ping"}\nwait done\n', LINNET, "rpc", "--provider", "scripted")
    again = [LINNET, "capture", "--report", "raw.jsonl"]
    assert forked.run(again, cwd=tmp_path, capture_output=True, text=True).stdout == made.report
    both = [LINNET, "capture", "--compare", "raw.jsonl", "raw.jsonl"]
    table = forked.run(both, cwd=tmp_path, capture_output=True, text=True).stdout
    assert "1 of 1 rows have both" in table
    replayed = forked.run([LINNET, "monitor", "raw.jsonl"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert [line.split()[1].strip(",") for line in replayed.splitlines()] == ["starting", "idle", "gone"]


def frames(*types: str, at: float = 0.0) -> Capture:
    lines = [json.dumps({"type": type}).encode() for type in types]
    return Capture("2026-11-16T00:00:00Z", ["zot", "rpc"], [Record(at, "out", line) for line in lines])


def test_a_report_names_what_is_wrong_and_what_is_unknown() -> None:
    made = report(frames("text_delta", "ext_frob", "compact_done"))
    assert "| `text_delta` | `message_update` | 1 | ❌ without `delta` |" in made
    assert "| `ext_frob` | 1 | counted and shown |" in made
    assert "| `compact_done` | 1 | taken as `agent_end` |" in made
    assert "- Not as documented: `compact_done`, `text_delta`." in made
    assert made.startswith("# zot rpc transcript (2026-11-16)\n")


def test_an_envelope_is_called_one() -> None:
    wrapped = Capture(records=[Record(0.0, "out", b'{"jsonrpc":"2.0","method":"x","type":"done"}')])
    assert "1 of 1 objects have `jsonrpc`, or `method` with `params`: an envelope." in report(wrapped)
    older = Capture(records=[Record(0.0, "out", b'{"method":"x","params":[],"type":"done"}')])
    assert "an envelope." in report(older)


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"question","request_id":"1","method":"select","title":"May it?","options":["yes"]}',
        b'{"type":"extension_ui_request","id":"1","method":"confirm","title":"Sure?"}',
    ],
)
def test_a_question_is_no_envelope(line: bytes) -> None:
    end = b'{"type":"done"}' if b"request_id" in line else b'{"type":"agent_end","messages":[]}'
    made = report(Capture(records=[Record(0.0, "out", line), Record(0.1, "out", end)]))
    assert "- Wire format confirmed: bare event objects, no envelope." in made
    assert "| 1 | taken as `question_start` |" in made


def test_two_agents_are_aligned_by_event() -> None:
    one = frames("turn_start", "assistant_start", "text_delta", "text_delta", "usage", "done")
    other = frames("turn_start", "assistant_start", "text_delta", "ext_notify", "done")
    rows = [line for line in compare(one, other, ("a", "b")).splitlines() if line.startswith("| 0 ") or "|  |" in line]
    assert rows == [
        "| 0 | turn_start | 0 | turn_start |  |",
        "| 0 | assistant_start | 0 | assistant_start |  |",
        "| 0 | text_delta ×2 | 0 | text_delta |  |",
        "| 0 | usage |  |  |  |",
        "|  |  | 0 | ext_notify |  |",
        "| 0 | done | 0 | done |  |",
    ]


def test_every_capture_there_is_has_a_report(captures: dict[str, Capture]) -> None:
    for name, capture in list(captures.items())[::3]:
        made = report(capture)
        assert "## Verdict" in made, name
        assert made.count("```") % 2 == 0, name
        compare(capture, captures["zot/ping"], ("a", "b"))


lines = st.binary(max_size=60).map(lambda data: data.replace(b"\n", b""))


@unhurried
@given(st.lists(st.tuples(st.floats(0, 1e6), st.sampled_from(["in", "out", "err", "note"]), lines, st.booleans())))
def test_any_capture_survives_being_written_and_read(made: list[tuple[float, Any, bytes, bool]]) -> None:
    records = [Record(round(at, 3), *rest) for at, *rest in made]
    before = Capture("2026-11-16T00:00:00Z", ["linnet"], records)
    after = load("".join(dump(before)), "x")
    assert [(r.kind, r.line, r.torn) for r in after.records] == [(r.kind, r.line, r.torn) for r in records]
    assert "## Verdict" in report(after)


def test_what_an_agent_printed_is_a_capture_of_its_own() -> None:
    read = load('{"type":"turn_start"}\nnoise\n{"type":"done"}\n', "x")
    assert read.lines("out") == [b'{"type":"turn_start"}', b"noise", b'{"type":"done"}']
    assert folded(read).garbled == 1


def test_a_capture_that_was_cut_off_is_read_and_says_so() -> None:
    text = "".join(dump(frames("turn_start", "done")))
    assert load(text[:-9], "x").notes == ["the capture ends in the middle of a line"]
    with pytest.raises(ConfigError, match="x, line 2: it is no JSON object"):
        load(text.replace('{"ms"', '{"ms', 1), "x")
    with pytest.raises(ConfigError, match="x is no capture"):
        load("hello\nworld", "x")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "say one of --script FILE, --report FILE or --compare FILE FILE; see linnet capture --help"),
        (["--script", "s"], "which agent? put it at the end: linnet capture --script FILE -- COMMAND…"),
        (["--script", "s", "x"], "linnet capture takes no words but a command after --: 'x'"),
        (["--script", "s", "--", "x"], "s could not be read: No such file or directory"),
        (["--report", "r", "--", "x"], "--report reads a capture and runs nothing: 'x'"),
        (["--compare", "a"], "--compare takes two raw captures: linnet capture --compare FILE FILE"),
        (["--deadline", "soon"], "--deadline must be a number of seconds, not 'soon'"),
    ],
)
def test_a_bad_argument_gets_one_sentence(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    done = forked.run([LINNET, "capture", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert (done.returncode > 0, done.stderr) == (True, f"linnet: {sentence}\n")


def reported(*lines: bytes) -> str:
    return report(Capture(records=[Record(0.0, "out", line) for line in lines]))


def test_a_report_shows_twenty_lines_that_are_no_frames_and_counts_the_rest() -> None:
    frame = b'{"type":"done"}'
    strays = [b"stray %02d" % number for number in range(21)]
    twenty, more = reported(frame, *strays[:20]), reported(frame, *strays)
    assert "stray 19\n" in twenty
    assert "more lines" not in twenty
    assert "stray 19\n… 1 more lines …" in more
    assert "stray 20\n" not in more


def test_a_report_shows_two_hundred_bytes_of_a_line_that_is_no_frame() -> None:
    shown = reported(b'{"type":"done"}', b"x" * 200, b"y" * 201)
    assert f"{'x' * 200}\n{'y' * 200}\n```" in shown


@pytest.mark.parametrize(("length", "shown"), [(400, "z" * 400), (401, "z" * 400 + "…")])
def test_a_report_shows_four_hundred_characters_of_a_text(length: int, shown: str) -> None:
    assert f'{{"text":"{shown}","type":"done"}}' in reported(b'{"type":"done","text":"%s"}' % (b"z" * length))


def test_a_report_shows_eight_frames_of_a_type_in_a_row_or_their_ends() -> None:
    frames = [b'{"type":"text_delta","delta":"%d"}' % number for number in range(10, 20)]
    assert "more of the same type" not in reported(*frames[:8])
    nine = reported(*frames[:9])
    assert '"13","type":"text_delta"}\n… 1 more of the same type …\n{"delta":"15"' in nine
    assert '"delta":"14"' not in nine


@pytest.mark.parametrize(("length", "shown"), [(60, 60), (61, 60)])
def test_a_report_names_a_type_with_sixty_characters(length: int, shown: int) -> None:
    assert f"| `{'q' * shown}` | 1 | counted and shown |" in reported(b'{"type":"%s"}' % (b"q" * length))
