"""Every key of settings.json, by what it changes: the same is done without it and with it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from linnet import Config, Runtime
from linnet.runtime.config.config import ZOT
from linnet.runtime.config.setting_keys import keys
from linnet.runtime.settings.settings import resolve
from linnet.sdk.event_types import CompactionStart, RetryStart
from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer
from tests.settings.conftest import Bench
from tests.suite.forked import ForkedAgent
from tests.suite.hosts import deaf_host


class Stage:
    """linnet in this process or as another, on a server of models, with a settings.json that says what is given."""

    def __init__(self, bench: Bench, server: ModelServer) -> None:
        self.bench = bench
        self.server = server
        self.mark = bench.home / "mark"

    def say(self, said: dict[str, Any]) -> None:
        self.bench.settings.write_text(json.dumps(said))

    def runtime(self, said: dict[str, Any], **asked: Any) -> Runtime:
        self.say(said)
        return Runtime(cwd=self.bench.work, **{"base_url": self.server.url, "api_key": "x", **asked})

    def run(self, text: str, said: dict[str, Any], **asked: Any) -> Any:
        with self.runtime(said, **asked) as runtime:
            return runtime.run(text)

    def sent(self, said: dict[str, Any], **asked: Any) -> dict[str, Any]:
        """The request that a prompt leads to."""
        self.run("hello", said, **asked)
        body: dict[str, Any] = self.server.requests[-1].body
        return body

    def requests(self, text: str, said: dict[str, Any]) -> int:
        """How many requests a prompt leads to."""
        before = len(self.server.requests)
        self.run(text, said)
        return len(self.server.requests) - before

    def bash(self, command: str, said: dict[str, Any]) -> str:
        """What the model reads of a command."""
        result = self.run(f"!tool bash {json.dumps({'command': command})}", said)
        return json.dumps([str(message) for message in result.messages])

    def agent(self, said: dict[str, Any], *words: str) -> Agent:
        self.say(said)
        return ForkedAgent(
            *words, "--base-url", self.server.url, "--api-key", "x", cwd=self.bench.work, env=self.bench.env
        )

    def pi(self, said: dict[str, Any], *words: str) -> Agent:
        return self.agent(said, "--mode", "rpc", *words)

    def starts_server(self, said: dict[str, Any]) -> bool:
        """Whether a server that the user has is started."""
        self.mark.unlink(missing_ok=True)
        self.run("hello", said)
        return self.mark.exists()

    @property
    def mcp(self) -> dict[str, Any]:
        return {"marking": {"command": "/bin/sh", "args": ["-c", f"touch {self.mark}"]}}


Effect: TypeAlias = Callable[[Stage], None]


def provider(stage: Stage) -> None:
    with stage.runtime({}) as default, stage.runtime({"provider": "openai"}) as other:
        assert (default.state().provider, other.state().provider) == ("anthropic", "openai")
        other.run("hello")
    assert stage.server.requests[-1].path.endswith("/chat/completions")


def model(stage: Stage) -> None:
    assert stage.sent({})["model"] != "claude-opus-4-5"
    assert stage.sent({"model": "claude-opus-4-5"})["model"] == "claude-opus-4-5"


def models(stage: Stage) -> None:
    assert stage.sent({"models": ["claude-opus-4-?"]})["model"] == "claude-opus-4-8"


def base_url(stage: Stage) -> None:
    stage.run("hello", {"base_url": stage.server.url}, base_url=None)
    assert len(stage.server.requests) == 1


def api(stage: Stage) -> None:
    stage.sent({"api": "openai-responses"}, provider="openai")
    assert stage.server.requests[-1].path == "/v1/responses"


def system_prompt(stage: Stage) -> None:
    system = json.dumps(stage.sent({"system_prompt": "Be a bird."})["system"])
    assert "Be a bird." in system
    assert "coding agent" not in system


def append_system_prompt(stage: Stage) -> None:
    system = json.dumps(stage.sent({"append_system_prompt": "Be a bird."})["system"])
    assert "Be a bird." in system
    assert "coding agent" in system


def reasoning(stage: Stage) -> None:
    assert stage.sent({})["thinking"]["type"] == "disabled"
    assert stage.sent({"reasoning": "high"})["thinking"]["type"] == "adaptive"


def max_steps(stage: Stage) -> None:
    loop = '!loop 3 bash {"command": "true"}'
    assert stage.requests(loop, {}) == 4
    assert stage.requests(loop, {"max_steps": 2}) == 2


def tools(stage: Stage) -> None:
    assert {tool["name"] for tool in stage.sent({})["tools"]} > {"read", "bash"}
    assert [tool["name"] for tool in stage.sent({"tools": ["read"]})["tools"]] == ["read"]


def exclude_tools(stage: Stage) -> None:
    left = [tool["name"] for tool in stage.sent({"exclude_tools": ["b*", "write"]})["tools"]]
    assert left == ["edit", "read"]


def builtin_tools(stage: Stage) -> None:
    assert "tools" not in stage.sent({"builtin_tools": False})


def timeout(stage: Stage) -> None:
    result = stage.run("!hang", {"timeout": 0.2, "retries": 0})
    assert (result.stop, result.code) == ("error", "provider_unavailable")


def connect_timeout(stage: Stage) -> None:
    with deaf_host() as port:
        url = f"http://127.0.0.1:{port}"
        result = stage.run("hi", {"connect_timeout": 0.2, "retries": 0}, base_url=url)
    assert result.code == "provider_unavailable"
    assert result.error.endswith("no answer within 0.2 s (connect_timeout)")


def first_byte_timeout(stage: Stage) -> None:
    result = stage.run("!hanghead", {"first_byte_timeout": 0.2, "retries": 0})
    assert result.code == "provider_unavailable"
    assert result.error.endswith("did not begin to answer within 0.2 s (first_byte_timeout)")


def retries(stage: Stage) -> None:
    quick = {"retry_delay": 0.001}
    assert stage.requests("!fail 503 9", quick) == 4
    assert stage.requests("!fail 503 8", {**quick, "retries": 1}) == 2


def delays(stage: Stage, said: dict[str, Any]) -> list[int]:
    with stage.runtime(said) as runtime, runtime.prompt("!fail 503 1") as run:
        return [event.delay_ms for event in run if isinstance(event, RetryStart)]


def retry_delay(stage: Stage) -> None:
    assert delays(stage, {"retry_delay": 0.02}) == [20]


def retry_runs(stage: Stage) -> None:
    assert delays(stage, {"retry_runs": False}) == []


def compacts(stage: Stage, said: dict[str, Any]) -> bool:
    with stage.runtime(said) as runtime:
        told = [event for _ in range(4) for event in runtime.prompt("hello")]
        return any(isinstance(event, CompactionStart) for event in told)


def compact_reserve(stage: Stage) -> None:
    assert not compacts(stage, {"compact_keep": 1})
    assert compacts(stage, {"compact_keep": 1, "compact_reserve": 10_000_000})


def auto_compaction(stage: Stage) -> None:
    full = {"compact_keep": 1, "compact_reserve": 10_000_000}
    assert compacts(stage, full)
    assert not compacts(stage, {**full, "auto_compaction": False})


def compact_keep(stage: Stage) -> None:
    def compacted(said: dict[str, Any]) -> bool:
        with stage.pi(said, "--no-session") as agent:
            for _ in range(3):
                agent.send({"type": "prompt", "message": "hello " * 50})
                agent.until("agent_end")
            return bool(agent.ask("compact")["success"])

    assert not compacted({})
    assert compacted({"compact_keep": 10})


def keep_messages(stage: Stage) -> None:
    def left(said: dict[str, Any]) -> int:
        with stage.runtime(said) as runtime:
            for _ in range(4):
                runtime.run("hello")
            runtime.compact()
            return len(runtime.messages())

    assert (left({}), left({"keep_messages": 2})) == (5, 3)


def session_dir(stage: Stage) -> None:
    folder = stage.bench.home / "elsewhere"
    stage.run("hello", {"session_dir": "elsewhere"}, save=True)
    assert len(list(folder.glob("*.jsonl"))) == 1


def save(stage: Stage) -> None:
    assert stage.run("hello", {}).session_file is None
    kept = stage.run("hello", {"save": True}).session_file
    assert kept is not None
    assert Path(kept).exists()


def confine(stage: Stage) -> None:
    outside = str(stage.bench.home.parent / "page.html")

    def exported(said: dict[str, Any]) -> bool:
        with stage.pi(said) as agent:
            agent.send({"type": "prompt", "message": "hello"})
            agent.until("agent_end")
            return bool(agent.ask("export_html", outputPath=outside)["success"])

    assert exported({})
    assert not exported({"confine": True})


def permission(stage: Stage) -> None:
    assert "Denied" not in stage.bash("echo ran", {})
    assert "Denied" in stage.bash("echo ran", {"permission": "read-only"})


def rules(stage: Stage) -> None:
    said = {"rules": ["deny bash", "allow bash:echo"]}
    assert "Denied" not in stage.bash("echo ran", said)
    assert "Denied" in stage.bash("ls", said)


def question_timeout(stage: Stage) -> None:
    with stage.agent({"permission": "ask", "question_timeout": 0.05}, "rpc") as agent:
        frames = agent.prompt('!tool bash {"command": "true"}')
    assert [frame["reason"] for frame in frames if frame["type"] == "question_closed"] == ["expired"]


def trust(stage: Stage) -> None:
    stage.bench.plant(".linnet/settings.json", '{"append_system_prompt": "Be a bird."}')
    assert "Be a bird." not in json.dumps(stage.sent({})["system"])
    assert "Be a bird." in json.dumps(stage.sent({"trust": True})["system"])


def shell(stage: Stage) -> None:
    program = stage.bench.plant("mine", '#!/bin/sh\necho mine\nexec /bin/sh "$@"\n', mode=0o755)
    said = {"shell": str(program)}
    assert "mine\\nran" not in stage.bash("echo ran", {})
    assert "mine" in stage.bash("echo ran", said)
    with stage.runtime(said) as runtime:
        assert runtime.bash("echo ran").output == "mine\nran\n"


def shell_prefix(stage: Stage) -> None:
    said = {"shell_prefix": "greet() { echo hello $1; }\nset -u"}
    assert "hello bird" in stage.bash("greet bird", said)
    with stage.runtime(said) as runtime:
        assert runtime.bash("greet bird").output == "hello bird\n"
        assert runtime.bash("echo $nothing").exit_code != 0


def heard_together(stage: Stage, said: dict[str, Any], command: str) -> bool:
    """Whether two messages that are sent while the agent works reach the model in one request."""
    gate = f"{command}-{len(said)}"
    with stage.pi(said, "--no-session") as agent:
        agent.send({"type": "prompt", "message": f"!gate {gate}"})
        agent.until("message_update")
        for text in ("first thing", "second thing"):
            assert agent.ask(command, message=text)["success"]
        stage.server.release(gate)
        agent.until("agent_end")
    texts = [json.dumps(request.body) for request in stage.server.requests]
    return any("second thing" in text for text in texts if text == next(t for t in texts if "first thing" in t))


def steering_mode(stage: Stage) -> None:
    assert not heard_together(stage, {}, "steer")
    stage.server.requests.clear()
    assert heard_together(stage, {"steering_mode": "all"}, "steer")


def follow_up_mode(stage: Stage) -> None:
    assert not heard_together(stage, {}, "follow_up")
    stage.server.requests.clear()
    assert heard_together(stage, {"follow_up_mode": "all"}, "follow_up")


def mcp_servers(stage: Stage) -> None:
    assert not stage.starts_server({})
    assert stage.starts_server({"mcp_servers": stage.mcp})


def mcp_config(stage: Stage) -> None:
    (stage.bench.home / "mine.json").write_text(json.dumps({"mcpServers": stage.mcp}))
    assert not stage.starts_server({})
    assert stage.starts_server({"mcp_config": ["mine.json"]})


def mcp(stage: Stage) -> None:
    (stage.bench.home / "mcp.json").write_text(json.dumps({"mcpServers": stage.mcp}))
    assert stage.starts_server({})
    assert not stage.starts_server({"mcp": False})


def mcp_wait(stage: Stage) -> None:
    """A server that never says anything: who does not wait for it has an answer before the wait would be over."""
    stage.say({"mcp_wait": 0.01, "mcp_servers": {"mute": {"command": "/bin/sh", "args": ["-c", "sleep 60"]}}})
    environ = {"LINNET_HOME": str(stage.bench.home), "ANTHROPIC_API_KEY": "x"}
    assert resolve(Config(cwd=stage.bench.work), environ, ZOT).mcp_wait == 0.01
    with Runtime(cwd=stage.bench.work, base_url=stage.server.url, api_key="x") as runtime:
        assert runtime.run("hello").stop == "end_turn"


def calls_at_once(stage: Stage) -> None:
    """The first call ends well only if the second runs beside it."""
    waits = {"command": "until [ -e met ]; do sleep 0.01; done; rm met; echo met them", "timeout": 1}
    calls = json.dumps([["bash", waits], ["bash", {"command": "touch met"}]])
    assert "met them" in str(stage.run(f"!tools {calls}", {"calls_at_once": 2}).messages[2].content)
    assert "timed out" in str(stage.run(f"!tools {calls}", {}).messages[2].content)


SKILL = "---\nname: sing\ndescription: How to sing.\n---\nTweet."


def context_files(stage: Stage) -> None:
    stage.bench.plant("AGENTS.md", "Be a bird.")
    assert "Be a bird." in json.dumps(stage.sent({})["system"])
    assert "Be a bird." not in json.dumps(stage.sent({"context_files": False})["system"])


def said_for(stage: Stage, text: str, said: dict[str, Any]) -> str:
    """What the model reads where somebody typed this."""
    stage.run(text, said)
    return json.dumps(stage.server.requests[-1].body["messages"])


def templates(stage: Stage) -> None:
    (stage.bench.home / "prompts").mkdir()
    (stage.bench.home / "prompts" / "sing.md").write_text("Tweet $1")
    assert "Tweet loud" in said_for(stage, "/sing loud", {})
    assert "/sing loud" in said_for(stage, "/sing loud", {"templates": False})


def template_paths(stage: Stage) -> None:
    (stage.bench.home / "mine").mkdir()
    (stage.bench.home / "mine" / "sing.md").write_text("Tweet $1")
    assert "/sing loud" in said_for(stage, "/sing loud", {})
    assert "Tweet loud" in said_for(stage, "/sing loud", {"template_paths": ["mine"]})


def skills(stage: Stage) -> None:
    (stage.bench.home / "skills" / "sing").mkdir(parents=True)
    (stage.bench.home / "skills" / "sing" / "SKILL.md").write_text(SKILL)
    assert "How to sing." in json.dumps(stage.sent({}))
    assert "How to sing." not in json.dumps(stage.sent({"skills": False}))


def skill_paths(stage: Stage) -> None:
    (stage.bench.home / "mine" / "sing").mkdir(parents=True)
    (stage.bench.home / "mine" / "sing" / "SKILL.md").write_text(SKILL)
    assert "How to sing." not in json.dumps(stage.sent({}))
    assert "How to sing." in json.dumps(stage.sent({"skill_paths": ["mine"]}))


def pass_keys(stage: Stage) -> None:
    command = "echo the key is $ANTHROPIC_API_KEY."
    stage.bench.env["ANTHROPIC_API_KEY"] = "hush"

    def heard(said: dict[str, Any]) -> str:
        with stage.pi(said, "--no-session") as agent:
            return str(agent.ask("bash", command=command)["data"]["output"])

    assert heard({}) == "the key is .\n"
    assert heard({"pass_keys": True}) == "the key is hush.\n"


def sandboxed(stage: Stage, said: dict[str, Any]) -> dict[str, Any] | None:
    with stage.agent(said, "rpc") as agent:
        found: dict[str, Any] | None = agent.ask("get_state")["data"].get("sandbox")
        return found


def sandbox(stage: Stage) -> None:
    assert sandboxed(stage, {}) is None
    assert sandboxed(stage, {"sandbox": True}) == {"engine": "bubblewrap", "network": False}


def sandbox_network(stage: Stage) -> None:
    assert sandboxed(stage, {"sandbox": True, "sandbox_network": True}) == {"engine": "bubblewrap", "network": True}


def sandbox_hosts(stage: Stage) -> None:
    assert sandboxed(stage, {"sandbox": True, "sandbox_hosts": ["a.org", "*.b.org"]}) == {
        "engine": "bubblewrap",
        "network": False,
        "hosts": ["a.org", "*.b.org"],
    }


def sandbox_files(stage: Stage) -> None:
    assert sandboxed(stage, {"sandbox_files": True}) == {"engine": "landlock", "network": True}


def sandbox_extensions(stage: Stage) -> None:
    folder = stage.bench.home / "program"
    folder.mkdir()
    code = """
