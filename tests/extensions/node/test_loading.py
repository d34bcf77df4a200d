"""How extensions for pi are found, imported and refused."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.errors import ConfigError
from linnet.extensions.node import places
from linnet.extensions.node.flag_reading import registered
from linnet.extensions.node.node_program import age_problem, node_program
from linnet.extensions.node.pi_folders import found, installed_at, may_have
from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import alive, wait_until
from tests.extensions.node.bench import Driven, node, notices, results

Start = Callable[..., Driven]


def put(path: Path, text: str = "export default function () {}") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def test_a_folder_is_what_its_package_names_or_its_index(tmp_path: Path) -> None:
    assert places.entries(put(tmp_path / "a.mts")) == [str(tmp_path / "a.mts")]
    assert places.entries(str(tmp_path)) == []
    index = put(tmp_path / "plain" / "index.ts")
    assert places.entries(str(tmp_path / "plain")) == [index]
    named = [put(tmp_path / "pack" / "src" / name) for name in ("a.ts", "b.ts")]
    put(tmp_path / "pack" / "index.ts")
    put(tmp_path / "pack" / "package.json", json.dumps({"pi": {"extensions": ["./src/*.ts"]}}))
    assert places.entries(str(tmp_path / "pack")) == named
    put(tmp_path / "odd" / "package.json", "{")
    assert places.entries(str(tmp_path / "odd")) == []


def test_pis_folders_settings_and_packages_are_looked_into(tmp_path: Path) -> None:
    home = tmp_path / "agent"
    home.mkdir()
    assert not may_have(str(home))
    loose = put(home / "extensions" / "one.ts")
    put(home / "extensions" / "two.mjs")
    put(home / "extensions" / "three" / "index.ts")
    put(home / "extensions" / "readme.md")
    elsewhere = put(tmp_path / "four.ts")
    put(home / "npm" / "node_modules" / "@x" / "five" / "package.json", json.dumps({"pi": {"extensions": ["e.ts"]}}))
    six = put(home / "git" / "github.com" / "u" / "six" / "extensions" / "s.ts")
    packages = [
        "npm:@x/five@1.2",
        "git:github.com/u/six@v1",
        {"source": "npm:gone"},
        {"source": "npm:@x/five", "extensions": []},
    ]
    put(home / "settings.json", json.dumps({"extensions": [elsewhere], "packages": packages}))
    assert may_have(str(home))
    assert found([(str(home), "user")]) == [
        (loose, "user"),
        (str(home / "extensions" / "three"), "user"),
        (elsewhere, "user"),
        (str(home / "npm" / "node_modules" / "@x" / "five"), "user"),
        (six, "user"),
    ]
    put(home / "settings.json", '{"packages": "text"')
    assert len(found([(str(home), "user")])) == 2


@pytest.mark.parametrize(
    ("source", "where"),
    [
        ("npm:pkg", "npm/node_modules/pkg"),
        ("npm:@scope/pkg@^1", "npm/node_modules/@scope/pkg"),
        ("git:github.com/u/r", "git/github.com/u/r"),
        ("git:github.com/u/r@v1", "git/github.com/u/r"),
        ("git:git@github.com:u/r.git", "git/github.com/u/r"),
        ("https://github.com/u/r", "git/github.com/u/r"),
        ("https://github.com/u/r.git#main", "git/github.com/u/r"),
        ("./mine", "mine"),
        ("/else/where", "/else/where"),
    ],
)
def test_a_package_is_where_pi_put_it(source: str, where: str) -> None:
    assert installed_at(source, "/agent") == os.path.join("/agent", where)


def test_a_node_that_is_missing_or_too_old_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Node 22\.18 or newer; there is none in PATH"):
        node_program({"PATH": str(tmp_path)})
    with pytest.raises(ConfigError, match="LINNET_NODE names nope, and there is no such program"):
        node_program({"PATH": str(tmp_path), "LINNET_NODE": "nope"})
    assert age_problem("22.18.0", "node") == ""
    assert age_problem("24.1.0", "node") == ""
    assert age_problem("22.17.9", "/bin/node").endswith("/bin/node is 22.17.9; set LINNET_NODE to another one")


def test_with_an_older_node_the_agent_ends_with_that_sentence(pi: Callable[..., Agent], tmp_path: Path) -> None:
    old = tmp_path / "old-node"
    old.write_text('#!/bin/sh\necho \'{"type":"hello","version":"20.1.0"}\' >&3\n')
    old.chmod(0o755)
    agent = pi("-e", put(tmp_path / "mine.ts"), env={"LINNET_NODE": str(old)})
    agent.send({"type": "prompt", "message": "hello"})
    assert agent.wait() == 1
    assert "extensions for pi are run by Node 22.18 or newer" in agent.stderr
    assert f"{old} is 20.1.0" in agent.stderr


REFUSED = [
    ("throw new Error('boom');", "Failed to load extension: boom"),
    ("pi.getActiveTools();", "Failed to load extension: Extension runtime not initialized. Action methods cannot"),
]


@pytest.mark.foreign
@pytest.mark.parametrize(("body", "why"), REFUSED)
def test_one_that_cannot_be_loaded_ends_the_agent_in_pis_words(
    extended: Start, tmp_path: Path, body: str, why: str
) -> None:
    agent = extended(body).agent
    agent.send({"type": "prompt", "message": "hello"})
    assert agent.wait() == 1
    assert f'Failed to load extension "{tmp_path / "mine.ts"}": {why}' in agent.stderr


@pytest.mark.foreign
@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("export default 5", "Extension does not export a valid factory function: "),
        ('import ms from "no-such-package"; export default () => ms', "Cannot find module 'no-such-package'"),
        ("export default (", "Failed to load extension: "),
    ],
)
def test_a_file_that_is_no_extension_is_refused(
    pi: Callable[..., Agent], tmp_path: Path, source: str, why: str
) -> None:
    agent = pi("-e", put(tmp_path / "mine.ts", source), env={"LINNET_NODE": node()})
    agent.send({"type": "prompt", "message": "hello"})
    assert agent.wait() == 1
    assert why in agent.stderr


@pytest.mark.foreign
def test_packages_that_are_installed_beside_an_extension_are_found(pi: Callable[..., Agent], tmp_path: Path) -> None:
    folder = tmp_path / "with-deps"
    put(folder / "package.json", json.dumps({"pi": {"extensions": ["./src/index.ts"]}, "dependencies": {"old": "1"}}))
    put(folder / "node_modules" / "old" / "package.json", '{"name": "old", "main": "old.js"}')
    put(folder / "node_modules" / "old" / "old.js", "module.exports = (text) => `old ${text}`;")
    put(folder / "node_modules" / "@new" / "one" / "package.json", '{"type": "module", "exports": "./one.js"}')
    put(folder / "node_modules" / "@new" / "one" / "one.js", "export const one = (text) => `one ${text}`;")
    source = """
