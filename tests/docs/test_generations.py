"""The table of pi's generations on the page about RPC is the one that the dialects are made from."""

import re
from pathlib import Path
from typing import Any

import pytest

from linnet.runtime.config.config import PI, PI_073, PI_1
from linnet.wire.pi.generations import GENERATIONS, Generation

PAGE = Path(__file__).parents[2] / "docs" / "rpc.md"
YES, NO = "yes", "–"
TOLD = {True: YES, False: NO}

# For each field of a generation: how its row begins, and what a cell says for a value of the field.
ROWS: dict[str, tuple[str, dict[Any, str]]] = {
    "version": ("the pi that it stands in for", {each.version: each.version for each in GENERATIONS}),
    "disposition": ("what became of a prompt: `data.disposition`", TOLD),
    "updates": ("a `message_update` has", {"full": "the message so far, twice", "deltas": "what is new"}),
    "usage_in_updates": ("… and `usage` so far", TOLD),
    "call_starts_named": ("`toolcall_start` has `id` and `toolName`", TOLD),
    "argument_errors": ("a call whose arguments are no JSON object has `argumentsError`", TOLD),
    "pending": ("`stopReason` of a reply that has begun", {True: "`pending`", False: "`stop`"}),
    "settled": (
        "all is over",
        {
            "if_asked": "`agent_settled`, with `--settled`",
            "bare": "`agent_settled`",
            "aborted": "`agent_settled{aborted}`",
        },
    ),
    "will_retry": ("`agent_end` has `willRetry`", TOLD),
    "retries_end_inside": ("`auto_retry_end` comes", {True: "before `turn_end`", False: "after `agent_end`"}),
    "system_messages": ("`system` messages", TOLD),
    "attachments": ("a user message has `attachments`", TOLD),
    "no_details": ("a tool's result without details has `details`", {True: "`{}`", False: NO}),
    "compactions": (
        "compactions",
        {
            "auto_compaction": "`auto_compaction_…`, automatic ones only",
            "compaction": "`compaction_start`, `compaction_end`, all of them",
        },
    ),
    "compaction_sizes": ("`estimatedTokensAfter` and `usage` of one", TOLD),
    "summary_retries": ("`summarization_retry_…`", TOLD),
    "levels_told": ("`thinking_level_changed`", TOLD),
    "bash_updates": ("`bash_execution_update`", TOLD),
    "cancelled_without_code": ("`exitCode` of a `bash` that was cancelled", {True: "absent", False: "`null`"}),
    "entries_told": ("`entry_appended`", TOLD),
    "durations": ("`durationMs` of tools and replies", TOLD),
    "ends_as_they_come": (
        "ends of several tools",
        {
            True: "as they come; messages of all results after them",
            False: "in the order of the calls, each with its message",
        },
    ),
    "tree": ("`get_tree`", {"flat": "a list of nodes", "nested": "nested entries"}),
    "context_usage": ("`contextUsage` in the statistics", TOLD),
    "errors": ("an extension failed", {"hook_error": "`hook_error`", "extension_error": "`extension_error`"}),
    "queue_told_first": ("`queue_update` comes", {True: "before the response", False: "after the response"}),
    "queue_after_abort": (
        "after an abort, what waits",
        {"dropped": "is dropped, and told", "kept": "goes with the next prompt"},
    ),
    "abort_waits": ("`abort` is answered", {True: "after `agent_settled`", False: "at once"}),
    "whole_prompts": (
        "`isStreaming` holds",
        {True: "until `agent_settled`", False: "during runs and waits for retries"},
    ),
    "input_end": (
        "the end of stdin",
        {"finish": "finishes what was asked", "stop": "ends what runs, in an orderly way"},
    ),
    "additions": ("linnet's own events and fields, unasked", TOLD),
}
NAMES = {
    "a message before which to go on": ("branch", "fork"),
    "what there is to go back to": ("get_branch_messages", "get_fork_messages"),
    "take back what waits": ("clear_queue",),
    "entries of the session": ("get_entries",),
    "levels of thinking": ("get_available_thinking_levels",),
}
"""Rows about commands: what is asked for, and the names that it has had."""


def table() -> tuple[list[str], dict[str, list[str]]]:
    """The heads of the columns, and each row by its first cell."""
    _, _, rest = PAGE.read_text().partition("\n## The generations\n")
    lines = [line for line in rest.split("\n## ")[0].splitlines() if line.startswith("|")]
    first, _, *rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return first[1:], {row[0]: row[1:] for row in rows}


def cell(row: str, generation: Generation) -> str:
    heads, rows = table()
    [column] = [index for index, head in enumerate(heads) if head == f"`{generation.name}`"]
    return rows[row][column]


def said(field: str, generation: Generation) -> str:
    if field == "tree" and "get_tree" not in generation.commands:
        return NO
    return ROWS[field][1][getattr(generation, field)]


def named(names: tuple[str, ...], generation: Generation) -> str:
    return ", ".join(f"`{name}`" for name in names if name in generation.commands) or NO


def test_every_field_of_a_generation_has_a_row() -> None:
    assert ROWS.keys() | {"name", "commands"} == set(Generation.__struct_fields__)


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda each: each.name)
def test_the_table_says_what_the_generation_does(generation: Generation) -> None:
    for field, (row, _) in ROWS.items():
        assert cell(row, generation) == said(field, generation), field
    for row, names in NAMES.items():
        assert cell(row, generation) == named(names, generation), row


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda each: each.name)
def test_the_table_says_which_habits_a_protocol_has(generation: Generation) -> None:
    habits = {"pi": PI, "pi-0.73": PI_073}.get(generation.name, PI_1)
    assert cell("`compact` of a tiny session", generation) == ("done" if habits.compact_tiny else "refused")
