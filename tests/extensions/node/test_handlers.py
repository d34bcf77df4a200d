"""What handlers of extensions for pi are asked and told, and what becomes of what they return."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from linnet.testing.agent import types
from linnet.testing.model_server import ModelServer
from tests.extensions.node.bench import Driven, errors, notices, results

Start = Callable[..., Driven]
pytestmark = pytest.mark.foreign
TODAY = ("--pi-version", "1.5.0")


@pytest.mark.parametrize(
    ("returned", "failed", "text"),
    [
        ('return { block: true, reason: "not now" }', True, "not now"),
        ("return { block: true }", True, "Tool execution was blocked"),
        ('throw new Error("broken")', True, "broken"),
        ('throw "words"', True, "Extension failed, blocking execution: words"),
        ('event.input.command = "echo other"', False, "other\n"),
        ('return { reason: "only this" }', False, "asked\n"),
    ],
)
def test_a_call_is_blocked_changed_or_let_through(extended: Start, returned: str, failed: bool, text: str) -> None:
    frames = extended(f'pi.on("tool_call", async (event) => {{ {returned}; }});').run(
        '!tool bash {"command": "echo asked"}'
    )
    assert results(frames) == [("bash", failed, text)]
    assert errors(frames) == []


def test_results_are_changed_field_by_field_one_handler_after_the_other(extended: Start) -> None:
    body = """
    const add = (event, mark) => [{ type: "text", text: event.content[0].text.split("\\n")[0] + mark }];
    pi.on("tool_result", (event) => ({ content: add(event, "+") }));
    pi.on("tool_result", (event) => ({ content: add(event, "-"), isError: false }));
    """
    assert results(extended(body).run('!tool bash {"command": "echo x; exit 1"}')) == [("bash", False, "x+-")]


def test_an_input_is_changed_or_seen_to(extended: Start, server: ModelServer) -> None:
    body = """
    pi.on("input", (event, ctx) => {
      if (event.text === "mine") { ctx.ui.notify(event.source); return { action: "handled" }; }
      return { action: "transform", text: event.text + "!" };
    });
    """
    agent = extended(body)
    agent.run("hello")
    assert "hello!" in str(server.requests[-1].body["messages"])
    agent.agent.send({"type": "prompt", "message": "mine"})
    agent.until(lambda frame: frame.get("message") == "rpc")
    assert len(server.requests) == 1


def test_a_run_begins_with_another_prompt_sections_and_messages(extended: Start, server: ModelServer) -> None:
    body = """
    pi.on("before_agent_start", (event) => {
      const { sections, selectedTools } = event.systemPromptOptions;
      sections.manners = `be kind with ${selectedTools.length} tools`;
      return { systemPrompt: event.systemPrompt + " And be quick.",
               message: { customType: "note", content: "said by me", display: false, details: { n: 1 } } };
    });
    """
    frames = extended(body).run("hello")
    system = str(server.requests[-1].body["system"])
    assert "And be quick." in system
    assert "<manners>\\nbe kind with 4 tools\\n</manners>" in system
    assert "said by me" in str(server.requests[-1].body["messages"])
    [custom] = [f["message"] for f in frames if f["type"] == "message_end" and f["message"]["role"] == "custom"]
    assert (custom["customType"], custom["display"], custom["details"]) == ("note", False, {"n": 1})


def test_what_the_model_is_sent_is_changed_and_not_kept(extended: Start, server: ModelServer) -> None:
    body = 'pi.on("context", (event) => ({ messages: event.messages.slice(-1) }));'
    agent = extended(body)
    agent.run("first")
    agent.run("second")
    assert "first" not in str(server.requests[-1].body["messages"])
    assert "first" in str(agent.ask("get_messages")[-1]["data"]["messages"])


def test_requests_and_replies_of_the_vendor_are_seen_and_requests_changed(extended: Start, server: ModelServer) -> None:
    body = """
    const seen = [];
    pi.on("before_provider_request", (event) => ({ ...event.payload, metadata: { user_id: "u" } }));
    pi.on("after_provider_response", (event) => void seen.push(event.status));
    pi.on("provider_stream_event", (event) => void seen.push(event.data.type));
    pi.on("agent_end", (event, ctx) => ctx.ui.notify(seen.join(" ")));
    """
    frames = extended(body).run("hello")
    assert server.requests[-1].body["metadata"] == {"user_id": "u"}
    [shown] = notices(frames)
    assert shown.startswith("200 message_start ")
    assert shown.endswith(" message_delta message_stop")


def test_what_is_said_at_the_end_of_a_run_makes_it_go_on(extended: Start) -> None:
    body = """
    let again = true;
    pi.on("agent_end", () => { if (again) { again = false; pi.sendUserMessage("more", { deliverAs: "followUp" }); } });
    """
    agent = extended(body)
    agent.agent.send({"type": "prompt", "message": "hello"})
    agent.until(lambda frame: frame["type"] == "agent_end")
    frames = agent.until(lambda frame: frame["type"] == "agent_end")
    said = [f["message"]["content"][0]["text"] for f in frames if f["type"] == "message_end"]
    assert said[0] == "more"
    assert types(frames).count("agent_start") == 1


def test_a_handler_that_throws_is_told_and_the_run_goes_on(extended: Start) -> None:
    frames = extended('pi.on("context", () => { throw new Error("boom"); });').run("hello")
    assert errors(frames) == [("context", "boom")]
    assert frames[-1]["messages"][-1]["stopReason"] == "stop"


def test_a_guard_that_hangs_is_a_no_and_so_is_one_whose_host_is_gone(extended: Start) -> None:
    body = """
    pi.on("tool_call", () => new Promise(() => {}));
    pi.registerCommand("die", { handler: async () => process.exit(7) });
    """
    agent = extended(body, "--hook-timeout", "0.5")
    [(_, failed, text)] = results(agent.run('!tool bash {"command": "echo 1"}'))
    assert failed
    assert "it took longer than 0.5 s" in text
    agent.ask("prompt", message="/die")
    [(_, failed, text)] = results(agent.run('!tool bash {"command": "echo 1"}'))
    assert failed
    assert "exited with code 7" in text


def test_an_exception_in_a_timer_is_told_and_ends_nothing(extended: Start) -> None:
    body = """
    pi.registerCommand("later", { handler: async () => void setTimeout(() => { throw new Error("late"); }, 1) });
    """
    agent = extended(body)
    agent.agent.send({"type": "prompt", "message": "/later"})
    agent.until(lambda frame: frame["type"].endswith("_error") and frame["error"] == "late")
    assert agent.run("hello")[-1]["messages"][-1]["stopReason"] == "stop"


def test_a_summary_of_an_extension_is_used_and_a_compaction_called_off(extended: Start, server: ModelServer) -> None:
    body = """
    let first = true;
    pi.on("session_before_compact", (event) => {
      if (first) { first = false; return { cancel: true }; }
      const { tokensBefore, firstKeptEntryId, messagesToSummarize } = event.preparation;
      return { compaction: { summary: `mine of ${messagesToSummarize.length}`, tokensBefore, firstKeptEntryId } };
    });
    """
    agent = extended(body, "--compact-keep", "1")
    agent.run("one")
    agent.run("two")
    assert agent.ask("compact")[-1]["error"] == "Compaction cancelled"
    done: dict[str, Any] = agent.ask("compact")[-1]
    assert done["data"]["summary"].startswith("mine of ")
    assert len(server.requests) == 2


def test_a_command_of_the_client_is_answered_by_an_extension(extended: Start) -> None:
    body = """
    pi.on("user_bash", (event) => event.command === "vim" && { result: { output: "no terminal", exitCode: 1 } });
    """
    agent = extended(body)
    agent.ask("get_commands")
    answer = agent.ask("bash", command="vim")[-1]["data"]
    assert (answer["output"], answer["exitCode"]) == ("no terminal", 1)


def test_the_end_of_a_message_may_replace_it_one_handler_after_the_other(extended: Start, server: ModelServer) -> None:
    body = """
    const order = [];
    for (const name of ["agent_start", "message_start", "message_end", "tool_execution_end"])
      pi.on(name, (event) => void order.push(`${name} ${event.message?.role ?? ""}`.trim()));
    const text = (message, text) => ({ message: { ...message, content: [{ type: "text", text }] } });
    pi.on("message_end", ({ message }) => {
      if (message.role === "user") return text(message, message.content[0].text.replace("asked", "changed"));
      if (message.role === "toolResult") return text(message, "result changed");
      const content = message.content.map((part) =>
        part.type === "text" ? { ...part, text: part.text + "+" } :
        part.type === "toolCall" ? { ...part, arguments: { command: "echo other" } } : part);
      return { message: { ...message, content } };
    });
    pi.on("message_end", ({ message }) => {
      if (message.role === "assistant") return { message: { ...message, content: message.content.map((part) =>
        part.type === "text" ? { ...part, text: part.text + "-" } : part) } };
    });
    pi.on("agent_end", (event, ctx) => ctx.ui.notify(JSON.stringify(order)));
    """
    agent = extended(body, *TODAY)
    frames = agent.run('!tool bash {"command": "echo asked"}')
    assert results(frames) == [("bash", False, "other\n")]
    ends = [f["message"] for f in frames if f["type"] == "message_end"]
    said = [(end["role"], end["content"][0].get("text")) for end in ends if end["role"] != "system"]
    assert said == [
        ("user", '!tool bash {"command": "echo changed"}'),
        ("assistant", "Running.+-"),
        ("toolResult", "result changed"),
        ("assistant", "tool done+-"),
    ]
    assert "result changed" in str(server.requests[-1].body["messages"])
    assert "echo other" in str(server.requests[-1].body["messages"])
    assert "result changed" in str(agent.ask("get_messages")[-1]["data"]["messages"])
    heard = [each for each in json.loads(notices(frames)[0]) if "system" not in each]
    assert heard == [
        "agent_start",
        *("message_start user", "message_end user", "message_start assistant", "message_end assistant"),
        *("tool_execution_end", "message_start toolResult", "message_end toolResult"),
        *("message_start assistant", "message_end assistant"),
    ]


def test_a_message_of_another_role_replaces_none(extended: Start, server: ModelServer) -> None:
    body = 'pi.on("message_end", ({ message }) => ({ message: { ...message, role: "custom", content: "x" } }));'
    frames = extended(body).run("hello")
    wrong = ("message_end", "message_end handlers must return a message with the same role")
    assert errors(frames) == [wrong, wrong]
    assert "hello" in str(server.requests[-1].body["messages"])


def test_headers_of_a_request_are_added_and_taken_away(extended: Start, server: ModelServer) -> None:
    body = """
    pi.on("before_provider_headers", (event, ctx) => {
      ctx.ui.notify(JSON.stringify(event.headers));
      Object.assign(event.headers, { "x-mine": "1", "user-agent": null, host: "elsewhere" });
    });
    """
    frames = extended(body).run("hello")
    assert notices(frames) == ["{}"]
    headers = {name.lower(): value for name, value in server.requests[-1].headers.items()}
    assert headers["x-mine"] == "1"
    assert "user-agent" not in headers
    assert headers["host"] != "elsewhere"


def test_before_the_agent_is_done_an_extension_may_have_it_go_on(extended: Start, server: ModelServer) -> None:
    body = """
    let times = 0;
    pi.on("agent_before_settle", (event, ctx) => {
      times += 1;
      ctx.ui.notify(`${event.outcome} ${event.context.canContinue} ${event.context.contextMessages.at(-1).role}`);
      if (times > 1) return { continue: true };
      const message = { type: "custom_message", customType: "k", content: "once more", display: true };
      return { entries: [message, { type: "custom", customType: "kept", data: { a: 1 } }], continue: true };
    });
    """
    agent = extended(body, *TODAY)
    agent.agent.send({"type": "prompt", "message": "hello"})
    frames = agent.until(lambda frame: frame["type"] == "agent_settled")
    assert notices(frames) == ["completed false assistant"] * 2
    assert types(frames).count("agent_start") == types(frames).count("agent_end") == 2
    assert "once more" in str(server.requests[-1].body["messages"])
    assert len(server.requests) == 2
    why = "agent_before_settle requested continuation without runnable model context"
    assert errors(frames) == [("agent_before_settle", why)]
    kept = [each for each in agent.ask("get_entries")[-1]["data"]["entries"] if each["type"] == "custom"]
    assert [(each["customType"], each["data"]) for each in kept] == [("kept", {"a": 1})]


def test_what_cannot_be_done_at_the_end_of_a_turn_is_said(extended: Start) -> None:
    agent = extended('pi.on("turn_end", () => ({ continue: true }));')
    agent.agent.send({"type": "prompt", "message": "hello"})
    [(event, error)] = errors(agent.until(lambda frame: bool(errors([frame]))))
    assert (event, error.endswith("agent_before_settle can do both")) == ("turn_end", True)


def test_extensions_hear_that_somebody_is_asked(extended: Start) -> None:
    body = """
    for (const name of ["ui_prompt_start", "ui_prompt_end"])
      pi.on(name, ({ reason, kind, title }, ctx) => ctx.ui.notify([name, reason, kind, title].join(" ")));
    pi.registerCommand("ask", { handler: async (args, ctx) => ctx.ui.notify(String(await ctx.ui.confirm("T", "m"))) });
    """
    assert extended(body).command("/ask") == [
        "ui_prompt_start ui_prompt confirm T",
        "ui_prompt_end ui_prompt confirm T",
        "true",
    ]


def test_what_never_happens_here_is_said_once(extended: Start) -> None:
    body = 'for (const each of [1, 2]) pi.on("project_trust", () => ({ trusted: "yes" })); pi.on("no_such", () => {});'
    agent = extended(body)
    agent.run("hello")
    agent.agent.end()
    assert agent.agent.stderr.count("project_trust never happens here") == 1