import old from "old";
import { one } from "@new/one";
export default (pi: any) => pi.registerCommand("try", { handler: async (args, ctx) => ctx.ui.notify(one(old(args))) });
"""
    put(folder / "src" / "index.ts", source)
    assert Driven(pi("-e", str(folder), env={"LINNET_NODE": node()})).command("/try this") == ["one old this"]


@pytest.mark.foreign
def test_flags_of_extensions_are_known_once_they_are_loaded(extended: Start, tmp_path: Path) -> None:
    body = """
    pi.registerFlag("plan", { type: "boolean", default: false });
    pi.registerFlag("depth", { type: "string", default: "low", description: "How deep" });
    const early = pi.getFlag("depth");
    pi.on("session_start", (event, ctx) =>
      ctx.ui.notify(JSON.stringify([early, pi.getFlag("plan"), pi.getFlag("depth"), pi.getFlag("none") ?? null])));
    """
    agent = extended(body, "--plan", "--depth", "high")
    assert notices(agent.ask("get_commands")) == ['["low",true,"high",null]']
    files = [str(tmp_path / "mine.ts")]
    assert registered(files, str(tmp_path), {"LINNET_NODE": node(), "PATH": os.environ["PATH"]}, 20) == {
        "plan": ("", False),
        "depth": ("How deep", "low"),
    }


@pytest.mark.foreign
def test_linnet_pi_finds_them_where_pi_does_and_linnet_does_not(
    spawn: Callable[..., Agent], server: ModelServer, tmp_path: Path
) -> None:
    home = tmp_path / "pi-home"
    put(home / "extensions" / "found.ts", 'export default (pi) => pi.registerCommand("found", { handler() {} });')
    flags = ("--mode", "rpc", "--provider", "anthropic", "--base-url", server.url, "--api-key", "x")
    env = {"LINNET_NODE": node(), "PI_CODING_AGENT_DIR": str(home)}
    theirs = Driven(spawn(*flags, env=env, program="linnet-pi"))
    assert [each["name"] for each in theirs.ask("get_commands")[-1]["data"]["commands"]] == ["found"]
    assert Driven(spawn(*flags, env=env)).ask("get_commands")[-1]["data"]["commands"] == []


@pytest.mark.foreign
def test_extensions_share_events_helpers_and_files_beside_them(pi: Callable[..., Agent], tmp_path: Path) -> None:
    put(
        tmp_path / "one" / "index.ts",
        """
