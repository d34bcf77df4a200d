"""Every command of the pi protocol, once, for the client that blocks and the one that is awaited.

Some exist only in some versions of pi, or only in linnet; an agent that does not know one refuses it.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, Unpack

from msgspec.structs import replace

from linnet.client.agent import Agent, Options, Speech
from linnet.client.deep_tree import tree
from linnet.client.pi_work import LegacyWork, PiWork
from linnet.client.request import (
    Picture,
    Request,
    SharedCommands,
    a,
    checked,
    command,
    given,
    nothing,
    perhaps,
    run_command,
)
from linnet.client.run_result import PiRunResult
from linnet.wire.pi.generations import NAMES, Name, named
from linnet.wire.pi.reading import incoming as pi
from linnet.wire.pi.reading import results
from linnet.wire.pi.reading.incoming_messages import Compaction, Message

Behavior: TypeAlias = Literal["steer", "followUp"]
Mode: TypeAlias = Literal["all", "one-at-a-time"]


class PiCommands(SharedCommands, Agent[pi.Event]):
    """The methods of pi's protocol. `timeout` is in seconds; without one, the client's own counts."""

    speech = Speech(("--mode", "rpc"), pi.reader, PiWork, PiRunResult)

    def __init__(
        self, command: Sequence[str] | None = None, *, dialect: Name | None = None, **options: Unpack[Options]
    ) -> None:
        """Start an agent. `dialect` is the generation of pi's protocol that linnet is to speak. What another command
        speaks need not be said: if it is, it is believed. Raises ValueError for a dialect that is not known.
        """
        if dialect is not None:
            if dialect not in NAMES:
                raise ValueError(f"no dialect is called {dialect!r}: take one of {', '.join(NAMES)}")
            work = partial(PiWork, settles=named(dialect).settled != "if_asked")
            words = (*self.speech.words, "--dialect", dialect)
            self.speech = replace(self.speech, words=words, work=work)
        super().__init__(command, **options)

    @run_command
    def prompt(
        self,
        message: str,
        images: Sequence[Picture] = (),
        *,
        streaming_behavior: Behavior | None = None,
        output_schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Request[results.Accepted]:
        """Say something; iterate over what happens until the agent is idle again, retries and all."""
        fields = {"streamingBehavior": streaming_behavior, "outputSchema": output_schema}
        return said("prompt", message, images, timeout, **fields)

    def answer_ui(
        self, id: str, value: str | None = None, *, confirmed: bool | None = None, reason: str | None = None
    ) -> None:
        """Answer an ExtensionUiRequest; with neither, it is cancelled. `reason` is for the model to read."""
        told = given(value=value, confirmed=confirmed) or {"cancelled": True}
        self._link.tell({"type": "extension_ui_response", "id": id, **told, **given(reason=reason)})

    @command
    def steer(
        self, message: str, images: Sequence[Picture] = (), *, timeout: float | None = None
    ) -> Request[results.Accepted]:
        """Say something as soon as the running tool is done."""
        return said("steer", message, images, timeout)

    @command
    def follow_up(
        self, message: str, images: Sequence[Picture] = (), *, timeout: float | None = None
    ) -> Request[results.Accepted]:
        """Say something when the agent has nothing left to do."""
        return said("follow_up", message, images, timeout)

    @command
    def abort(self, *, timeout: float | None = None) -> Request[None]:
        """Cancel what runs. Depending on the agent, its last events come before or after the answer."""
        return Request("abort", nothing, timeout)

    @command
    def clear_queue(self, *, timeout: float | None = None) -> Request[results.Queue]:
        """Drop what waits to be said, and return it. pi since 0.80."""
        return Request("clear_queue", a(results.Queue), timeout)

    @command
    def new_session(self, parent_session: str | None = None, *, timeout: float | None = None) -> Request[results.Moved]:
        """Begin an empty session. `parent_session` is the path of the one it came from."""
        return Request("new_session", a(results.Moved), timeout, given(parentSession=parent_session))

    @command
    def get_state(self, *, timeout: float | None = None) -> Request[results.State]:
        """Return the model, the modes, what runs and what waits."""
        return Request("get_state", a(results.State), timeout)

    @command
    def get_messages(self, *, timeout: float | None = None) -> Request[list[Message]]:
        """Return the conversation."""
        return Request("get_messages", lambda data: a(results.Messages)(data).messages, timeout)

    @command
    def set_model(
        self, provider: str, model_id: str, *, save: bool | None = None, timeout: float | None = None
    ) -> Request[results.Model]:
        """Use another model. With `save`, which is linnet's own, here and in other setters: for later starts too."""
        fields = given(provider=provider, modelId=model_id, save=save)
        return Request("set_model", a(results.Model), timeout, fields)

    @command
    def cycle_model(self, *, timeout: float | None = None) -> Request[results.CycledModel | None]:
        """Go to the next model; return None if there is no other."""
        return Request("cycle_model", perhaps(results.CycledModel), timeout)

    @command
    def get_available_models(self, *, timeout: float | None = None) -> Request[list[results.Model]]:
        """Return the models that can be used."""
        return Request("get_available_models", lambda data: a(results.Models)(data).models, timeout)

    @command
    def set_thinking_level(
        self, level: str, *, save: bool | None = None, timeout: float | None = None
    ) -> Request[None]:
        """Say how much the model thinks: `off`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`."""
        return Request("set_thinking_level", nothing, timeout, given(level=level, save=save))

    @command
    def cycle_thinking_level(self, *, timeout: float | None = None) -> Request[results.Level | None]:
        """Go to the next level; return None if the model does not think."""
        return Request("cycle_thinking_level", perhaps(results.Level), timeout)

    @command
    def get_available_thinking_levels(self, *, timeout: float | None = None) -> Request[list[str]]:
        """Return the levels of thinking that the model has. pi since 0.80."""
        return Request("get_available_thinking_levels", lambda data: a(results.Levels)(data).levels, timeout)

    @command
    def set_steering_mode(self, mode: Mode, *, save: bool | None = None, timeout: float | None = None) -> Request[None]:
        """Say whether several steering messages are heard one by one or all at once."""
        return Request("set_steering_mode", nothing, timeout, given(mode=mode, save=save))

    @command
    def set_follow_up_mode(
        self, mode: Mode, *, save: bool | None = None, timeout: float | None = None
    ) -> Request[None]:
        """Say whether several follow-ups are heard one by one or all at once."""
        return Request("set_follow_up_mode", nothing, timeout, given(mode=mode, save=save))

    @command
    def compact(self, instructions: str | None = None, *, timeout: float | None = None) -> Request[Compaction]:
        """Replace old messages by a summary; return it when it is there."""
        return Request("compact", a(Compaction), timeout, given(customInstructions=instructions))

    @command
    def set_auto_compaction(
        self, enabled: bool, *, save: bool | None = None, timeout: float | None = None
    ) -> Request[None]:
        """Say whether a conversation that grows too long is compacted by itself."""
        return Request("set_auto_compaction", nothing, timeout, given(enabled=enabled, save=save))

    @command
    def set_auto_retry(self, enabled: bool, *, save: bool | None = None, timeout: float | None = None) -> Request[None]:
        """Say whether a run that failed for a passing reason is tried again."""
        return Request("set_auto_retry", nothing, timeout, given(enabled=enabled, save=save))

    @command
    def abort_retry(self, *, timeout: float | None = None) -> Request[None]:
        """Give up waiting for a retry."""
        return Request("abort_retry", nothing, timeout)

    @command
    def bash(
        self, command: str, *, exclude_from_context: bool | None = None, timeout: float | None = None
    ) -> Request[results.BashResult]:
        """Run a shell command; return when it has finished. The model reads of it with the next prompt;
        if it is excluded from the context, never. What it prints meanwhile are events of pi since 0.80.
        """
        fields = given(command=command, excludeFromContext=exclude_from_context)
        return Request("bash", a(results.BashResult), timeout, fields)

    @command
    def abort_bash(self, *, timeout: float | None = None) -> Request[None]:
        """Kill commands of `bash`, each of which then returns."""
        return Request("abort_bash", nothing, timeout)

    @command
    def get_session_stats(self, *, timeout: float | None = None) -> Request[results.Stats]:
        """Return counts of messages and tokens, and what the session has cost."""
        return Request("get_session_stats", a(results.Stats), timeout)

    @command
    def export_html(self, output_path: str | None = None, *, timeout: float | None = None) -> Request[str]:
        """Make a page of the session; return its path."""
        fields = given(outputPath=output_path)
        return Request("export_html", lambda data: a(results.Exported)(data).path, timeout, fields)

    @command
    def switch_session(self, session_path: str, *, timeout: float | None = None) -> Request[results.Moved]:
        """Go on with another session, which has this path."""
        return Request("switch_session", a(results.Moved), timeout, {"sessionPath": session_path})

    @command
    def branch(self, entry_id: str, *, timeout: float | None = None) -> Request[results.Branched]:
        """Go on from before that prompt, in a session of its own. Called `fork` since pi 0.70."""
        return Request("branch", a(results.Branched), timeout, {"entryId": entry_id})

    @command
    def fork(self, entry_id: str, *, timeout: float | None = None) -> Request[results.Branched]:
        """Go on from before that prompt, in a session of its own. pi since 0.70."""
        return Request("fork", a(results.Branched), timeout, {"entryId": entry_id})

    @command
    def clone(self, *, timeout: float | None = None) -> Request[results.Moved]:
        """Go on with the same conversation, in a session of its own."""
        return Request("clone", a(results.Moved), timeout)

    @command
    def navigate(self, entry_id: str | None, *, timeout: float | None = None) -> Request[results.Navigated]:
        """Go on from another entry of this session; None is the beginning. linnet's own."""
        return Request("navigate", a(results.Navigated), timeout, {"entryId": entry_id})

    @command
    def get_branch_messages(self, *, timeout: float | None = None) -> Request[list[results.BranchMessage]]:
        """Return the prompts that can be branched from. Called `get_fork_messages` since pi 0.70."""
        return Request("get_branch_messages", lambda data: a(results.BranchMessages)(data).messages, timeout)

    @command
    def get_fork_messages(self, *, timeout: float | None = None) -> Request[list[results.BranchMessage]]:
        """Return the prompts that can be forked from. pi since 0.70."""
        return Request("get_fork_messages", lambda data: a(results.BranchMessages)(data).messages, timeout)

    @command
    def get_tree(self, *, timeout: float | None = None) -> Request[results.Tree]:
        """Return the entries of the session as a tree: nested, or from linnet's dialect `pi` as a list of nodes."""
        return Request("get_tree", tree, timeout)

    @command
    def get_entries(self, since: str | None = None, *, timeout: float | None = None) -> Request[results.Entries]:
        """Return the lines of the session's file, all or those after an entry."""
        return Request("get_entries", a(results.Entries), timeout, given(since=since))

    @command
    def get_last_assistant_text(self, *, timeout: float | None = None) -> Request[str | None]:
        """Return what the agent said last; None if it said nothing."""
        return Request("get_last_assistant_text", lambda data: a(results.LastText)(data).text, timeout)

    @command
    def set_session_name(self, name: str, *, timeout: float | None = None) -> Request[None]:
        """Name the session."""
        return Request("set_session_name", nothing, timeout, {"name": name})

    @command
    def list_sessions(self, *, all: bool = False, timeout: float | None = None) -> Request[list[results.SessionItem]]:
        """Return this folder's sessions, or those of every folder. linnet's own."""
        return Request("list_sessions", lambda data: a(results.Sessions)(data).sessions, timeout, {"all": all})

    @command
    def get_commands(self, *, timeout: float | None = None) -> Request[list[results.SlashCommand]]:
        """Return what extensions, templates and skills can be called by."""
        return Request("get_commands", lambda data: a(results.SlashCommands)(data).commands, timeout)

    @command
    def set_stream(self, mode: Literal["full", "deltas"], *, timeout: float | None = None) -> Request[None]:
        """Say whether updates repeat the message so far. linnet's own."""
        return Request("set_stream", nothing, timeout, {"mode": mode})

    @command
    def tool_response(
        self,
        request_id: str,
        content: str | Sequence[dict[str, Any]],
        *,
        is_error: bool = False,
        timeout: float | None = None,
    ) -> Request[None]:
        """Answer a ToolRequest with what came of it. linnet's own."""
        fields = {"requestId": request_id, "content": content, "isError": is_error}
        return Request("tool_response", nothing, timeout, fields)

    @command
    def tool_response_progress(self, request_id: str, text: str, *, timeout: float | None = None) -> Request[None]:
        """Tell what a tool that you run has printed since. linnet's own."""
        return Request("tool_response_progress", nothing, timeout, {"requestId": request_id, "text": text})


