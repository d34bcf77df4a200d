"""Translates events and hooks of a session into what frames say to a program, and its verdicts into decisions. Pure."""

from collections.abc import Iterable
from typing import Any

from msgspec import to_builtins

from linnet.core.extensions import extension_events, hooks
from linnet.core.messages import AssistantMessage, Image, UserMessage, UserPart
from linnet.extensions.programs.effects import Allow, Deny
from linnet.extensions.programs.frames import Occasion

MORE_EVENTS = (
    "user_message",
    "tool_result",
    "agent_start",
    "agent_end",
    "session_compact",
    "model_select",
    "thinking_level_select",
)
"""Events that only linnet tells of."""

MORE_INTERCEPTS = (
    "input",
    "tool_result",
    "session_before_switch",
    "session_before_branch",
    "session_before_compact",
    "user_bash",
)
"""What only linnet asks a program about."""

_SOURCES: dict[str, extension_events.Name] = {
    "turn_start": "turn_start",
    "turn_end": "message_end",
    "tool_call": "message_end",
    "assistant_message": "message_end",
    "user_message": "message_end",
    "tool_result": "tool_execution_end",
    "agent_start": "agent_start",
    "agent_end": "agent_end",
    "session_start": "session_start",
    "session_compact": "session_compact",
    "model_select": "model_select",
    "thinking_level_select": "thinking_level_select",
}
"""The event of a session from which each event of a frame is made."""


def sources(events: Iterable[str]) -> set[extension_events.Name]:
    """Return the events of a session that must be heard to tell a program of these."""
    return {_SOURCES[event] for event in events if event in _SOURCES}


def occasions(event: extension_events.Observed) -> list[Occasion]:
    """Return what a program is told of an event, in the order of zot's own stream."""
    match event:
        case extension_events.TurnStarted(step):
            return [Occasion(event="turn_start", step=step)]
        case extension_events.MessageEnded(AssistantMessage() as reply):
            return _replied(reply)
        case extension_events.MessageEnded(UserMessage(content)):
            return [Occasion(event="user_message", content=_blocks(content))]
        case extension_events.ToolEnded(result):
            return [
                Occasion(
                    event="tool_result",
                    tool_id=result.call_id,
                    tool_name=result.name,
                    content=_blocks(result.content),
                    is_error=result.is_error,
                )
            ]
        case extension_events.AgentStarted():
            return [Occasion(event="agent_start")]
        case extension_events.AgentEnded(_, stop, error):
            return [_ended("agent_end", stop, error)]
        # A program is told of the first session when it is ready.
        case extension_events.SessionStarted(reason, id) if reason != "startup":
            return [Occasion(event="session_start", reason=reason, session=id)]
        case extension_events.SessionCompacted(reason, summary):
            return [Occasion(event="session_compact", reason=reason, text=summary)]
        case extension_events.ModelSelected(model):
            return [Occasion(event="model_select", provider=model.provider, model=model.id)]
        case extension_events.ThinkingSelected(level):
            return [Occasion(event="thinking_level_select", text=level)]
        case _:
            return []


def asked(event: hooks.Hook) -> Occasion | None:
    """Return what a program is asked about; None for what no frame can say."""
    match event:
        case hooks.TurnStarting(step):
            return Occasion(event="turn_start", step=step)
        case hooks.ReplyGiven(text):
            return Occasion(event="assistant_message", text=text)
        case hooks.ToolCalling(id, tool, args):
            return Occasion(event="tool_call", tool_id=id, tool_name=tool, tool_args=args)
        case hooks.ToolReturning(id, tool, args, content, is_error):
            return Occasion(
                event="tool_result",
                tool_id=id,
                tool_name=tool,
                tool_args=args,
                content=_blocks(content),
                is_error=is_error,
            )
        case hooks.InputGiven(text):
            return Occasion(event="input", text=text)
        case hooks.SessionSwitching(reason) | hooks.SessionBranching(reason) | hooks.SessionCompacting(reason):
            return Occasion(event=event.name, reason=reason)
        case hooks.BashAsked(command):
            return Occasion(event="user_bash", text=command)
        case _:
            return None


def decision(event: hooks.Hook, verdict: Allow | Deny) -> hooks.Decision | None:
    """Return what a program's verdict decides about an event; None if it changes nothing."""
    if isinstance(verdict, Deny):
        if "block" in event.stops:
            return hooks.Block(verdict.reason)
        return hooks.Handled() if "handled" in event.stops else hooks.Cancel()
    changes: dict[str, Any] = {}
    match event:
        case hooks.ToolCalling() if verdict.args is not None:
            changes["args"] = verdict.args
        case hooks.ToolReturning() if verdict.output is not None:
            changes |= {"content": verdict.output.content, "is_error": verdict.output.is_error}
        case hooks.ReplyGiven() | hooks.InputGiven() if verdict.text:
            changes["text"] = verdict.text
        case hooks.BashAsked() if verdict.text:
            changes["command"] = verdict.text
        case _:
            pass
    return hooks.Replace(changes) if changes else None


def _replied(reply: AssistantMessage) -> list[Occasion]:
    """Return what a program is told of a reply: its text, its calls, and the end of the turn."""
    out: list[Occasion] = []
    if reply.text and not (reply.stop == "aborted" and reply.calls):
        out.append(Occasion(event="assistant_message", text=reply.text))
    out += [
        Occasion(event="tool_call", tool_id=call.id, tool_name=call.name, tool_args=call.args) for call in reply.calls
    ]
    return [*out, _ended("turn_end", reply.stop, reply.error)]


def _ended(event: str, stop: str, error: str) -> Occasion:
    return Occasion(event=event, stop=stop, error=error) if error else Occasion(event=event, stop=stop)


def _blocks(content: tuple[UserPart, ...]) -> list[dict[str, Any]]:
    """Return content as the blocks that a program writes in a `tool_result`."""
    return [
        {"type": "image", "mime_type": part.mime_type, "data": part.data}
        if isinstance(part, Image)
        else to_builtins(part)
        for part in content
    ]