import { hello } from "./helper";
import { existsSync } from "fs";
enum Kind { One = 1 }
export default function (pi) {
  const path = require("node:path");
  const where = `${path.basename(__dirname)} ${existsSync(__filename)}`;
  pi.events.on("ping", (data) => pi.events.emit("pong", `${hello(data)} ${Kind.One} ${where}`));
}
""",
    )
    put(tmp_path / "one" / "helper.ts", "export const hello = (name: string): string => `hello ${name}`;")
    put(
        tmp_path / "two.js",
        """
module.exports = (pi) => {
  let heard = "nothing";
  pi.events.on("pong", (data) => { heard = data; });
  pi.registerCommand("ping", { handler: async (args, ctx) => { pi.events.emit("ping", args); ctx.ui.notify(heard); } });
};
""",
    )
    agent = Driven(pi("-e", str(tmp_path / "one"), "-e", str(tmp_path / "two.js"), env={"LINNET_NODE": node()}))
    assert agent.command("/ping Ann") == ["hello Ann 1 one true"]


@pytest.mark.foreign
def test_what_is_printed_tears_no_frame_and_keys_are_not_in_the_environment(extended: Start) -> None:
    body = """
    console.log("printed while it was loaded");
    pi.registerCommand("print", { handler: async (args, ctx) => {
      console.log('{"type":"answer"'); process.stdout.write('{"type":'); process.stdin.resume();
      const { spawnSync } = await import("node:child_process");
      spawnSync("sh", ["-c", "echo torn; cat"], { stdio: "inherit" });
      ctx.ui.notify(String(process.env.OPENAI_API_KEY));
    } });
    """
    agent = extended(body, env={"OPENAI_API_KEY": "sk-secret"})
    assert agent.command("/print") == ["undefined"]


@pytest.mark.foreign
def test_nothing_that_an_extension_started_outlives_the_agent(extended: Start) -> None:
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
    agent.agent.end()
    agent.agent.wait()
    wait_until(lambda: not any(map(alive, map(int, shown.split()))))


@pytest.mark.foreign
def test_what_an_extension_starts_as_pi_is_linnet(extended: Start, server: ModelServer, tmp_path: Path) -> None:
    body = """
    pi.registerTool({ name: "sub", parameters: {}, async execute() {
      const args = ["--mode", "json", "-p", "--no-session", "--model", "ours/scripted", "Task: hello"];
      const done = await pi.exec(process.execPath, [process.argv[1], ...args]);
      const lines = done.stdout.trim().split("\\n").map((line) => JSON.parse(line));
      const reply = lines.filter((line) => line.type === "message_end").at(-1)?.message;
      return { content: [{ type: "text", text: reply?.content?.[0]?.text ?? done.stderr }] };
    } });
    """
    home = tmp_path / "pi-home"
    model = {"id": "scripted", "name": "Scripted", "contextWindow": 1000, "maxTokens": 100}
    provider: dict[str, Any] = {"baseUrl": server.url, "apiKey": "x", "api": "anthropic-messages", "models": [model]}
    put(home / "models.json", json.dumps({"providers": {"ours": provider}}))
    agent = extended(body, env={"PI_CODING_AGENT_DIR": str(home), "LINNET_HOME": str(home)})
    assert results(agent.run("!tool sub {}")) == [("sub", False, "Hello from the scripted model.")]


def test_the_host_is_plain_javascript_that_imports_nothing_of_others() -> None:
    folder = Path(places.__file__).parent / "host"
    sources = list(folder.rglob("*.js"))
    assert len(sources) > 15
    for source in sources:
        text = source.read_text()
        assert text.count("\n") <= 400
        for name in re.findall(r'^(?:import|export)\b[^;]*?from\s+"([^"]+)"', text, re.MULTILINE):
            assert name.startswith(("node:", "./", "../")), f"{source.name}: {name}"
