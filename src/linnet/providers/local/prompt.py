"""Writes a conversation as the messages that a model's own chat template is filled with. Pure.

Templates of small models know nothing of tools, and llama.cpp then leaves them out. So tools are described in the
system prompt, calls are text as the grammar admits it, and results are messages of the role `tool`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from msgspec import json

from linnet.core.context.history import Sendable
from linnet.core.messages import AssistantMessage, Image, ReplyPart, Text, ToolCall, ToolResult, UserMessage
from linnet.core.toolspec import ToolSpec
from linnet.providers.base import Request
from linnet.providers.local.grammar import AFTER_ARGUMENTS, BEFORE_ARGUMENTS, BEFORE_NAME, CLOSING, OPENING
from linnet.providers.local.schema_rules import quoted
from linnet.providers.stand_ins import UNSEEN

Written: TypeAlias = dict[str, str]
_HOW = f"""You can use tools. To use one, write
{OPENING}{BEFORE_NAME}…{BEFORE_ARGUMENTS}{{…}}{AFTER_ARGUMENTS}{CLOSING}

Your tools:"""


def messages(request: Request, *, examples: bool, tool_role: bool = True) -> list[Written]:
    """Return the messages. `examples` come before the conversation: the smallest models call tools only if they have
    seen how. Without `tool_role`, results are told by the user, for templates that know no other role.
    """
    system = "\n\n".join(part for part in (request.system.strip(), _described(request.tools)) if part)
    shown = _EXAMPLES if examples and {"read", "bash"} <= {tool.name for tool in request.tools} else ()
    written = [{"role": "system", "content": system}] if system else []
    written += [_message(message, tool_role=tool_role) for message in (*shown, *request.messages)]
    return written if tool_role else _alternating(written)


def call_text(call: ToolCall) -> str:
    """Return a call as the grammar admits it."""
    arguments = _spaced(call.args)
    return f"{OPENING}{BEFORE_NAME}{quoted(call.name)}{BEFORE_ARGUMENTS}{arguments}{AFTER_ARGUMENTS}{CLOSING}"


def _described(tools: Sequence[ToolSpec]) -> str:
    return "\n".join((_HOW, *map(_line, tools))) if tools else ""


def _line(tool: ToolSpec) -> str:
    """Return a tool in one line. A small window has no room for more, and the grammar knows the rest."""
    properties, required = tool.schema.get("properties"), tool.schema.get("required", [])
    names = [name if name in required else f"{name}?" for name in properties] if isinstance(properties, dict) else []
    first = tool.description.strip().partition("\n")[0]
    return f"- {tool.name}({', '.join(names)}): {first}"


def _message(message: Sendable, *, tool_role: bool) -> Written:
    match message:
        case UserMessage(content):
            return {"role": "user", "content": _words(content)}
        case AssistantMessage(content):
            return {"role": "assistant", "content": _joined(filter(None, map(_said, content)))}
        case ToolResult():
            text = _words(message.content)
            if tool_role:
                return {"role": "tool", "content": text}
            return {"role": "user", "content": f"<tool_response>\n{text}\n</tool_response>"}


def _said(part: ReplyPart) -> str:
    match part:
        case Text(text):
            return text
        case ToolCall():
            return call_text(part)
        case _:
            return ""  # Thoughts are not sent back.


def _joined(parts: Iterable[str]) -> str:
    """Return the parts, each on a line of its own; as the model wrote them, if it wrote them so."""
    text = ""
    for part in parts:
        text += part if not text or text.endswith("\n") else f"\n{part}"
    return text


def _words(content: Iterable[Text | Image]) -> str:
    return "\n".join(part.text if isinstance(part, Text) else UNSEEN for part in content)


def _alternating(written: Iterable[Written]) -> list[Written]:
    """Return the messages, neighbours of the same role as one: some templates refuse anything else."""
    joined: list[Written] = []
    for message in written:
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1] = {**message, "content": f"{joined[-1]['content']}\n\n{message['content']}"}
        else:
            joined.append(message)
    return joined


def _spaced(value: Any) -> str:
    """Return JSON with a space after each comma and colon, on one line, as the grammar has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(name)}: {_spaced(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_spaced, value)) + "]"
    return json.encode(value).decode()


def _user(text: str) -> UserMessage:
    return UserMessage((Text(text),), 0)


def _reply(text: str) -> AssistantMessage:
    return AssistantMessage((Text(text),), 0, "", "")


def _call(name: str, **args: str) -> AssistantMessage:
    return AssistantMessage((ToolCall("", name, args),), 0, "", "", stop="tool_use")


def _result(text: str) -> ToolResult:
    return ToolResult("", "", (Text(text),), 0)


_EXAMPLES: tuple[Sendable, ...] = (
    _user("Hello!"),
    _reply("Hello! What can I do for you?"),
    _user("Thank you."),
    _reply("You are welcome."),
    _user("List the files."),
    _call("bash", command="ls"),
    _result("a.txt\nb.txt"),
    _reply("There are two files: a.txt and b.txt."),
    _user("Read the file hello.txt."),
    _call("read", path="hello.txt"),
    _result("Hello, world!\n"),
    _reply("hello.txt says: Hello, world!"),
)
