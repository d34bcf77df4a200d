"""Servers that behave, and servers that do not, over real pipes."""

import logging
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import Image, Text, ToolCall
from linnet.errors import BadInput, Cancelled
from linnet.extensions.mcp import server
from linnet.extensions.mcp.config import ServerConfig, StdioServer
from linnet.extensions.mcp.servers import McpServers
from linnet.testing.processes import alive, wait_until
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput

if TYPE_CHECKING:
    from tests.extensions.mcp.conftest import Bench


def pid_of(bench: "Bench", toolset: McpServers) -> int:
    return int(bench.words(bench.call(toolset, "mcp__odd__pid")))


def test_the_tools_of_a_server_are_offered_under_its_name_and_can_be_called(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted())
    specs = {spec.name: spec for spec in toolset.specs}
    assert list(specs) == sorted(specs)
    assert specs["mcp__odd__echo"].description == "Does echo."
    assert specs["mcp__odd__echo"].schema["properties"] == {"text": {"type": "string"}}
    output = bench.call(toolset, "mcp__odd__echo", text="héllo \u2028 🦜")
    assert output == ToolOutput((Text("héllo \u2028 🦜"),), details={"server": "odd", "tool": "echo"})


def test_nothing_is_started_before_the_tools_are_asked_for(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted())
    assert [status.state for status in toolset.status()] == ["idle"]
    assert "linnet-mcp" not in {thread.name for thread in threading.enumerate()}
    assert toolset.commands() == []


def test_all_pages_of_a_list_are_read(bench: "Bench") -> None:
    names = {spec.name for spec in bench.toolset(bench.scripted("pages")).specs}
    assert names == {f"mcp__odd__tool{number}" for number in range(25)}


def test_a_server_that_hands_out_pages_for_ever_is_cut_off(bench: "Bench") -> None:
    assert len(bench.toolset(bench.scripted("endless")).specs) == 1000


def test_a_server_that_says_too_much_is_told_of_and_its_other_tools_are_used(
    bench: "Bench", caplog: pytest.LogCaptureFixture
) -> None:
    toolset = bench.toolset(bench.scripted("wordy"))
    assert [spec.name for spec in toolset.specs] == ["mcp__odd__plain"]
    assert [record.message.partition(", and")[0] for record in caplog.records] == [
        'MCP server odd: its tool "wordy" is left out: its description has 31457280 characters',
        'MCP server odd: its tool "odd" is left out: its schema has 1048604 bytes',
    ]


def test_a_server_that_was_found_where_it_is_not_started_any_more_says_so(bench: "Bench") -> None:
    config = ServerConfig(name="near", transport=StdioServer("./near"), start_timeout=100)
    toolset = bench.toolset(config, neutral=str(bench.cwd.parent / "mcp"))
    assert toolset.specs == ()
    [status] = toolset.status()
    assert status.problem.endswith(
        f"It is not started in {bench.cwd}, which is not trusted, unless its entry has a cwd"
    )


def test_a_folder_that_cannot_be_made_is_the_root_instead(bench: "Bench") -> None:
    (bench.cwd / "file").write_text("")
    toolset = bench.toolset(bench.scripted(), neutral=str(bench.cwd / "file" / "mcp"))
    assert toolset.specs
    assert bench.words(bench.call(toolset, "mcp__odd__where")) == "/"


def test_names_that_differ_too_little_get_a_mark_and_this_is_told(
    bench: "Bench", caplog: pytest.LogCaptureFixture
) -> None:
    toolset = bench.toolset(bench.scripted("clashes", name="my-srv"))
    names = [spec.name for spec in toolset.specs]
    assert names[:2] == ["mcp__my_srv__a_b_023273ec", "mcp__my_srv__a_b_8a08da04"]
    assert len(names[2]) == 64
    assert "my-srv/a.b, my-srv/a_b" in caplog.text
    assert bench.words(bench.call(toolset, names[0])) == "as you wish"


def test_every_kind_of_content_comes_as_something_a_model_can_be_shown(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted())
    assert toolset.specs
    first, image, *rest = bench.call(toolset, "mcp__odd__kinds").content
    assert first == Text("words")
    assert isinstance(image, Image)
    assert image.mime_type == "image/png"
    assert rest == [
        Text("[audio that cannot be shown: audio/wav, 3 bytes]"),
        Text("[file:///a.txt]\ninside"),
        Text("[b](file:///b.txt): another"),
    ]


def test_a_result_that_is_an_error_is_one(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted())
    assert toolset.specs
    output = bench.call(toolset, "mcp__odd__fail")
    assert (bench.words(output), output.is_error) == ("it did not work", True)


def test_a_tool_that_no_server_has_is_an_error(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted())
    assert toolset.specs
    output = bench.call(toolset, "mcp__odd__nothing")
    assert (bench.words(output), output.is_error) == ("No MCP server has a tool called mcp__odd__nothing.", True)


