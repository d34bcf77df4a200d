"""What extensions for pi are asked before something happens: hooks as pi's events, answers as decisions. Pure."""

from collections.abc import Sequence
from typing import Any

from linnet.core.extensions import hooks
from linnet.core.messages import Message, Note, SystemMessage, Verbatim
from linnet.extensions.node import pi_words

HOOKS: dict[str, hooks.Name] = {
    "input": "input",
    "before_agent_start": "before_agent_start",
    "context": "context",
    "context_with_system": "context",
    "before_provider_request": "before_provider_request",
    "tool_call": "tool_call",
    "tool_result": "tool_result",
    "session_before_switch": "session_before_switch",
    "session_before_fork": "session_before_branch",
    "session_before_tree": "session_before_branch",
    "session_before_compact": "session_before_compact",
    "user_bash": "user_bash",
}
"""The hook that each of pi's events is asked for."""
NEVER_TOLD = {
    "project_trust": "whether a project is trusted is linnet's and the user's to say",
    "cache_warming_decision": "linnet keeps no cache warm",
    "mcp_servers_change": "MCP servers are in linnet's settings",
}
"""Events of pi's that never happen here, and why."""
BLOCKED = "Tool execution was blocked"


def question(event: hooks.Hook, options: dict[str, Any], source: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the payload of the event that an extension is asked about.

    `options` are the systemPromptOptions of this moment, and `source` says where an input comes from.
    """
    match event:
        case hooks.InputGiven(text, images, queued):
            asked: dict[str, Any] = {"text": text, "source": source}
            if images:
                asked["images"] = pi_words.content(images)
            if queued:
                asked["streamingBehavior"] = "steer"
            return "input", asked
        case hooks.AgentStarting(prompt, system_prompt, images):
            told = {"messageType": "user", "prompt": prompt, "systemPrompt": system_prompt}
            return "before_agent_start", {
                **told,
                **({"images": pi_words.content(images)} if images else {}),
                "systemPromptOptions": options,
            }
        case hooks.ContextSent(messages):
            return "context", {"messages": pi_words.spelled_all(_said(messages))}
        case hooks.ProviderAsking(payload):
            return "before_provider_request", {"payload": payload}
        case hooks.ToolCalling(call_id, tool, args):
            return "tool_call", {"toolCallId": call_id, "toolName": tool, "input": args}
        case hooks.ToolReturning(call_id, tool, args, content, is_error, details):
            return "tool_result", {
                "toolCallId": call_id,
                "toolName": tool,
                "input": args,
                "content": pi_words.content(content),
                "details": details,
                "isError": is_error,
            }
        case hooks.SessionSwitching(reason, target):
            return "session_before_switch", {"reason": reason, **({"targetSessionFile": target} if target else {})}
        case hooks.SessionBranching("navigate", entry):
            return "session_before_tree", {"preparation": {"targetId": entry, "userWantsSummary": False}}
        case hooks.SessionBranching(reason, entry):
            return "session_before_fork", {"entryId": entry, "position": "at" if reason == "clone" else "before"}
        case hooks.SessionCompacting(reason, messages, kept, tokens_before, instructions):
            preparation = {
                "messagesToSummarize": pi_words.spelled_all(messages),
                "turnPrefixMessages": [],
                "isSplitTurn": False,
                "tokensBefore": tokens_before,
                "kept": kept,
                "fileOps": {"read": [], "written": [], "edited": []},
                "settings": {"enabled": True},
            }
            words = {"customInstructions": instructions} if instructions else {}
            return "session_before_compact", {"reason": reason, "preparation": preparation, **words}
        case hooks.BashAsked(command, cwd):
            return "user_bash", {"command": command, "cwd": cwd, "excludeFromContext": event.private}
        case _:
            return event.name, {}


def decision(event: hooks.Hook, answer: dict[str, Any], time: int) -> hooks.Decision | None:
    """Return what an extension decided; None if it leaves things as they are. Raises BadInput."""
    changes: dict[str, Any] = {}
    match event:
        case hooks.InputGiven(text, images):
            if answer.get("handled"):
                return hooks.Handled()
            if answer.get("text", text) != text:
                changes["text"] = answer["text"]
            if answer.get("images") is not None and answer["images"] != pi_words.content(images):
                changes["images"] = pi_words.joined(pi_words.read_content(answer["images"]))[1]
        case hooks.AgentStarting(_, system_prompt):
            prompt = answer.get("systemPrompt", system_prompt)
            sections = answer.get("sections") or {}
            added = [f"<{name}>\n{text}\n</{name}>" for name, text in sections.items() if text]
            prompt = "\n\n".join([prompt, *added])
            if prompt != system_prompt:
                changes["system_prompt"] = prompt
            notes = [_note(each, time) for each in answer.get("messages") or ()]
            if notes:
                changes["notes"] = (*event.notes, *notes)
        case hooks.ContextSent(messages):
            if answer.get("messages") != pi_words.spelled_all(_said(messages)):
                told = [message for message in messages if isinstance(message, SystemMessage)]
                changes["messages"] = (*told, *pi_words.read_all(answer.get("messages")))
        case hooks.ProviderAsking(payload):
            if "payload" in answer and answer["payload"] != payload:
                changes["payload"] = answer["payload"]
        case hooks.ToolCalling(args=args):
            if answer.get("block"):
                return hooks.Block(answer.get("reason") or BLOCKED)
            if answer.get("input", args) != args:
                changes["args"] = answer["input"]
        case hooks.ToolReturning():
            if "content" in answer:
                changes["content"] = pi_words.read_content(answer["content"])
            if "isError" in answer:
                changes["is_error"] = bool(answer["isError"])
            if isinstance(answer.get("details"), dict):
                changes["details"] = Verbatim(answer["details"])
        case hooks.SessionCompacting():
            if answer.get("cancel"):
                return hooks.Cancel()
            if (made := answer.get("compaction")) and made.get("summary"):
                changes["summary"] = str(made["summary"])
        case hooks.SessionSwitching() | hooks.SessionBranching():
            return hooks.Cancel() if answer.get("cancel") else None
        case hooks.BashAsked():
            if (result := answer.get("result")) is not None:
                changes |= {"output": str(result.get("output") or ""), "exit_code": result.get("exitCode") or 0}
        case _:
            pass
    return hooks.Replace(changes) if changes else None


def settling(messages: Sequence[Message], outcome: str) -> dict[str, Any]:
    """Return what extensions are told before the agent is done with a prompt."""
    said = pi_words.spelled_all(_said(tuple(messages)))
    context = {
        "contextEntries": [],
        "contextMessages": said,
        "llmMessages": said,
        "pendingMessages": [],
        "canContinue": bool(said) and said[-1]["role"] != "assistant",
    }
    return {"outcome": outcome, "entries": [], "continue": False, "context": context}


def proposed(entries: Any, time: int) -> tuple[list[Note], list[tuple[str, Any]], list[str]]:
    """Return the messages and the data among entries that extensions want to add, and what cannot be added."""
    notes: list[Note] = []
    data: list[tuple[str, Any]] = []
    others: list[str] = []
    for entry in entries if isinstance(entries, list) else ():
        match entry:
            case {"type": "custom_message"}:
                notes.append(_note(entry, time))
            case {"type": "custom", "customType": str(kind)}:
                data.append((kind, entry.get("data")))
            case _:
                others.append(str(entry.get("type") if isinstance(entry, dict) else entry))
    return notes, data, others


def _said(messages: tuple[Message, ...]) -> list[Message]:
    """Return a conversation without what the model is told before it."""
    return [message for message in messages if not isinstance(message, SystemMessage)]


def _note(said: dict[str, Any], time: int) -> Note:
    """Return the message that an extension adds to a prompt."""
    parts = pi_words.read_content(said.get("content", ""))
    return Note(
        str(said.get("customType") or "extension"), parts, time, bool(said.get("display", True)), said.get("details")
    )
