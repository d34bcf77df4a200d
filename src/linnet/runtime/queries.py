"""Answers commands that ask about a session, from its state and its store. Nothing is changed here."""

from collections.abc import Sequence
from typing import assert_never, overload

from linnet import __version__
from linnet.core import commands
from linnet.core.context.conversation import Conversation
from linnet.core.context.token_estimate import counted_tokens
from linnet.core.messages import AssistantMessage, Message
from linnet.core.models import levels
from linnet.runtime.sessions.storage import Storage
from linnet.runtime.settings.settings import LiveSettings, Settings
from linnet.runtime.slash_commands import SlashCommands
from linnet.runtime.state import SessionState
from linnet.runtime.tools.open_questions import OpenQuestions


class Queries:
    """All of it is called with the session's lock held."""

    def __init__(
        self, state: SessionState, storage: Storage, live: LiveSettings, questions: OpenQuestions, slash: SlashCommands
    ) -> None:
        self._state = state
        self._storage = storage
        self._live = live
        self._questions = questions
        self._slash = slash

    def answer(self, query: commands.Query, *, busy: bool) -> commands.Answer:
        """Return the answer; `busy` says that a job is active. Raises LinnetError if the query names something that is
        not there, or asks about a session where none is kept.
        """
        state = self._state
        match query:
            case commands.Ping():
                return commands.Pong()
            case commands.Hello():
                return commands.Greeting(__version__, state.model.provider, state.model.id)
            case commands.GetState():
                return self._get_state(busy=busy)
            case commands.GetMessages():
                return commands.Transcript(state.conversation.messages)
            case commands.GetStats():
                return self._stats()
            case commands.GetLastText():
                return commands.LastText(_last_text(state.conversation.messages))
            case commands.GetModels(everywhere):
                known = self._live.now.known_models
                return commands.ModelList(known.available() if everywhere else known.of(state.model.provider))
            case commands.GetThinkingLevels():
                return commands.ThinkingLevels(levels(state.model, with_tools=state.has_tools()))
            case commands.GetBranchMessages():
                return commands.BranchMessages(self._storage.kept.branch_messages())
            case commands.GetTree(whole):
                journal = self._storage.kept
                if whole:
                    return commands.EntryTree(journal.store.tree_entries(), journal.store.leaf)
                return commands.Outline(journal.outline(), journal.store.leaf)
            case commands.GetEntries(since):
                journal = self._storage.kept
                return commands.EntryList(journal.entries_since(since), journal.store.leaf)
            case commands.GetCommands():
                return commands.CommandList(self._slash.listed())
            case _:
                assert_never(query)

    def _stats(self) -> commands.SessionStats:
        state, journal = self._state, self._storage.journal
        messages = state.conversation.messages
        told = messages, state.spent, state.session_id, state.session_file
        if self._live.now.session_format == "0.73":
            return commands.SessionStats(*told)
        tally = None if journal is None else journal.store.tally()
        return commands.SessionStats(
            *told, tally, commands.ContextUse(counted_tokens(messages), state.model.context_window)
        )

    def _get_state(self, *, busy: bool) -> commands.AgentState:
        state, storage, settings = self._state, self._storage, self._live.now
        return commands.AgentState(
            model=state.model,
            cwd=settings.cwd,
            busy=busy,
            streaming=state.streaming,
            compacting=state.compacting,
            spent=state.spent,
            prompting=state.prompting,
            messages=_Counted(state.conversation),
            system_messages=state.conversation.system_messages,
            thinking=state.thinking,
            steering_mode=state.queues.steering_mode,
            follow_up_mode=state.queues.follow_up_mode,
            auto_compaction=state.auto_compaction,
            auto_retry=state.auto_retry,
            pending=len(state.queues),
            session_id=state.session_id,
            session_file=state.session_file,
            session_name=storage.name,
            session_error=storage.problem,
            waiting_for=self._questions.open,
            sandbox=_sandbox(settings),
        )


def _sandbox(settings: Settings) -> commands.SandboxState | None:
    if settings.sandbox_files:
        return commands.SandboxState("landlock", network=True)
    if not settings.sandbox:
        return None
    return commands.SandboxState("bubblewrap", settings.sandbox_network, settings.sandbox_hosts)


def _last_text(messages: Sequence[Message]) -> str | None:
    """Return the text of the last reply that has any content; None if there is none."""
    for message in reversed(messages):
        if isinstance(message, AssistantMessage) and message.content:
            return message.text
    return None


class _Counted(Sequence[Message]):
    """The messages of a conversation, which are read from the file only if somebody looks at more than their number."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def __len__(self) -> int:
        return len(self._conversation)

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...

    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        return self._conversation.messages[index]