def test_progress_is_reported_while_the_tool_runs(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted())
    assert toolset.specs
    calling = bench.start(toolset, "mcp__odd__progress", steps=3)
    result = calling.result()
    assert isinstance(result, ToolOutput)
    assert bench.words(result) == "done"
    assert calling.heard == ["step 1 (1/3)\n", "step 2 (2/3)\n", "step 3 (3/3)\n"]


def test_a_call_that_shows_progress_may_take_longer_than_its_deadline(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted(timeout=3, PACE="0.7"))
    assert toolset.specs
    assert bench.words(bench.call(toolset, "mcp__odd__progress", steps=6)) == "done"


def test_a_call_without_an_answer_ends_at_its_deadline_and_the_server_is_told(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted(timeout=0.3))
    assert toolset.specs
    output = bench.call(toolset, "mcp__odd__hang")
    assert (bench.words(output), output.is_error) == ("MCP server odd gave no answer for 0.3 s", True)
    wait_until(lambda: "cancelled" in bench.noted)


def test_an_abort_ends_a_call_at_once_and_the_server_is_told(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted())
    assert toolset.specs
    calling = bench.start(toolset, "mcp__odd__hang")
    wait_until(lambda: "hanging" in bench.noted)
    calling.cancel.set()
    assert isinstance(calling.result(), Cancelled)
    wait_until(lambda: "cancelled" in bench.noted)
    # It ignores that it was cancelled; others are answered all the same.
    assert bench.words(bench.call(toolset, "mcp__odd__echo", text="still here")) == "still here"


def test_an_abort_that_came_before_the_call_stops_it(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted())
    assert toolset.specs
    cancel = CancelToken()
    cancel.set()
    context = ToolContext(bench.cwd, cancel, lambda text: None, bench.processes)
    with pytest.raises(Cancelled):
        toolset.run(ToolCall("1", "mcp__odd__hang", {}), context)
    assert bench.noted == ""


def test_a_server_that_dies_in_mid_call_is_an_error_with_its_last_words_and_comes_back(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted())
    assert toolset.specs
    before = pid_of(bench, toolset)
    output = bench.call(toolset, "mcp__odd__die")
    assert output.is_error
    assert bench.words(output) == (
        "MCP server odd is not there: it exited with code 3.\nIts stderr ended with:\nsomething terrible happened"
    )
    assert [spec.name for spec in toolset.specs if spec.name == "mcp__odd__echo"]  # It is still offered.
    after = pid_of(bench, toolset)
    assert after != before
    assert not alive(before)


def test_a_server_that_was_killed_while_nobody_called_comes_back(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted())
    assert toolset.specs
    before = pid_of(bench, toolset)
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: toolset.status()[0].state == "down")
    assert toolset.status()[0].problem == "it was ended by SIGKILL"
    assert pid_of(bench, toolset) != before


def test_a_server_that_dies_again_and_again_is_started_less_and_less_often(
    bench: "Bench", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "FIRST_PAUSE", 40.0)
    toolset = bench.toolset(bench.scripted())
    assert toolset.specs
    assert "something terrible" in bench.words(bench.call(toolset, "mcp__odd__die"))
    output = bench.call(toolset, "mcp__odd__die")  # It never answered anything, so there is a pause now.
    assert output.is_error
    assert "It will be started again, in " in bench.words(output)
    assert "something terrible happened" in bench.words(output)


def test_the_death_of_a_server_is_noticed_although_something_it_started_holds_its_stdout(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted("holds-stdout"))
    assert toolset.specs
    assert "it exited with code 3" in bench.words(bench.call(toolset, "mcp__odd__die"))


def test_a_server_that_cannot_be_started_is_left_out_with_a_sentence(
    bench: "Bench", caplog: pytest.LogCaptureFixture
) -> None:
    toolset = bench.configured(gone={"command": "no-such-program-at-all"}, odd=bench.spelled())
    assert {spec.name.split("__")[1] for spec in toolset.specs} == {"odd"}
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
        "MCP server gone is not there: it could not be started: No such file or directory: no-such-program-at-all."
    ]


def test_a_server_that_exits_at_once_is_left_out_with_its_last_words(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted("broken"))
    assert toolset.specs == ()
    status = toolset.status()[0]
    assert (status.state, status.problem) == ("down", "it exited with code 1")
    assert status.stderr == "no configuration found\n"


def test_a_silent_server_is_left_out_after_its_deadline(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted("silent", start_timeout=0.5))
    assert toolset.specs == ()
    assert toolset.status()[0].problem == "it was not ready within 0.5 s"


def test_what_a_server_babbles_on_stdout_is_skipped_and_named_when_it_fails(bench: "Bench") -> None:
    fine = bench.toolset(bench.scripted("noisy"))
    assert bench.words(bench.call(fine, "mcp__odd__echo", text="a")) == "a" if fine.specs else False
    mute = bench.toolset(bench.scripted("noisy", "broken"))
    assert mute.specs == ()
    assert mute.status()[0].problem == (
        'it exited with code 1. It printed "Welcome to the scripted server!" on stdout, where only messages belong'
    )


