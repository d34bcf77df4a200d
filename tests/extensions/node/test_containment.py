"""What an extension for pi can do to the agent: nothing that hangs it, outlives it, or lets a call through."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.processes import alive, wait_until
from tests.extensions.node.bench import Driven, notices, results

Start = Callable[..., Driven]
pytestmark = pytest.mark.foreign
CALL = '!tool bash {"command": "touch done"}'


def test_a_guard_whose_process_is_killed_while_it_decides_says_no(extended: Start, tmp_path: Path) -> None:
    body = 'pi.on("tool_call", (event, ctx) => { ctx.ui.notify(String(process.pid)); return new Promise(() => {}); });'
    agent = extended(body)
    agent.agent.send({"type": "prompt", "message": CALL})
    shown = notices(agent.until(lambda frame: frame.get("method") == "notify"))
    os.kill(int(shown[-1]), signal.SIGKILL)
    [(_, failed, text)] = results(agent.until(lambda frame: frame["type"] == "agent_end"))
    assert failed
    assert "was ended by SIGKILL" in text
    [(_, failed, _)] = results(agent.run(CALL))  # And so it stays.
    assert failed
    assert not (tmp_path / "work" / "done").exists()


def test_a_guard_that_computes_for_ever_says_no_and_the_agent_still_ends(extended: Start, tmp_path: Path) -> None:
    agent = extended('pi.on("tool_call", () => { for (;;); });', "--hook-timeout", "0.5")
    [(_, failed, text)] = results(agent.run(CALL))
    assert failed
    assert "it took longer than 0.5 s" in text
    assert not (tmp_path / "work" / "done").exists()
    agent.agent.end()
    assert agent.agent.wait() == 0


def test_a_guard_that_takes_all_memory_says_no(extended: Start, tmp_path: Path) -> None:
    body = """
    require("node:v8").setFlagsFromString("--max-old-space-size=64");
    const kept = [];
    pi.on("tool_call", () => { for (;;) kept.push(new Array(100000).fill({}).map((_, at) => ({ at }))); });
    """
    [(_, failed, _)] = results(extended(body).run(CALL))
    assert failed
    assert not (tmp_path / "work" / "done").exists()


def test_a_flood_of_output_hangs_nobody(extended: Start) -> None:
    body = """
    const line = "x".repeat(1000) + "\\n";
    pi.registerCommand("flood", { handler: async (args, ctx) => {
      for (let at = 0; at < 20000; at++) { process.stdout.write(line); process.stderr.write(line); }
      ctx.ui.notify("flooded");
    } });
    """
    agent = extended(body)
    assert agent.command("/flood") == ["flooded"]
    assert agent.run("hello")[-1]["messages"][-1]["stopReason"] == "stop"


def test_nothing_of_an_extension_outlives_an_agent_that_is_killed(extended: Start) -> None:
    body = """
    pi.registerCommand("start", { handler: async (args, ctx) => {
      const { spawn } = await import("node:child_process");
      const child = spawn("sleep", ["1000"], { detached: true, stdio: "ignore" });
      child.unref();
      ctx.ui.notify(`${process.pid} ${child.pid}`);
    } });
    """
    agent = extended(body)
    [shown] = agent.command("/start")
    agent.agent.process.kill()
    wait_until(lambda: not any(map(alive, map(int, shown.split()))))


def test_no_variable_with_a_key_is_in_its_environment_nor_in_what_it_starts(extended: Start) -> None:
    body = """
    pi.registerCommand("look", { handler: async (args, ctx) => {
      const inner = await pi.exec("env", []);
      const names = [...Object.keys(process.env), ...inner.stdout.split("\\n").map((line) => line.split("=")[0])];
      ctx.ui.notify(names.filter((name) => args.split(" ").includes(name)).join(" "));
    } });
    """
    names = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    agent = extended(body, env=dict.fromkeys((*names, "HARMLESS"), "0123456789abcdef"))
    assert agent.command(f"/look {' '.join(names)} HARMLESS") == ["HARMLESS HARMLESS"]
