"""Tools that extensions for pi bring."""

from collections.abc import Callable
from typing import Any

import pytest

from linnet.testing.model_server import ModelServer
from tests.extensions.node.bench import Driven, notices, results

Start = Callable[..., Driven]
pytestmark = pytest.mark.foreign
TYPES = 'import { Type } from "typebox"; import { defineTool, ExtensionAPI } from "@earendil-works/pi-coding-agent";'
GREET = """
pi.registerTool(defineTool({
  name: "greet", label: "Greet", description: "Say hello", promptSnippet: "Greets people",
  promptGuidelines: ["Use greet when somebody comes in."],
  parameters: Type.Object({ name: Type.String({ description: "Who" }), often: Type.Optional(Type.Number()) }),
  async execute(id, params, signal, onUpdate, ctx) {
    onUpdate({ content: [{ type: "text", text: "one" }] });
    onUpdate({ content: [{ type: "text", text: "one, two" }] });
    const text = `Hello ${params.name} ${typeof params.often} from ${ctx.model.id} in ${ctx.mode}`;
    return { content: [{ type: "text", text }], details: { greeted_by: params.name } };
  },
}));
"""


def offered(server: ModelServer, name: str) -> dict[str, Any]:
    tools: list[dict[str, Any]] = server.requests[-1].body["tools"]
    return next(tool for tool in tools if tool["name"] == name)


def test_a_tool_has_the_schema_of_its_types_and_what_it_returns_is_the_result(
    extended: Start, server: ModelServer
) -> None:
    frames = extended(GREET, imports=TYPES).run('!tool greet {"name": "Ann", "often": "2"}')
    assert results(frames) == [("greet", False, "Hello Ann number from claude-sonnet-4-5 in rpc")]
    [ended] = [frame for frame in frames if frame["type"] == "tool_execution_end"]
    assert ended["result"]["details"] == {"greeted_by": "Ann"}
    updates = [frame for frame in frames if frame["type"] == "tool_execution_update"]
    assert updates[-1]["partialResult"]["content"] == [{"type": "text", "text": "one, two"}]
    assert offered(server, "greet")["input_schema"] == {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "Who"}, "often": {"type": "number"}},
        "required": ["name"],
    }
    system = str(server.requests[-1].body["system"])
    assert "greet: Greets people" in system
    assert "Use greet when somebody comes in." in system


def test_arguments_that_do_not_fit_are_refused_in_pis_words(extended: Start) -> None:
    [(_, failed, text)] = results(extended(GREET, imports=TYPES).run("!tool greet {}"))
    assert failed
    assert text == 'Validation failed for tool "greet":\n  - name: missing\n\nReceived arguments:\n{}'


def test_what_a_tool_throws_is_what_the_model_reads(extended: Start) -> None:
    body = 'pi.registerTool({ name: "t", parameters: {}, execute() { throw new Error("no luck"); } });'
    assert results(extended(body).run("!tool t {}")) == [("t", True, "no luck")]


def test_a_tool_may_say_that_the_model_need_not_be_asked_again(extended: Start, server: ModelServer) -> None:
    body = """
    const content = [{ type: "text", text: "final" }];
    pi.registerTool({ name: "t", parameters: {}, execute: async () => ({ content, terminate: true }) });
    """
    agent = extended(body)
    assert results(agent.run("!tool t {}")) == [("t", False, "final")]
    assert len(server.requests) == 1
    agent.run("and now")
    assert len(server.requests) == 2


def test_an_abort_reaches_the_signal_of_a_tool(extended: Start) -> None:
    body = """
    pi.registerTool({ name: "t", parameters: {}, execute: (id, params, signal, onUpdate, ctx) => new Promise((done) => {
      signal.addEventListener("abort", () => { ctx.ui.notify("seen"); done({ content: [] }); });
      ctx.ui.notify("begun");
    }) });
    """
    agent = extended(body)
    agent.agent.send({"type": "prompt", "message": "!tool t {}"})
    agent.until(lambda frame: frame.get("message") == "begun")
    agent.agent.send({"type": "abort"})
    agent.until(lambda frame: frame.get("message") == "seen")


