"""Says in pi's words what commands are answered."""

from collections.abc import Sequence
from typing import Any, assert_never

from msgspec import UNSET, Raw, UnsetType

from linnet.core import commands, messages, session_info, slash
from linnet.core.text.printable import printable
from linnet.wire.pi import responses, state, to_pi
from linnet.wire.pi.generations import PI, Generation
from linnet.wire.pi.nested_tree import nested


def data(answer: commands.Answer, generation: Generation = PI) -> Any:
    """Return the `data` of a response; UNSET if it has none."""
    match answer:
        case commands.AgentState():
            return state.state(answer, generation)
        case commands.Transcript(transcript):
            return responses.MessagesData(to_pi.Words(generation).listed(transcript))
        case commands.SessionStats():
            return _stats(answer, generation)
        case commands.LastText(text):
            return responses.TextData(text)
        case commands.ModelChosen(model):
            return state.model(model)
        case commands.ModelCycled(model, thinking, scoped):
            return model and responses.CycleModelData(state.model(model), thinking, is_scoped=scoped)
        case commands.ModelList(models):
            return responses.ModelsData([state.model(model) for model in models])
        case commands.ThinkingLevels(levels):
            return responses.LevelsData(levels)
        case commands.ThinkingCycled(level):
            return level and responses.LevelData(level)
        case commands.Compacted(result):
            return to_pi.compaction(result, to_pi.Words(generation))
        case commands.QueueCleared(steering, follow_ups):
            return responses.QueueData([each.text for each in steering], [each.text for each in follow_ups])
        case commands.SessionOpened(cancelled, remark):
            return responses.CancelledData(cancelled, remark or UNSET)
        case commands.Branched(text, cancelled):
            return responses.BranchData(text, cancelled)
        case commands.Navigated(leaf, cancelled):
            return responses.NavigateData(leaf, cancelled)
        case commands.BranchMessages(listed):
            return responses.BranchMessagesData([responses.BranchMessage(id, text) for id, text in listed])
        case commands.Outline(entries, leaf):
            return responses.TreeData(leaf, [_node(entry) for entry in entries])
        case commands.EntryTree():
            return nested(answer)
        case commands.EntryList(lines, leaf):
            return responses.EntriesData([Raw(line) for line in lines], leaf)
        case commands.SessionList(found, current):
            return responses.SessionsData([session_item(session, current) for session in found])
        case commands.CommandList(listed):
            return responses.CommandsData([_slash(command) for command in listed])
        case commands.Exported(path):
            return responses.PathData(path)
        case commands.BashDone(run):
            full = (run.full_output_path if run.truncated else None) or UNSET
            code = UNSET if run.exit_code is None and generation.cancelled_without_code else run.exit_code
            return responses.BashData(printable(run.output), code, run.cancelled, run.truncated, full)
        case commands.Accepted(queued) if generation.disposition:
            return responses.DispositionData("queued" if queued else "started")
        case (
            commands.Greeting()
            | commands.Accepted()
            | commands.Started()
            | commands.Done()
            | commands.Pong()
            | commands.Ok()
        ):
            return UNSET
        case _:
            assert_never(answer)


def _stats(stats: commands.SessionStats, generation: Generation) -> responses.StatsData:
    counted = stats.tally or _tally(to_pi.Words(generation).among(stats.messages))
    spent = stats.spent
    return responses.StatsData(
        session_file=stats.session_file or UNSET,
        session_id=stats.session_id,
        user_messages=counted.user,
        assistant_messages=counted.assistant,
        tool_calls=counted.calls,
        tool_results=counted.results,
        total_messages=counted.total,
        tokens=responses.Tokens(spent.input, spent.output, spent.cache_read, spent.cache_write, spent.total),
        cost=spent.cost.total,
        cost_known=state.known(cost=spent.cost_known),
        context_usage=_context(stats.context) if generation.context_usage else UNSET,
    )


def _tally(said: Sequence[messages.Message]) -> session_info.Tally:
    replies = [message for message in said if isinstance(message, messages.AssistantMessage)]
    return session_info.Tally(
        user=sum(isinstance(message, messages.UserMessage) for message in said),
        assistant=len(replies),
        calls=sum(len(message.calls) for message in replies),
        results=sum(isinstance(message, messages.ToolResult) for message in said),
        total=len(said),
    )


def _context(used: commands.ContextUse | None) -> responses.ContextUsage | UnsetType:
    if used is None:
        return UNSET
    percent = None if used.tokens is None else used.tokens / used.window * 100
    return responses.ContextUsage(used.tokens, used.window, percent)


def _node(entry: session_info.OutlineEntry) -> responses.TreeNode:
    role, text, label = entry.role or UNSET, entry.text or UNSET, entry.label or UNSET
    return responses.TreeNode(entry.id, entry.parent, entry.type, entry.time, role, text, label)


def _slash(command: slash.SlashCommand) -> responses.SlashItem:
    """Return a command as pi lists it since 0.73, with the two fields beside it that pi had before."""
    scope = "temporary" if command.location == "path" else command.location
    named = "cli" if command.source == "extension" else "local"
    source = named if command.location == "path" else "auto"
    info = responses.SlashSource(command.path, source, scope, base_dir=command.base or UNSET)
    description = command.description or UNSET
    path, hint = command.path or UNSET, command.hint or UNSET
    return responses.SlashItem(command.name, description, command.source, command.location, path, info, hint)


def session_item(session: session_info.SessionInfo, current: str | None = None) -> responses.SessionItem:
    """Return a session as it is listed. `current` is the file of the one that is open."""
    return responses.SessionItem(
        path=session.path,
        id=session.id,
        name=session.name or UNSET,
        cwd=session.cwd,
        created=session.created,
        modified=session.modified,
        message_count=session.messages,
        first_message=session.first_message,
        provider=session.provider,
        model_id=session.model,
        tokens=session.tokens,
        cost=session.known_cost,
        cost_known=state.known(cost=session.cost_known),
        parent_session=session.parent or UNSET,
        current=session.path == current,
    )
