"""Conversations as the messages of a chat template."""

from linnet.core.messages import AssistantMessage, Image, Text, Thinking, ToolCall, ToolResult, UserMessage
from linnet.core.models import Model
from linnet.core.toolspec import ToolSpec
from linnet.providers.base import Request
from linnet.providers.local.prompt import messages

READ = ToolSpec(
    "read",
    "Read a text file.\n\nMuch more.",
    {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["path"]},
)
BASH = ToolSpec("bash", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}})
TALK = (
    UserMessage((Text("Look."), Image("image/png", b"png")), 0),
    AssistantMessage((Thinking("Hm."), Text("So:\n"), ToolCall("c", "read", {"path": "a", "n": [1, 2]})), 0, "x", "y"),
    ToolResult("c", "read", (Text("A."),), 0),
    AssistantMessage((Text("It says A."),), 0, "x", "y"),
)


def asked(*tools: ToolSpec, system: str = "Be brief.") -> Request:
    return Request(Model("m", "local"), system, TALK, tools)


def test_tools_are_described_in_a_line_each_after_the_system_prompt() -> None:
    system = messages(asked(READ, BASH), examples=False)[0]
    assert system["role"] == "system"
    assert system["content"].startswith("Be brief.\n\nYou can use tools.")
    assert system["content"].endswith(
        "Your tools:\n- read(path, limit?): Read a text file.\n- bash(command?): Run a command."
    )


def test_calls_are_text_as_the_grammar_has_it_and_results_have_a_role_of_their_own() -> None:
    assert messages(asked(), examples=True)[1:] == [
        {"role": "user", "content": "Look.\n(an image that this model cannot see)"},
        {
            "role": "assistant",
            "content": 'So:\n<tool_call>\n{"name": "read", "arguments": {"path": "a", "n": [1, 2]}}\n</tool_call>',
        },
        {"role": "tool", "content": "A."},
        {"role": "assistant", "content": "It says A."},
    ]


def test_a_template_that_knows_no_tools_is_told_of_results_by_the_user() -> None:
    roles = [each["role"] for each in messages(asked(READ, BASH), examples=True, tool_role=False)]
    assert roles == ["system", *["user", "assistant"] * (len(roles) // 2)]
    told = messages(asked(READ), examples=False, tool_role=False)
    assert told[3]["content"] == "<tool_response>\nA.\n</tool_response>"


def test_examples_are_only_of_tools_that_there_are_and_come_before_the_conversation() -> None:
    plain, shown = messages(asked(READ, BASH), examples=False), messages(asked(READ, BASH), examples=True)
    assert len(shown) > len(plain)
    assert shown[-4:] == plain[-4:]
    assert shown[0] == plain[0]
    assert messages(asked(READ), examples=True) == messages(asked(READ), examples=False)


def test_without_tools_and_words_there_is_no_system_prompt() -> None:
    assert messages(asked(system=" "), examples=True)[0]["role"] == "user"