import json, sys
def send(**frame): print(json.dumps(frame), flush=True)
try:
    open(sys.argv[1], "w").close()
except OSError:
    pass
send(type="hello", name="program")
send(type="ready")
sys.stdin.read()
"""
    (folder / "main.py").write_text(code)
    said = {"name": "program", "exec": sys.executable, "args": ["-I", "-S", "main.py", str(stage.mark)]}
    (folder / "extension.json").write_text(json.dumps(said))
    for confined in (True, False):
        with stage.agent(
            {"sandbox": True, "sandbox_extensions": confined, "extensions": [str(folder)]}, "rpc"
        ) as agent:
            agent.prompt("hi")
        assert stage.mark.exists() is not confined


def max_cost(stage: Stage) -> None:
    loop = '!loop 3 bash {"command": "true"}'
    assert stage.requests(loop, {}) == 4
    assert stage.requests(loop, {"max_cost": 1e-9}) < 4


def max_seconds(stage: Stage) -> None:
    result = stage.run("!hang", {"max_seconds": 0.2, "retries": 0})
    assert result.stop != "end_turn"
    assert "max_seconds" in (result.error or "")


def bash_timeout(stage: Stage) -> None:
    assert "timed out" in stage.bash("sleep 60", {"bash_timeout": 0.1})


def prompt_cache(stage: Stage) -> None:
    assert stage.sent({})["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert stage.sent({"prompt_cache": "long"})["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "cache_control" not in json.dumps(stage.sent({"prompt_cache": "off"}))


def max_reply(stage: Stage) -> None:
    assert stage.run("hi", {}).error is None
    assert "larger than 100 bytes (max_reply)" in (stage.run("hi", {"max_reply": 100, "retries": 0}).error or "")


EXTENSION = """
def extend(linnet):
    given = linnet.flag("plan", description="what to do", default="nothing")

    @linnet.command("plan", description="say it")
    def plan(args, ctx):
        import time
        time.sleep(float(args or 0))
        ctx.notify(f"the plan is {given}")
