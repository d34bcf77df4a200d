"""What is done with pi's own example extensions, and a few of ours: prompts, commands, and other requests."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct


class Scenario(Struct, frozen=True):
    """One example, and what is said to an agent that has it."""

    name: str
    lines: tuple[str | dict[str, Any], ...]
    prepare: Callable[[Path], object] = lambda folder: None


def repository(folder: Path) -> None:
    """Make a repository with a change that is not committed."""
    for words in (("init", "-q"), ("config", "user.name", "a"), ("config", "user.email", "a@b"), ("add", ".")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "x"], cwd=folder, check=True)
    (folder / "dirty.txt").write_text("1")


def holding(name: str, text: str) -> Callable[[Path], object]:
    """Return what puts a file into the folder."""

    def put(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    return put


def written(name: str) -> str:
    """Return where an extension is that was written for these tests."""
    return str(Path(__file__).parent / "written" / name)


NEW = {"type": "new_session"}
SCENARIOS = (
    Scenario("hello.ts", ('!tool hello {"name":"Bob"}', "!tool hello {}")),
    Scenario("pirate.ts", ("/pirate", "hello")),
    Scenario("permission-gate.ts", ('!tool bash {"command":"rm -rf x"}', '!tool bash {"command":"echo 1"}')),
    Scenario("protected-paths.ts", ('!tool write {"path":".env","content":"x"}',)),
    Scenario("confirm-destructive.ts", ("hi", NEW)),
    Scenario("todo.ts", ('!tool todo {"action":"add","text":"one"}', '!tool todo {"action":"list"}', "/todos")),
    Scenario("event-bus.ts", ("/emit hi",)),
    Scenario("send-user-message.ts", ("/ask what",)),
    Scenario("structured-output.ts", ('!tool structured_output {"headline":"h","summary":"s","actionItems":["a"]}',)),
    Scenario("session-name.ts", ("/session-name foo", "/session-name")),
    Scenario("dynamic-tools.ts", ("/add-echo-tool foo", '!tool foo {"message":"x"}')),
    Scenario("rpc-demo.ts", ("/rpc-input", "/rpc-editor", "/rpc-prefill", '!tool bash {"command":"rm -rf x"}')),
    Scenario("tools.ts", ("/tools",)),
    Scenario("status-line.ts", ("hi",)),
    Scenario("bookmark.ts", ("hi", "/bookmark here", "/unbookmark")),
    Scenario("claude-rules.ts", ("hi",), holding(".claude/rules/a.md", "x")),
    Scenario("dirty-repo-guard.ts", ("hi", NEW), repository),
    Scenario("git-checkpoint.ts", ("hi", '!tool write {"path":"a","content":"b"}'), repository),
    Scenario("auto-commit-on-exit.ts", ("hi",), repository),
    Scenario("git-merge-and-resolve.ts", ("/merge x",), repository),
    Scenario("model-status.ts", ("hi", {"type": "set_model", "provider": "ours", "modelId": "scripted"})),
    Scenario("shutdown-command.ts", ("/quit",)),
    Scenario("shutdown-command.ts", ("!tool finish_and_exit {}",)),
    Scenario("timed-confirm.ts", ("/timed", "/timed-select")),
    Scenario("trigger-compact.ts", ("hi", "/trigger-compact")),
    Scenario("prompt-customizer.ts", ("hi",)),
    Scenario("plan-mode", ("/plan", "hi", "/todos")),
    Scenario("handoff.ts", ("hi", "/handoff go")),
    Scenario("summarize.ts", ("hi", "/summarize")),
    Scenario("reload-runtime.ts", ("/reload-runtime",)),
    Scenario("custom-compaction.ts", ("hi", {"type": "compact"})),
    Scenario("tool-override.ts", ('!tool read {"path":"a.txt"}', '!tool read {"path":".env"}'), holding("a.txt", "t")),
    Scenario("input-transform-streaming.ts", ("hi",)),
    Scenario("inline-bash.ts", ("say !{echo hi}",)),
    Scenario("debug-provider.ts", ("hi",)),
    Scenario("provider-payload.ts", ("hi",), holding(".pi/provider-payload.log", "")),
    Scenario("dynamic-resources", ("/dynamic",)),
    Scenario("entry-renderer.ts", ("/entry", "hi")),
    Scenario("message-renderer.ts", ("/status hi", "/status warn x")),
    Scenario("notify.ts", ("hi",)),
    Scenario("qna.ts", ("hi", "/qna")),
    Scenario("question.ts", ('!tool question {"question":"q","options":[{"label":"a"}]}',)),
    Scenario("questionnaire.ts", ('!tool questionnaire {"questions":[]}',)),
    Scenario("widget-placement.ts", ("hi",)),
    Scenario(
        "built-in-tool-renderer.ts", ('!tool bash {"command":"echo 1"}', '!tool read {"path":"x"}'), holding("x", "y")
    ),
    Scenario("minimal-mode.ts", ('!tool ls {"path":"d"}', '!tool grep {"pattern":"x"}'), holding("d/f", "y")),
    Scenario("ssh.ts", ('!tool bash {"command":"echo 1"}',)),
    Scenario("interactive-shell.ts", ({"type": "get_commands"}, {"type": "bash", "command": "vim x"})),
    Scenario("subagent/index.ts", ('!tool subagent {"agent":"scout","task":"hi","agentScope":"user"}',)),
    Scenario("jev-router.ts", ("hi",)),
    Scenario("custom-provider-gitlab-duo", ("hi",)),
    Scenario("snake.ts", ("/snake",)),
    Scenario("overlay-test.ts", ("/overlay-test",)),
    Scenario(written("replaces.ts"), ('!tool bash {"command":"echo asked"}', "wrong", "throwing")),
    Scenario(written("settles.ts"), ("hi", "/ask")),
    Scenario(written("sequential.ts"), ('!tools [["parallel",{}],["sequential",{}],["parallel",{}]]',)),
)
"""Those of which the same is expected as of pi itself. docs/pi-extensions.md tells of all of pi's own."""

FIRST = 12
"""So many of them, the first, are tried by `make test`."""
