"""Writes grammars by which a model can only write text, or a call of a tool that exists, with arguments that fit.

llama.cpp keeps a model to a grammar in its own notation, GBNF: it leaves out every token that the grammar does not
admit. So the smallest model writes whole calls. What the grammar says about a call is exact to the space: `calls.py`
reads it.
"""

from collections.abc import Sequence

from linnet.core.toolspec import ToolSpec
from linnet.providers.local.schema_rules import Rules, literal, quoted

OPENING = "<tool_call>"
CLOSING = "\n</tool_call>"
BEFORE_NAME = '\n{"name": '
BEFORE_ARGUMENTS = ', "arguments": '
AFTER_ARGUMENTS = "}"


def grammar(tools: Sequence[ToolSpec]) -> str:
    """Return the grammar of a reply: text, a call, or text and then a call. There has to be a tool."""
    rules = Rules()
    calls = [
        literal(quoted(tool.name) + BEFORE_ARGUMENTS) + " " + rules.arguments(tool.schema)  # The name chooses the rest.
        for tool in tools
    ]
    rules.named["call"] = f"{literal(BEFORE_NAME)} ({' | '.join(calls)}) {literal(AFTER_ARGUMENTS + CLOSING)}"
    rules.named["root"] = f"{literal('<')} text1 | [^<] text0"  # A reply is not empty.
    for known, following in enumerate(OPENING):
        rules.named[f"text{known}"] = _text(known, following)
    return rules.written("root")


def _text(known: int, following: str) -> str:
    """Return the rule for what may come in a text whose last `known` characters are the first ones of OPENING: its end,
    the next of them, or another character. Once all of them were written, nothing but a call can follow.
    """
    rest = "call" if known + 1 == len(OPENING) else f"text{known + 1}"
    if following == "<":
        return f"({literal(following)} {rest} | [^<] text0)?"
    return f"({literal(following)} {rest} | {literal('<')} text1 | [^<{following}] text0)?"