"""


def planned(stage: Stage, said: dict[str, Any]) -> str | None:
    """What the command of an extension says, if there is one."""
    with stage.pi(said, "--no-session") as agent:
        listed = [command["name"] for command in agent.ask("get_commands")["data"]["commands"]]
        if "plan" not in listed:
            return None
        agent.send({"type": "prompt", "message": "/plan"})
        return str(agent.until("extension_ui_request")[-1]["message"])


def extensions(stage: Stage) -> None:
    (stage.bench.home / "mine.py").write_text(EXTENSION)
    assert planned(stage, {}) is None
    assert planned(stage, {"extensions": ["mine.py"]}) == "the plan is nothing"


def find_extensions(stage: Stage) -> None:
    (stage.bench.home / "extensions").mkdir()
    (stage.bench.home / "extensions" / "mine.py").write_text(EXTENSION)
    assert planned(stage, {}) == "the plan is nothing"
    assert planned(stage, {"find_extensions": False}) is None


def extension_flags(stage: Stage) -> None:
    (stage.bench.home / "mine.py").write_text(EXTENSION)
    said = {"extensions": ["mine.py"], "extension_flags": {"plan": "to sing"}}
    assert planned(stage, said) == "the plan is to sing"


def extension_wait(stage: Stage) -> None:
    (stage.bench.home / "mine.py").write_text("import time; time.sleep(600)\n")
    with stage.pi({"extensions": ["mine.py"], "extension_wait": 0.1}, "--no-session") as agent:
        assert agent.wait() == 1
        assert "it took longer than 0.1 s" in agent.stderr


def hook_timeout(stage: Stage) -> None:
    hook = "import time\ndef extend(linnet):\n    linnet.on('tool_call')(lambda event, ctx: time.sleep(30))\n"
    (stage.bench.home / "mine.py").write_text(hook)
    with stage.pi({"extensions": ["mine.py"], "hook_timeout": 0.1}, "--no-session") as agent:
        agent.send({"type": "prompt", "message": '!tool bash {"command": "true"}'})
        told = agent.until("agent_end")
    assert any(frame["type"] == "hook_error" and "0.1" in frame["error"] for frame in told)


HERE: tuple[Effect, ...] = (
    provider, model, models, base_url, api, system_prompt, append_system_prompt, reasoning, max_steps, tools, timeout,
    exclude_tools, builtin_tools,
    connect_timeout, first_byte_timeout, retries, retry_delay, retry_runs, compact_reserve, auto_compaction,
    compact_keep, keep_messages, session_dir, save, confine, permission, rules, question_timeout, trust, shell,
    shell_prefix, steering_mode, follow_up_mode, mcp_servers, mcp_config, mcp, mcp_wait, calls_at_once, context_files,
    templates, template_paths, skills, skill_paths, pass_keys, sandbox, sandbox_network, sandbox_hosts, sandbox_files,
    sandbox_extensions, max_cost, max_seconds, bash_timeout, max_reply, prompt_cache, extensions, find_extensions,
    extension_wait, extension_flags, hook_timeout,
)  # fmt: skip
EFFECTS = {effect.__name__: effect for effect in HERE}


def test_the_effect_of_every_key_is_known() -> None:
    """Whoever adds a field to Config says here what it changes."""
    assert set(EFFECTS) == set(keys())


@pytest.mark.parametrize("key", EFFECTS)
def test_a_setting_has_its_effect(here: Bench, server: ModelServer, key: str) -> None:
    EFFECTS[key](Stage(here, server))
