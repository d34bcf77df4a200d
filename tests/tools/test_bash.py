import os
import re
import resource
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import Text
from linnet.errors import Cancelled
from linnet.tools.bash import bash
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput

if TYPE_CHECKING:
    from tests.tools.bench import Bench


def text(output: ToolOutput) -> str:
    (part,) = output.content
    assert isinstance(part, Text)
    return part.text


def details(output: ToolOutput) -> dict[str, object]:
    assert output.details is not None
    return output.details


def test_the_result_has_the_command_its_output_and_its_exit_code(bench: "Bench") -> None:
    output = bench.call("bash", command="echo hi; echo oops >&2; echo there")
    assert re.fullmatch(
        r"\$ echo hi; echo oops >&2; echo there\n\nhi\noops\nthere\n\n\[exit 0\]  Took \d\.\ds", text(output)
    )
    assert not output.is_error
    assert details(output).keys() == {"exit_code", "seconds", "truncated", "full_output_path"}
    assert details(output)["exit_code"] == 0
    assert "".join(bench.heard) == "hi\noops\nthere\n"


def test_no_output_leaves_no_gap(bench: "Bench") -> None:
    assert bench.ok("bash", command="true").startswith("$ true\n\n[exit 0]  Took 0.")


def test_a_failing_command_is_an_error_that_shows_what_it_printed(bench: "Bench") -> None:
    output = bench.call("bash", command="echo oops >&2; exit 3")
    assert output.is_error
    assert text(output).startswith("$ echo oops >&2; exit 3\n\noops\n\n[exit 3]  Took ")
    assert details(output)["exit_code"] == 3


def test_a_shell_ended_by_a_signal_has_the_exit_code_shells_give(bench: "Bench") -> None:
    assert "[exit 137]" in bench.fails("bash", command="kill -9 $$")


def test_it_runs_in_the_working_directory_with_no_input(bench: "Bench") -> None:
    assert f"\n\n{bench.cwd}\nend\n" in bench.ok("bash", command="pwd; cat; echo end")


def test_a_command_may_look_like_an_option(bench: "Bench") -> None:
    assert "[exit 127]" in bench.fails("bash", command="-x")


