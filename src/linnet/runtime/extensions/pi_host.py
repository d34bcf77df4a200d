"""What extensions for pi ask of a session and do to it, beyond what all extensions can: what PiHost has beyond Host."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from linnet.core import commands
from linnet.core.cancel import Cancel
from linnet.core.deltas import Delta
from linnet.core.events import NoteAdded
from linnet.core.messages import AssistantMessage, Image, Message, Note, ToolCall, Usage, texts
from linnet.core.models import Model, Reasoning
from linnet.errors import BadInput, Cancelled, LinnetError, ProviderError
from linnet.extensions.host import Delivery, KnownTool, Saying
from linnet.runtime.broadcast import Broadcast
from linnet.runtime.jobs import Jobs
from linnet.runtime.requester import Requester
from linnet.runtime.sessions.storage import Storage
from linnet.runtime.tools.open_questions import OpenQuestions
from linnet.runtime.tools.session_tools import SessionTools

if TYPE_CHECKING:
    from linnet.core.toolspec import ToolSpec
    from linnet.runtime.session import Session
    from linnet.tools.spec import ToolOutput


class Said(Requester):
    """Tells clients that what an extension said was refused: nobody waits for the answer."""

    def __init__(self, failed: Callable[[str, str, str], None]) -> None:
        self._failed = failed

    def refused(self, error: LinnetError) -> None:
        self._failed("<runtime>", "say", str(error))


class PiPart:
    """Implements what PiHost has beyond Host, whose docstrings say what each method does."""

    def __init__(
        self,
        session: "Session",
        session_tools: SessionTools,
        broadcast: Broadcast,
        storage: Storage,
        questions: OpenQuestions,
        jobs: Jobs,
        clock: Callable[[], int],
    ) -> None:
        self._session_tools = session_tools
        self._session = session
        self._resources = session_tools.resources
        self._live = self._resources.live
        self._broadcast = broadcast
        self._storage = storage
        self._questions = questions
        self._jobs = jobs
        self._clock = clock
        self._reloaded = False  # Whether extensions were read before those that are loaded.

    def failed(self, path: str, event: str, error: str) -> None:
        raise NotImplementedError

    @property
    def mode(self) -> Literal["rpc", "print"]:
        return "rpc" if self._questions.answerable else "print"

    @property
    def answerable(self) -> bool:
        return self._questions.answerable

    @property
    def trusted(self) -> bool:
        project = self._live.now.project
        return project.trusted or not project.folders

    @property
    def thinking(self) -> Reasoning:
        return self._broadcast.state.thinking

    def query(self, query: commands.Query) -> commands.Answer:
        return self._session.answer_now(query)

    def set(self, setting: commands.Setting) -> commands.Answer:
        return self._session.set_now(setting)

    def add(self, note: Note, deliver: Delivery, *, begin: bool) -> None:
        note = replace(note, time=self._clock())
        if not note.content:
            raise BadInput("there is nothing to say")
        chain = self._session_tools.chain
        if deliver == "next" and chain is not None:
            chain.waiting.append(note)
            return
        with self._broadcast.lock:
            if not self._jobs.active and not begin:
                self._broadcast.publish_locked([NoteAdded(note)])
                return
        images = tuple(part for part in note.content if isinstance(part, Image))
        when: Literal["steer", "follow_up"] = "follow_up" if deliver == "follow_up" else "steer"
        prompt = commands.Prompt(
            texts(note.content), images, when, slash="text", kind=note.kind, details=note.details, display=note.display
        )
        self._session.submit(prompt, Said(self.failed))

    def say_as_user(self, text: str, images: Sequence[Image], how: Saying, *, expand: bool) -> None:
        when: Literal["steer", "follow_up"] = "steer" if how == "steer" else "follow_up"
        prompt = commands.Prompt(text, tuple(images), when, slash="at_once" if expand else "text")
        self._session.submit(prompt, Said(self.failed))

    @property
    def keeps_entries(self) -> bool:
        return self._storage.journal is not None

    def label(self, entry: str, label: str) -> None:
        with self._broadcast.lock:
            self._storage.kept.label(entry, label)

    def tools(self) -> Sequence[KnownTool]:
        tools = self._session_tools
        return [KnownTool(spec, owner, tools.is_active(spec.name)) for spec, owner in tools.all_specs()]

    def activate(self, names: Sequence[str]) -> None:
        known = {spec.name for spec, _ in self._session_tools.all_specs()}
        self._session_tools.activate([name for name in names if name in known])

    @property
    def reloaded(self) -> bool:
        return self._reloaded

    def note_reload(self) -> None:
        """Take note that extensions are read again: those that come are told so."""
        self._reloaded = True

    def discovered(self, skills: Sequence[str], templates: Sequence[str]) -> None:
        self._resources.discover(skills, templates)

    def offers_changed(self) -> None:
        self._session_tools.join({spec.name for spec, owner in self._session_tools.all_specs() if owner})

    def own_tool(self, name: str) -> "ToolSpec":
        return self._own(name)[1]

    def run_own_tool(self, call: ToolCall, cwd: str, cancel: Cancel) -> "ToolOutput":
        registry, _ = self._own(call.name)
        output: ToolOutput = registry.run(call, self._context(cwd, cancel))
        return output

    def run_tool(self, call: ToolCall, cancel: Cancel) -> "ToolOutput":
        return self._session_tools.tools.run(call, self._context(self._live.now.cwd, cancel))

    def system_prompt(self) -> str:
        tools, chain = self._session_tools, self._session_tools.chain
        names = [spec.name for spec in tools.tools.specs]
        return self._resources.system(names, chain.hints(names) if chain is not None else ())

    def context_files(self) -> Sequence[tuple[str, str]]:
        return [(each.path, each.text) for each in self._resources.instruction_files.instructions]

    def skills(self) -> Sequence[tuple[str, str]]:
        return [(each.skill.name, each.skill.description) for each in self._resources.skills.found]

    def models(self, *, usable: bool) -> Sequence[Model]:
        known = self._live.now.known_models
        return known.available() if usable else known.everything()

    def find_model(self, provider: str, id: str) -> Model | None:
        known = self._live.now.known_models
        return next((model for model in known.of(provider) if model.id == id), None) if known.knows(provider) else None

    def usable(self, provider: str) -> bool:
        return self._live.now.known_models.knows(provider) and self._live.now.accounts.usable(provider)

    def complete(
        self, provider: str, id: str, system: str, messages: Sequence[Message], cancel: Cancel
    ) -> AssistantMessage:
        from linnet.core.context.cost import priced
        from linnet.core.context.history import repaired
        from linnet.core.loop.draft import Draft
        from linnet.providers.base import Request

        model = self.find_model(provider, id) or Model(id, provider)
        draft, time = Draft(), self._clock()
        if not self.usable(provider):
            return draft.message(time, model, Usage(), "error", f"Provider is not configured: {provider}")
        stop: Literal["error", "aborted"] | None = None
        error = ""
        try:
            asked = Request(model, system, repaired(list(messages)), cache="off")
            for batch in self._resources.provider(model, cancel).stream(asked, cancel):
                draft.add(batch)
        except Cancelled:
            stop = "aborted"
        except (ProviderError, LinnetError) as failure:
            stop, error = "error", str(failure)
        return draft.message(time, model, priced(draft.usage, model.prices, time), stop, error)

    def relay(self, request: Any, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        return self._resources.provider(request.model, cancel).stream(request, cancel)

    def wait_idle(self, cancel: Cancel) -> None:
        while self._jobs.active:
            cancel.check()
            self._jobs.wait_inactive(0.2)

    def shut_down(self) -> None:
        self._broadcast.finish()

    def _own(self, name: str) -> "tuple[Any, ToolSpec]":
        """Return linnet's own tools, and the spec of that one. Raises BadInput if there is none."""
        from linnet.tools.registry import Registry
        from linnet.tools.standard import standard_tools

        registry = Registry(standard_tools((name,)))
        found = next((spec for spec in registry.specs if spec.name == name), None)
        if found is None:
            raise BadInput(f"linnet has no tool {name}")
        return registry, found

    def _context(self, cwd: str, cancel: Cancel) -> Any:
        """Return what a tool is given."""
        from linnet.tools.context import ToolContext

        settings = self._live.now
        return ToolContext(
            cwd,
            cancel,
            lambda text: None,
            self._resources.processes,
            settings.wording,
            self._session_tools.asking(cancel),
            settings.bash_timeout,
            self._resources.bounds,
            self._resources.shell,
        )