def test_a_tool_that_is_registered_in_a_command_is_offered_with_the_next_request(
    extended: Start, server: ModelServer
) -> None:
    body = """
    pi.registerCommand("add", { handler: async () => {
      pi.registerTool({ name: "late", description: "x", parameters: {}, execute: async () => ({ content: [] }) });
    } });
    """
    agent = extended(body)
    agent.command("/add")
    agent.run("hello")
    assert offered(server, "late")


def test_the_tools_that_the_model_has_can_be_chosen(extended: Start, server: ModelServer) -> None:
    body = """
    pi.registerTool({ name: "mine", parameters: {}, execute: async () => ({ content: [] }) });
    pi.registerCommand("only", { handler: async (args, ctx) => {
      pi.setActiveTools(["read", "mine", "nonsense"]);
      ctx.ui.notify(JSON.stringify([pi.getActiveTools().sort(), pi.getAllTools().map((t) => t.name).sort()]));
    } });
    """
    agent = extended(body)
    assert agent.command("/only") == ['[["mine","read"],["bash","edit","mine","read","write"]]']
    agent.run("hello")
    assert [tool["name"] for tool in server.requests[-1].body["tools"]] == ["mine", "read"]
    assert results(agent.run('!tool bash {"command": "echo 1"}')) == [("bash", True, "Tool bash not found")]


def test_pis_own_tools_can_be_made_wrapped_and_registered_instead(
    extended: Start, server: ModelServer, tmp_path: Any
) -> None:
    imports = 'import { createReadTool, createBashTool } from "@mariozechner/pi-coding-agent";'
    body = """
    const read = createReadTool(process.cwd());
    pi.registerTool({ ...read, async execute(id, params, signal, onUpdate) {
      if (params.path === "secret") throw new Error("not this one");
      return read.execute(id, params, signal, onUpdate);
    } });
    pi.registerTool(createBashTool(process.cwd(), { spawnHook: (it) => ({ ...it, env: { ...it.env, MARK: "1" } }) }));
    """
    agent = extended(body, imports=imports)
    (tmp_path / "work" / "a.txt").write_text("inside")
    (tmp_path / "work" / "secret").write_text("x")
    assert results(agent.run('!tool read {"path": "a.txt"}')) == [("read", False, "inside")]
    assert results(agent.run('!tool read {"path": "secret"}')) == [("read", True, "not this one")]
    assert results(agent.run('!tool bash {"command": "echo $MARK; exit 3"}')) == [
        ("bash", True, "1\n\n\nCommand exited with code 3")
    ]
    assert len([tool for tool in server.requests[-1].body["tools"] if tool["name"] == "read"]) == 1


ONE_BY_ONE = """
let running = 0, met = 0;
for (const [name, executionMode] of [["one", "parallel"], ["two", "parallel"], ["alone", "sequential"]])
  pi.registerTool({ name, executionMode, parameters: {}, async execute(id, params, signal, onUpdate, ctx) {
    running += 1;
    met += params.meet ? 1 : 0;
    while (params.meet && met < 2) await new Promise((done) => setImmediate(done));
    ctx.ui.notify(`${name} ${running}`);
    await new Promise((done) => setImmediate(done));
    running -= 1;
    return { content: [{ type: "text", text: name }] };
  } });
"""


def test_calls_run_one_after_the_other_only_beside_a_tool_that_wants_it(extended: Start) -> None:
    agent = extended(ONE_BY_ONE, "--pi-version", "1.5.0")
    frames = agent.run('!tools [["one", {}], ["alone", {}], ["two", {}]]')
    assert notices(frames) == ["one 1", "alone 1", "two 1"]
    told = [frame["type"] for frame in frames if frame["type"].startswith("tool_")]
    assert told == ["tool_execution_start", "tool_execution_end"] * 3
    at = [frame["type"] for frame in frames].index("tool_execution_end")
    assert frames[at + 1]["message"]["role"] == "toolResult"  # Before the next call begins.
    frames = agent.run('!tools [["one", {"meet": true}], ["two", {"meet": true}]]')  # Each waits for the other.
    assert len(results(frames)) == 2