def test_a_slow_server_is_not_waited_for_and_joins_later(bench: "Bench") -> None:
    slow = bench.scripted("slow", name="late")
    toolset = bench.toolset(bench.scripted(), slow, patience=0.1)
    toolset.begin()
    assert {spec.name.split("__")[1] for spec in toolset.specs} <= {"odd"}
    assert toolset.status()[1].state == "starting"
    (bench.cwd / "go").touch()
    wait_until(lambda: any(spec.name.startswith("mcp__late__") for spec in toolset.specs), 60)


def test_an_abort_ends_the_wait_for_servers(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted("slow"))
    cancel = CancelToken()
    threading.Timer(0.05, cancel.set).start()
    with pytest.raises(Cancelled):
        toolset.begin(cancel)


def test_tools_that_come_while_it_runs_are_offered(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted())
    assert "mcp__odd__grown" not in {spec.name for spec in toolset.specs}
    assert bench.words(bench.call(toolset, "mcp__odd__grow")) == "grown"
    wait_until(lambda: "mcp__odd__grown" in {spec.name for spec in toolset.specs})


def test_a_long_result_is_cut_and_all_of_it_is_in_a_file(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted())
    assert toolset.specs
    text = bench.words(bench.call(toolset, "mcp__odd__huge", size=3_000_000))
    assert len(text) < 60_000
    file = Path(text.rpartition("All of it: ")[2].rstrip("]"))
    assert file.read_text() == "x" * 3_000_000


@pytest.mark.parametrize("order", ["id-first", "id-last"])
def test_an_answer_of_a_hundred_megabytes_is_an_error_and_the_server_goes_on(bench: "Bench", order: str) -> None:
    toolset = bench.toolset(bench.scripted(order))
    assert toolset.specs
    before = pid_of(bench, toolset)
    output = bench.call(toolset, "mcp__odd__huge", size=100 << 20)
    assert (bench.words(output), output.is_error) == ("the answer has 100 MiB, which is too much", True)
    assert pid_of(bench, toolset) == before


def test_prompts_and_resources_are_commands_that_stand_for_text(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted())
    toolset.begin()
    commands = {command.name: command for command in toolset.commands()}
    greet = commands["mcp__odd__greet"]
    assert (greet.description, greet.source, greet.kind, greet.arguments) == (
        "Greets.",
        "odd",
        "prompt",
        ("who", "how"),
    )
    assert commands["mcp__odd__first_note"].kind == "resource"
    cancel = CancelToken()
    assert toolset.expand("mcp__odd__greet", "Ada", cancel) == "Greet Ada kindly."
    assert toolset.expand("mcp__odd__greet", "Ada  very warmly ", cancel) == "Greet Ada very warmly."
    assert toolset.expand("mcp__odd__first_note", "", cancel) == "[note://1]\nremember the milk"
    with pytest.raises(BadInput, match="the prompt greet needs who: give who how, in this order"):
        toolset.expand("mcp__odd__greet", "", cancel)
    with pytest.raises(BadInput, match="no MCP server has a prompt or resource called mcp__odd__nothing"):
        toolset.expand("mcp__odd__nothing", "", cancel)


def test_what_is_hidden_from_commands_is_hidden_from_servers_and_env_is_added(
    bench: "Bench", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOTCORE_RPC_TOKEN", "hush")
    monkeypatch.setenv("INHERITED", "yes")
    toolset = bench.toolset(bench.scripted(ADDED="too"))
    assert toolset.specs
    seen = [
        bench.words(bench.call(toolset, "mcp__odd__env", name=n)) for n in ("ZOTCORE_RPC_TOKEN", "INHERITED", "ADDED")
    ]
    assert seen == ["(not set)", "yes", "too"]


def test_closing_ends_all_servers_threads_and_descriptors(bench: "Bench") -> None:
    bench.processes.start(["true"], cwd=bench.cwd).close()
    before = sorted(os.listdir("/proc/self/fd"))
    toolset = bench.toolset(bench.scripted("holds-stdout"), bench.scripted(name="other"))
    assert toolset.specs
    pid = pid_of(bench, toolset)
    calling = bench.start(toolset, "mcp__other__hang")
    wait_until(lambda: "hanging" in bench.noted)
    toolset.close()
    toolset.close()
    assert not alive(pid)
    assert bench.words(calling.result()) == "MCP servers are closed."
    assert bench.words(bench.call(toolset, "mcp__odd__echo", text="a")) == "MCP servers are closed."
    wait_until(lambda: not any(thread.name.startswith("linnet-mcp") for thread in threading.enumerate()))
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_a_server_that_has_no_handshake_any_more_is_spoken_to_all_the_same(bench: "Bench") -> None:
    toolset = bench.toolset(bench.scripted("modern"))
    assert toolset.specs
    assert bench.words(bench.call(toolset, "mcp__odd__echo", text="new")) == "new"
