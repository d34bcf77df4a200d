"""Extensions for pi and their session: what they read of it at once, do to it, and how they come and go with it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Frame
from linnet.testing.model_server import ModelServer
from tests.extensions.node.bench import Driven, errors, notices

Start = Callable[..., Driven]
pytestmark = pytest.mark.foreign


def told(agent: Driven, command: str) -> Any:
    """Run a command that notifies of one JSON value, and return that."""
    [shown] = agent.command(command)
    return json.loads(shown)


def test_getters_of_the_session_answer_at_once_inside_a_handler(extended: Start) -> None:
    body = """
    pi.registerCommand("read", { handler: async (args, ctx) => {
      const { sessionManager: session } = ctx;
      pi.appendEntry("mine", { n: 1 });
      const last = session.getLeafEntry();
      pi.setLabel(last.id, "here");
      pi.setSessionName("named");
      let refused = "";
      try { pi.setLabel("zz", "x"); } catch (fault) { refused = fault.message; }
      ctx.ui.notify(JSON.stringify({
        custom: [last.type, last.customType, last.data],
        branch: session.getBranch().map((entry) => entry.type),
        label: session.getLabel(last.id), missing: session.getLabel("zz") ?? null, refused,
        name: pi.getSessionName(), file: typeof session.getSessionFile(), idle: ctx.isIdle(),
        pending: ctx.hasPendingMessages(), level: pi.getThinkingLevel(),
        commands: pi.getCommands().map((it) => it.name),
        usage: ctx.getContextUsage().tokens > 0, found: ctx.modelRegistry.find("anthropic", ctx.model.id).id,
        nothing: ctx.modelRegistry.find("anthropic", "no") ?? null, trusted: ctx.isProjectTrusted(),
        prompt: ctx.getSystemPrompt().length > 0, tree: session.getTree().length,
      }));
    } });
    """
    agent = extended(body)
    agent.run("hello")
    said = told(agent, "/read")
    assert said["custom"] == ["custom", "mine", {"n": 1}]
    assert said["branch"][-5:] == ["message", "message", "custom", "label", "session_info"]
    assert (said["label"], said["missing"], said["refused"]) == ("here", None, "Entry zz not found")
    assert (said["name"], said["file"], said["idle"], said["pending"]) == ("named", "string", True, False)
    assert said["commands"] == ["read"]
    assert said["usage"]
    assert said["prompt"]
    assert said["trusted"]
    assert (said["found"], said["nothing"], said["tree"]) == ("claude-sonnet-4-5", None, 1)


def test_dialogs_wait_for_the_user_and_what_is_shown_is_not_answered(extended: Start) -> None:
    body = """
    pi.registerCommand("ask", { handler: async (args, ctx) => {
      const { ui } = ctx;
      ui.setStatus("s", ui.theme.fg("accent", "on")); ui.setStatus("s", undefined);
      ui.setWidget("w", ["a", "b"], { placement: "belowEditor" }); ui.setTitle("t"); ui.setEditorText("e");
      ui.setFooter(() => { throw new Error("drawn"); });
      const all = [await ui.select("which", ["first", "second"]), await ui.confirm("sure", "really"),
        await ui.input("name", "like this"), await ui.editor("text", "begin"), await ui.custom(() => {}) ?? null,
        await ui.select("none", ["x"], { timeout: 1 }) ?? null, ui.setTheme("dark").success];
      ui.notify(JSON.stringify(all));
    } });
    """

    def answers(frame: Frame) -> Frame | None:
        return {"cancelled": True} if frame["title"] == "none" else None

    agent = extended(body, answers=answers)
    assert told(agent, "/ask") == ["first", True, "typed", "edited", None, None, False]
    shown = [frame for frame in agent.agent.seen if frame["type"] == "extension_ui_request"]
    assert [frame["method"] for frame in shown[:5]] == [
        *("setStatus", "setStatus", "setWidget", "setTitle", "set_editor_text")
    ]
    assert shown[0]["statusText"] == "\x1b[38;5;5mon\x1b[39m"
    assert "statusText" not in shown[1]
    assert shown[2]["widgetPlacement"] == "belowEditor"


def test_the_factory_is_called_again_for_another_session_and_what_is_older_is_stale(extended: Start) -> None:
    imports = "let calls = 0; let old;"
    body = """
    calls += 1;
    const mine = calls;
    pi.on("session_start", (event, ctx) => ctx.ui.notify(`start ${event.reason} ${mine}`));
    pi.on("session_shutdown", (event, ctx) => ctx.ui.notify(`end ${event.reason} ${mine}`));
    pi.registerCommand("keep", { handler: async (args, ctx) => { old = { pi, ctx }; } });
    pi.registerCommand("use", { handler: async (args, ctx) => {
      for (const use of [() => old.ctx.isIdle(), () => old.pi.getActiveTools()]) {
        try { use(); ctx.ui.notify("works"); } catch (fault) { ctx.ui.notify(fault.message.slice(0, 27)); }
      }
    } });
    """
    agent = extended(body, imports=imports)
    agent.command("/keep")
    agent.ask("new_session")
    assert agent.command("/use")[-2:] == ["This extension ctx is stale"] * 2
    assert notices(agent.agent.seen)[:3] == ["start startup 1", "end new 1", "start new 2"]
    assert notices(agent.agent.end()) == ["end quit 2"]


def test_a_command_leads_to_another_session_and_goes_on_there(extended: Start, server: ModelServer) -> None:
    body = """
    pi.registerCommand("fresh", { handler: async (args, ctx) => {
      const before = ctx.sessionManager.getSessionId();
      const done = await ctx.newSession({ withSession: async (fresh) => {
        fresh.ui.notify(String(fresh.sessionManager.getSessionId() !== before));
        await fresh.sendUserMessage("begun here");
      } });
      if (done.cancelled) throw new Error("cancelled");
    } });
    pi.on("session_start", async (event) => { if (event.reason === "new") pi.appendEntry("seen", event.reason); });
    """
    agent = extended(body)
    agent.run("hello")
    agent.agent.send({"id": "asked", "type": "prompt", "message": "/fresh"})
    frames = agent.until(lambda frame: frame["type"] == "agent_end")
    assert "true" in notices(frames)
    assert "begun here" in str(server.requests[-1].body["messages"])
    assert "hello" not in str(server.requests[-1].body["messages"])
    assert '"customType":"seen"' in json.dumps(agent.ask("get_entries")[-1]["data"], separators=(",", ":"))


def test_extensions_are_read_again_from_the_file_as_it_is_then(extended: Start, tmp_path: Path) -> None:
    body = 'pi.registerCommand("reread", { handler: async (args, ctx) => { await ctx.reload(); } });'
    agent = extended(body)
    agent.command("/reread")
    file = tmp_path / "mine.ts"
    file.write_text(
        file.read_text().replace(
            "pi.registerCommand", 'pi.registerCommand("added", { handler() {} });\npi.registerCommand'
        )
    )
    frames = agent.ask("prompt", message="/reread")
    assert errors(frames) == []
    listed = agent.ask("get_commands")[-1]["data"]["commands"]
    assert sorted(command["name"] for command in listed) == ["added", "reread"]


def test_the_end_is_awaited_and_programs_run_in_it(extended: Start, tmp_path: Path) -> None:
    body = """
    pi.on("session_shutdown", async (event, ctx) => {
      const done = await pi.exec("sh", ["-c", "echo out; echo err >&2; exit 3"]);
      const missing = await pi.exec("no-such-program", []);
      const late = await pi.exec("sleep", ["30"], { timeout: 20 });
      const fs = await import("node:fs");
      fs.writeFileSync("left.json", JSON.stringify([event.reason, done, missing.code, late.killed]));
    });
    """
    agent = extended(body)
    agent.run("hello")
    agent.agent.end()
    assert agent.agent.wait() == 0
    reason, done, missing, killed = json.loads((tmp_path / "work" / "left.json").read_text())
    assert (reason, missing, killed) == ("quit", 1, True)
    assert done == {"stdout": "out\n", "stderr": "err\n", "code": 3, "killed": False, "truncated": False}


def test_a_model_that_is_set_when_the_session_starts_holds_for_the_first_prompt(
    extended: Start, server: ModelServer
) -> None:
    body = """
    pi.on("session_start", async (event, ctx) => {
      const done = await pi.setModel(ctx.modelRegistry.find("anthropic", "claude-haiku-4-5"));
      pi.setThinkingLevel("low");
      ctx.ui.notify(`${done} ${ctx.model.id} ${pi.getThinkingLevel()}`);
    });
    """
    agent = extended(body)
    assert notices(agent.run("hello")) == ["true claude-haiku-4-5 low"]
    assert server.requests[-1].body["model"] == "claude-haiku-4-5"


def test_an_extension_ends_the_agent_when_it_has_nothing_left_to_do(extended: Start) -> None:
    agent = extended('pi.registerCommand("bye", { handler: async (args, ctx) => ctx.shutdown() });')
    agent.ask("prompt", message="/bye")
    assert agent.agent.wait() == 0


def test_models_are_asked_beside_the_conversation_and_brought_by_a_function(
    extended: Start, server: ModelServer
) -> None:
    imports = 'import { createAssistantMessageEventStream } from "@earendil-works/pi-ai";'
    body = """
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    pi.registerProvider("mine", { baseUrl: "http://nowhere", apiKey: "k", api: "mine-api",
      models: [{ id: "echo", name: "Echo", reasoning: false, input: ["text"], contextWindow: 9, maxTokens: 9, cost }],
      streamSimple(model, context) {
        const stream = createAssistantMessageEventStream();
        const message = { role: "assistant", content: [{ type: "text", text: "" }], usage: { input: 3, output: 4 } };
        queueMicrotask(() => {
          const delta = `echo ${context.messages.at(-1).content[0].text}`;
          stream.push({ type: "text_delta", contentIndex: 0, delta, partial: message });
          stream.push({ type: "done", reason: "stop", message });
        });
        return stream;
      } });
    pi.registerVirtualModel({ provider: "auto", id: "best", name: "Best", contextWindow: 9, maxTokens: 9,
      route: async (request, ctx) => ({ model: ctx.modelRegistry.find("mine", "echo") }) });
    pi.registerCommand("aside", { handler: async (args, ctx) => {
      const user = { role: "user", content: [{ type: "text", text: "aside" }], timestamp: 1 };
      const reply = await ctx.modelRegistry.complete(ctx.model, { systemPrompt: "short", messages: [user] });
      ctx.ui.notify(JSON.stringify([reply.stopReason, reply.content[0].text]));
    } });
    """
    agent = extended(body, imports=imports)
    assert told(agent, "/aside") == ["stop", "Hello from the scripted model."]
    assert agent.ask("get_messages")[-1]["data"]["messages"] == []
    for provider, model in (("mine", "echo"), ("auto", "best")):
        assert agent.ask("set_model", provider=provider, modelId=model)[-1]["success"]
        reply = agent.run("hello")[-1]["messages"][-1]
        assert reply["content"][0]["text"] == "echo hello"
        assert reply["usage"]["output"] == 4
    assert len(server.requests) == 1


def test_messages_of_an_extension_wait_for_the_next_prompt_or_begin_a_run(extended: Start, server: ModelServer) -> None:
    body = """
    pi.registerCommand("say", { handler: async (how) => {
      pi.sendMessage({ customType: "weather", content: `${how} rain`, display: true, details: { wet: true } },
        how === "run" ? { triggerTurn: true } : how === "next" ? { deliverAs: "nextTurn" } : {});
    } });
    """
    agent = extended(body)
    kinds = [f["message"]["role"] for f in agent.ask("prompt", message="/say now") if f["type"] == "message_end"]
    assert kinds == ["custom"]
    agent.command("/say next")
    assert len(server.requests) == 0
    agent.run("hello")
    sent = str(server.requests[-1].body["messages"])
    assert sent.index("now rain") < sent.index("hello") < sent.index("next rain")
    agent.agent.send({"type": "prompt", "message": "/say run"})
    agent.until(lambda frame: frame["type"] == "agent_end")
    assert "run rain" in str(server.requests[-1].body["messages"])