def test_the_token_is_hidden_from_children(bench: "Bench", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOTCORE_RPC_TOKEN", "s3cret")
    monkeypatch.setenv("OTHER", "kept")
    assert "tok=/kept" in bench.ok("bash", command="echo tok=$ZOTCORE_RPC_TOKEN/$OTHER")
    assert "s3cret" not in bench.ok("bash", command="env")


def test_time_running_out_is_an_error_that_says_so_and_keeps_the_output(bench: "Bench") -> None:
    output = bench.call("bash", command="echo begun; sleep 60", timeout=1.5)
    assert output.is_error
    assert re.search(r"\n\nbegun\n\n\[timed out after 1\.5s\]  Took \d\.\ds$", text(output))
    assert details(output)["exit_code"] is None


def test_an_abort_is_an_answer_with_what_was_printed_until_then(bench: "Bench") -> None:
    running = bench.start("bash", command="echo begun; sleep 60")
    running.hears("begun")
    running.cancel.set()
    output = running.result()
    assert output.is_error
    assert re.search(r"\n\nbegun\n\n\[aborted\]  Took \d\.\ds$", text(output))


def test_an_abort_before_the_start_starts_nothing(bench: "Bench") -> None:
    cancel = CancelToken()
    cancel.set()
    with pytest.raises(Cancelled):
        bash.run({"command": "touch started"}, ToolContext(bench.cwd, cancel, print, bench.processes))
    assert not (bench.cwd / "started").exists()


def test_a_background_child_does_not_hold_up_the_result_and_may_go_on_printing(bench: "Bench") -> None:
    os.mkfifo(bench.cwd / "go")
    command = "{ read line < go; yes | head -c 300000; echo survived > done; } & echo started"
    assert "\n\nstarted\n\n[exit 0]" in bench.ok("bash", command=command)
    (bench.cwd / "go").write_text("go\n")
    assert "survived" in bench.ok("bash", command="until test -s done; do sleep 0.01; done; cat done", timeout=60)


def test_a_background_child_that_never_stops_printing_does_not_hold_up_the_result(bench: "Bench") -> None:
    assert "[exit 0]" in bench.ok("bash", command="yes & echo started", timeout=60)


def test_a_command_that_closes_its_output_is_waited_for(bench: "Bench") -> None:
    bench.ok("bash", command="exec >/dev/null 2>&1; sleep 0.1; touch done")
    assert (bench.cwd / "done").exists()


def test_writing_to_the_name_of_stderr_does_not_eat_earlier_output(bench: "Bench") -> None:
    assert "\n\none\ntwo\nthree\n\n" in bench.ok("bash", command="echo one; echo two > /dev/stderr; echo three")


def test_characters_that_arrive_in_pieces_are_whole_in_progress_and_result(bench: "Bench") -> None:
    (bench.cwd / "slow.py").write_text(
        "import os, time\nfor byte in 'x😀é€'.encode():\n    os.write(1, bytes([byte])); time.sleep(0.03)\n"
    )
    assert "\n\nx😀é€\n\n[exit 0]" in bench.ok("bash", command=f"{sys.executable} slow.py")
    assert "".join(bench.heard) == "x😀é€"
    assert len(bench.heard) > 1


def test_binary_output_is_replaced_not_refused(bench: "Bench") -> None:
    assert "\n\n��\0<&>\x1b[1m\n\n[exit 0]" in bench.ok("bash", command=r"printf '\377\376\000<&>\033[1m'")


def test_long_output_keeps_its_end_and_names_a_file_with_all_of_it(bench: "Bench") -> None:
    output = bench.call("bash", command="seq 1 30000")
    whole = "".join(f"{number}\n" for number in range(1, 30_001))
    path = details(output)["full_output_path"]
    assert isinstance(path, str)
    assert Path(path).read_text() == whole
    assert details(output)["truncated"] is True
    assert text(output).startswith(
        f"$ seq 1 30000\n\n[Cut: the last 2000 lines, 12000 of {len(whole)} bytes]\n28001\n28002\n"
    )
    assert f"\n30000\n\n[exit 0] (full output: {path})  Took " in text(output)


def test_output_that_cannot_be_kept_in_full_says_why(bench: "Bench", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(bench.cwd / "gone"))
    output = bench.call("bash", command="seq 1 3000")
    assert "[exit 0] (full output not kept: No such file or directory)  Took " in text(output)
    assert details(output)["full_output_path"] is None


def test_a_hundred_megabytes_cost_little_time_and_no_memory(bench: "Bench") -> None:
    bench.ok("bash", command="yes | head -c 200000")
    before = resource.getrusage(resource.RUSAGE_SELF)
    output = bench.call("bash", command="yes | head -c 100000000")
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_maxrss - before.ru_maxrss < 8_000  # Kilobytes.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5
    path = details(output)["full_output_path"]
    assert isinstance(path, str)
    assert os.path.getsize(path) == 100_000_000
    os.unlink(path)


def test_progress_of_a_flood_stays_small(bench: "Bench") -> None:
    bench.ok("bash", command="yes | head -c 30000000")
    assert sum(map(len, bench.heard)) < 1_000_000
    assert "bytes skipped]\n" in "".join(bench.heard)


def test_a_working_directory_that_is_gone_is_named(bench: "Bench") -> None:
    shutil.rmtree(bench.cwd)
    assert bench.fails("bash", command="true") == f"The working directory {bench.cwd} no longer exists."


def test_a_command_the_system_cannot_take_is_refused_with_a_sentence(bench: "Bench") -> None:
    assert "could not be started: embedded null byte" in bench.fails("bash", command="echo \0")
    assert "could not be started: Argument list too long" in bench.fails("bash", command="#" + "x" * 300_000)
    assert "could not be started: " in bench.fails("bash", command="echo \ud800")