class PiLegacyCommands(Agent[pi.Event]):
    """The methods of pi's protocol before it had answers. `timeout` is in seconds; without one, the client's counts."""

    speech = Speech(("--mode", "rpc", "--dialect", "pi-legacy"), pi.reader, LegacyWork, PiRunResult)

    @run_command
    def prompt(
        self, message: str, images: Sequence[Picture] = (), *, timeout: float | None = None
    ) -> Request[results.Accepted]:
        """Say something; iterate over what happens up to `agent_end`, or the `error` that it was refused with."""
        return said("prompt", message, images, timeout)

    @run_command
    def compact(self, instructions: str | None = None, *, timeout: float | None = None) -> Request[Compaction]:
        """Replace old messages by a summary; iterate up to `compaction`, or the `error` that it failed with."""
        return PiCommands.compact(self, instructions, timeout=timeout)

    def abort(self) -> None:
        """Cancel what runs. Its last events follow."""
        self.tell("abort")


def said(
    name: str, message: str, images: Sequence[Picture], timeout: float | None, **fields: Any
) -> Request[results.Accepted]:
    pictures = [{"type": "image", "data": each.data, "mimeType": each.mime_type} for each in checked(images)]
    fields = given(message=message, images=pictures or None, **fields)
    return Request(name, a(results.Accepted), timeout, fields)
