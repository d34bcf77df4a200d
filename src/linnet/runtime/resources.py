"""Builds what a run uses: providers of models, tools, MCP servers, child processes, files that people wrote for it."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import RLock, Thread
from typing import TYPE_CHECKING

from linnet.errors import LinnetError
from linnet.runtime.error_report import start
from linnet.runtime.settings.settings import LiveSettings, Settings
from linnet.runtime.slash_names import SlashNames

if TYPE_CHECKING:
    from linnet.concurrency.foreign import EventLoop, Foreign
    from linnet.core.cancel import Cancel
    from linnet.core.models import Model
    from linnet.extensions.mcp.servers import McpServers
    from linnet.processes.process import Processes
    from linnet.processes.sandbox.bounds import Bounds
    from linnet.processes.sandbox.bubblewrap import Sandbox
    from linnet.processes.sandbox.files_only import FilesOnly
    from linnet.processes.shell import Shell
    from linnet.providers.base import Provider
    from linnet.providers.watch import Watch
    from linnet.runtime.open_providers import OpenProviders
    from linnet.runtime.project.instruction_files import InstructionFiles
    from linnet.runtime.project.skills import Skills
    from linnet.runtime.project.templates import Templates
    from linnet.runtime.tape import Tape
    from linnet.tools.registry import Registry


class Resources:
    """Each is built when it is first asked for, because none is needed to answer a ping and all are slow to import; and
    again when other settings hold. What was built by those before is closed by the next run.

    `_lock` guards what is built. It may be held while something slow is imported, so that it is never waited for under
    the session's lock.
    """

    def __init__(
        self,
        settings: Settings,
        loop: "EventLoop | None" = None,
        trace: "Callable[[str], None] | None" = None,
        *,
        own_process: bool = False,
    ) -> None:
        """`loop` runs coroutines of the program that uses the SDK; without one, a thread of ours does. `trace` is told
        what is asked of models and how it went. `own_process`: nothing but linnet runs in this process.

        Raises ConfigError if there is to be a sandbox or a recording, and cannot be.
        """
        self.live = LiveSettings(settings)
        self._edition = settings.edition  # Of the settings by which all of this was built.
        self._own_process = own_process
        self.tape = _tape(settings, trace)
        self._sandbox = _sandbox(settings)
        self._loop = loop
        self._foreign: Foreign | None = None
        self._lock = RLock()
        self._trace = trace
        self._providers: OpenProviders | None = None
        self._tools: Registry | None = None
        self._processes: Processes | None = None
        self._servers: McpServers | None = None
        self._retired: list[McpServers | Provider] = []  # Built by settings that no longer hold; to be closed.
        self._instruction_files: InstructionFiles | None = None
        self._templates: Templates | None = None
        self._skills: Skills | None = None
        self._discovered: tuple[tuple[str, ...], tuple[str, ...]] = (), ()  # Paths of skills and templates, besides.
        # The last system prompt, whole and in its sections, and what it was made of.
        self._told: tuple[str, Mapping[str, str], object] = "", {}, None
        self._expecting = False  # Whether commands were made ready for, or are being.
        self.session_variables: Callable[[], Mapping[str, str | None]] = dict  # That of Processes.
        self.slash_names = SlashNames(self)
        self.watch: Callable[[], Watch | None] = lambda: None  # Returns who sees requests and replies, if anybody.
        self._closed = False

    @property
    def tools(self) -> "Registry":
        """Return linnet's own tools, those that the settings allow."""
        with self._lock:
            settings = self._renewed_locked()
            if self._tools is None:
                from linnet.tools.registry import Registry
                from linnet.tools.standard import standard_tools

                self._tools = Registry(standard_tools(settings.tools))
            return self._tools

    @property
    def servers(self) -> "McpServers":
        """Return the MCP servers, as a toolset. They are started when their specs are first read, or by `begin`."""
        with self._lock:
            settings = self._renewed_locked()
            if self._servers is None:
                from linnet.extensions.mcp.servers import McpServers

                self._servers = McpServers(
                    settings.mcp,
                    self.processes,
                    settings.cwd,
                    only=settings.mcp_tools,
                    patience=settings.mcp_wait,
                    neutral=settings.project.neutral_folder,
                )
                if self._closed:
                    self._servers.close()
            return self._servers

    @property
    def has_servers(self) -> bool:
        """Return whether the settings name any MCP server."""
        return bool(self.live.now.mcp)

    @property
    def known_servers(self) -> "McpServers | None":
        """Return the servers, if a run has asked for them. Takes no lock: it may be called under the session's."""
        servers = self._servers
        return servers if self._edition == self.live.now.edition else None

    @property
    def instruction_files(self) -> "InstructionFiles":
        """Return AGENTS.md and the other files of instructions, as of the last `look`."""
        with self._lock:
            settings = self._renewed_locked()
            if self._instruction_files is None:
                from linnet.runtime.project.instruction_files import InstructionFiles

                self._instruction_files = InstructionFiles(settings.resource_folders, self._open_file)
            return self._instruction_files

    @property
    def templates(self) -> "Templates":
        """Return the prompt templates of the user and the project."""
        with self._lock:
            settings = self._renewed_locked()
            if self._templates is None:
                from linnet.runtime.project.templates import Templates

                self._templates = Templates(settings.resource_folders.with_more(*self._discovered), self._open_file)
            return self._templates

    @property
    def skills(self) -> "Skills":
        """Return the skills of the user and the project, as of the last `look`."""
        with self._lock:
            settings = self._renewed_locked()
            if self._skills is None:
                from linnet.runtime.project.skills import Skills

                lenient, folders = settings.wording == "zot", settings.resource_folders.with_more(*self._discovered)
                self._skills = Skills(folders, lenient=lenient, open=self._open_file)
            return self._skills

    @property
    def has_skill_tool(self) -> bool:
        """Return whether the model loads skills with a tool of their own: as with zot, or because a sandbox keeps the
        other tools from the user's folders.
        """
        settings = self.live.now
        resource_folders = settings.resource_folders
        named = any(function.spec.name == "skill" for function in settings.functions)
        wanted = resource_folders.skills or resource_folders.skill_paths
        needed = settings.wording == "zot" or self._sandbox is not None
        offered = settings.selection is None or settings.selection.offers_own("skill")
        return needed and bool(wanted) and offered and not named

    def discover(self, skills: Sequence[str], templates: Sequence[str]) -> None:
        """Look for skills and templates in these files and folders, too: extensions bring them."""
        with self._lock:
            self._discovered = tuple(skills), tuple(templates)
            self._skills = self._templates = None

    def look(self) -> None:
        """Read instructions and skills again, before a run: people may have changed the files since the last one."""
        instruction_files, skills = self._written()
        instruction_files.look()
        skills.look()

    def _written(self) -> "tuple[InstructionFiles, Skills]":
        """Return what people wrote for the model to be told before the conversation."""
        with self._lock:
            if self._renewed_locked() and self._instruction_files is not None and self._skills is not None:
                return self._instruction_files, self._skills
            return self.instruction_files, self.skills

    def begin(self, cancel: "Cancel") -> None:
        """Close what earlier settings left; start the MCP servers, if there are any, and wait for them. Called by a run
        before each step. Raises Cancelled.
        """
        self._close_retired()
        if self.live.now.mcp:
            self.servers.begin(cancel)

    @property
    def foreign(self) -> "Foreign":
        """Return what calls functions of the program that uses the SDK."""
        with self._lock:
            if self._foreign is None:
                from linnet.concurrency.foreign import Foreign

                self._foreign = Foreign(self._loop)
            return self._foreign

    @property
    def processes(self) -> "Processes":
        """Return what starts child processes, in the sandbox if there is one. Children have no providers' keys."""
        with self._lock:
            settings = self._renewed_locked()
            if self._processes is None:
                from linnet.processes.process import Processes
                from linnet.processes.shared_spawner import shared

                shared.adopts = shared.adopts or self._own_process
                self._processes = Processes(settings.hidden_variables, shared, self._sandbox)
                self._processes.confines_extensions = settings.sandbox_extensions
                self._processes.session_variables = self.session_variables
                if self._closed:
                    self._processes.close()
            return self._processes

    @property
    def left_running(self) -> bool:  # That of Processes.
        return self._processes is not None and self._processes.left_running

    @property
    def shell(self) -> "Shell":
        """Return the shell that runs commands."""
        from linnet.processes.shell import Shell

        settings = self.live.now
        return Shell(settings.shell, settings.shell_prefix)

    def system(self, tools: Sequence[str], hints: Sequence[str] = ()) -> str:
        """Return the system prompt for a step in which the model has these tools, as of the last look. `hints` are what
        extensions say about theirs.
        """
        return self._system(tools, hints)[0]

    def system_sections(self, tools: Sequence[str], hints: Sequence[str] = ()) -> Mapping[str, str]:
        """Return the same in its sections, by their names. It is the same object as long as nothing has changed."""
        return self._system(tools, hints)[1]

    def _system(self, tools: Sequence[str], hints: Sequence[str]) -> tuple[str, Mapping[str, str], object]:
        settings, (files, skills) = self.live.now, self._written()
        written = files.system, files.addition, files.instructions, skills.found
        made_of = settings.edition, list(tools), list(hints), *written
        told = self._told
        if told[2] != made_of:
            from linnet.runtime.tools.system_prompt import put_together

            box = self._sandbox.described if self._sandbox is not None else ""
            sections = put_together(settings, tools, hints, files, skills.section(tools, tool=self.has_skill_tool), box)
            self._told = told = "\n\n".join(sections.values()), sections, made_of
        return told

    @property
    def bounds(self) -> "Bounds | None":
        """Return where tools may read and write; None is everywhere."""
        if self._sandbox is None:
            return None
        from linnet.processes.sandbox.bounds import Bounds

        return Bounds(self._sandbox.view)

    def _open_file(self, path: str, flags: int) -> int:
        """Open a file that people wrote for the agent, only where its tools may read. Returns a descriptor. Raises
        OSError.
        """
        if self._sandbox is None:
            return os.open(path, flags)
        from linnet.processes.sandbox.opened import opened

        return opened(path, flags, self._sandbox.view)

    def provider(self, model: "Model", cancel: "Cancel") -> "Provider":
        """Return what asks this model. May run a command that prints its provider's key, once.

        Raises Cancelled, and ConfigError if there is no key.
        """
        with self._lock:
            self._renewed_locked()
            known = self._providers.find(model) if self._providers is not None else None
            if known is not None:
                return known
        return self._provider(model, self._key(model.provider, cancel))

    def warm(self) -> None:
        """Import and build what the first step of a run will need. Files of people are read again when the run begins,
        and what commands need is made ready when the model begins to write a call.
        """
        model, accounts = self.live.now.model, self.live.now.accounts
        key = accounts.key(model.provider)
        # A command, or a key that is missing, waits until it is needed.
        if not key.command and accounts.usable(model.provider):
            self._provider(model, key.word).warm()
        self.system([spec.name for spec in self.tools.specs])

    def expect_commands(self) -> None:
        """Make ready, in a thread, what commands need. Called when the model begins to write a call, which may be for
        one: a conversation without calls needs none of it. Returns at once; only the first call does anything.
        """
        if not self._expecting:
            self._expecting = True
            with suppress(LinnetError):  # No thread: then the command will wait for it.
                start(Thread(target=self._ready_commands, name="linnet-warm", daemon=True))

    def close(self) -> None:
        """End all that was started; nothing is started from here on. Idempotent."""
        with self._lock:
            self._closed = True
            processes, providers = self._processes, self._providers.take_all() if self._providers is not None else []
            servers, foreign = self._servers, self._foreign
        self._close_retired()
        if foreign is not None:
            foreign.close()
        if servers is not None:
            servers.close()
        if processes is not None:
            processes.close()
        elif self._sandbox is not None:
            self._sandbox.close()
        for provider in providers:
            provider.close()
        if self.tape is not None:
            self.tape.close()

    def _renewed_locked(self) -> Settings:
        """Return the settings that hold now. If all was built by others, put that aside, to be built again. Called with
        `_lock` held.
        """
        settings = self.live.now
        if settings.edition != self._edition:
            self._edition = settings.edition
            self._tools = self._instruction_files = self._templates = self._skills = None
            if self._providers is not None:
                self._retired += self._providers.take_all()
            if self._servers is not None:
                self._retired.append(self._servers)
                self._servers = None
            if self._processes is not None:
                self._processes.hide(settings.hidden_variables)
        return settings

    def _close_retired(self) -> None:
        with self._lock:
            retired, self._retired = self._retired, []
        for each in retired:
            each.close()

    def _ready_commands(self) -> None:
        with self._lock:
            if not self._closed:
                self.processes.warm()

    def _key(self, name: str, cancel: "Cancel") -> str:
        """Return a provider's key. Runs the command that prints it, if it is one. Raises ConfigError, Cancelled."""
        key = self.live.now.accounts.key(name)
        if not key.command:
            return key.word
        from linnet.runtime.models.key_command import printed_key

        return printed_key(key.command, name, self.processes, cancel)

    def _printed(self, argv: "Sequence[str]", cancel: "Cancel") -> bytes:
        """Return the credentials that a program prints. Raises ConfigError, Cancelled."""
        from linnet.runtime.models.key_command import printed

        return printed(argv, "credentials", self.processes, cancel)

    def _provider(self, model: "Model", key: str) -> "Provider":
        name = model.provider
        with self._lock:
            settings = self._renewed_locked()
            command = settings.accounts.key(name).command
            token = (lambda cancel: self._key(name, cancel)) if command else None
            if self._providers is None:
                from linnet.runtime.open_providers import OpenProviders

                self._providers = OpenProviders(self._trace, self.tape, self._printed, lambda: self.watch())
            return self._providers.provider(model, key, settings, token)


def _tape(settings: Settings, trace: "Callable[[str], None] | None") -> "Tape | None":
    if settings.record is None and settings.recording is None:
        return None
    from linnet.runtime.tape import Tape

    return Tape(settings, trace)


def _sandbox(settings: Settings) -> "Sandbox | FilesOnly | None":
    if not (settings.sandbox or settings.sandbox_files):
        return None
    from linnet.runtime.settings.sandboxing import built

    return built(settings)
