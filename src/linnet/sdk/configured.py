"""What a runtime is made of, said in keywords. Both faces take the same ones."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from linnet.core.events import QueueMode
from linnet.core.models import Reasoning
from linnet.core.permissions import Mode, Rule, said_rule
from linnet.core.spelling import keyword
from linnet.runtime.config import SDK, Callback, Config, Path, Tools
from linnet.runtime.listener import Listener
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.settings import resolve
from linnet.sdk.asking import Answering, OnQuestion

if TYPE_CHECKING:
    from linnet.sdk.host_loop import HostLoop


class Configured:
    def __init__(
        self,
        config: Config | None = None,
        *,
        provider: str | None = None,
        model: str | None = None,
        cwd: Path | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        system_prompt: str | None = None,
        append_system_prompt: str | None = None,
        reasoning: Reasoning | None = None,
        max_steps: int | None = None,
        max_cost: float | None = None,
        max_seconds: float | None = None,
        bash_timeout: float | None = None,
        tools: "Tools | None" = None,
        script: Path | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        retry_delay: float | None = None,
        compact_reserve: int | None = None,
        compact_keep: int | None = None,
        session: Path | None = None,
        resume: bool | None = None,
        fork: Path | None = None,
        session_dir: Path | None = None,
        save: bool | None = None,
        confine: bool | None = None,
        permission: "Mode | Callback | None" = None,
        rules: Sequence[Rule | str] | None = None,
        on_question: OnQuestion | None = None,
        question_timeout: float | None = None,
        trust: bool | None = None,
        shell: str | None = None,
        shell_prefix: str | None = None,
        steering_mode: QueueMode | None = None,
        follow_up_mode: QueueMode | None = None,
        context_files: bool | None = None,
        templates: bool | None = None,
        template_paths: Sequence[Path] | None = None,
        skills: bool | None = None,
        skill_paths: Sequence[Path] | None = None,
        stands_in_for: Literal["pi", "zot"] | None = None,
        mcp: bool | None = None,
        mcp_config: Sequence[Path] | None = None,
        mcp_servers: Mapping[str, Any] | None = None,
        mcp_wait: float | None = None,
        extensions: Sequence[Path] | None = None,
        find_extensions: bool | None = None,
        extension_wait: float | None = None,
        extension_flags: Mapping[str, Any] | None = None,
        hook_timeout: float | None = None,
        pass_keys: bool | None = None,
        sandbox: bool | None = None,
        sandbox_network: bool | None = None,
        needs_key: bool | None = None,
        sessions: bool | None = None,
        wording: Literal["zot", "pi"] | None = None,
        retry_runs: bool | None = None,
        auto_compaction: bool | None = None,
        keep_messages: int | None = None,
        calls_at_once: int | None = None,
    ) -> None:
        """Takes a Config, or its fields as keywords; see Config for what they mean.

        `permission` is a mode, or a function that is given each call. `rules` are such as "allow bash:git status".
        `on_question` answers what else is asked.
        """
        said = Config(
            provider=provider,
            model=model,
            cwd=cwd,
            api_key=api_key,
            base_url=base_url,
            system_prompt=system_prompt,
            append_system_prompt=append_system_prompt,
            reasoning=reasoning,
            max_steps=max_steps,
            max_cost=max_cost,
            max_seconds=max_seconds,
            bash_timeout=bash_timeout,
            tools=tools,
            script=script,
            timeout=timeout,
            retries=retries,
            retry_delay=retry_delay,
            compact_reserve=compact_reserve,
            compact_keep=compact_keep,
            session=session,
            resume=resume,
            fork=fork,
            session_dir=session_dir,
            save=save,
            confine=confine,
            permission=permission if isinstance(permission, str) else None,
            rules=None if rules is None else [_rule(rule) for rule in rules],
            permission_callback=permission if callable(permission) else None,
            question_timeout=question_timeout,
            trust=trust,
            shell=shell,
            shell_prefix=shell_prefix,
            steering_mode=steering_mode,
            follow_up_mode=follow_up_mode,
            context_files=context_files,
            templates=templates,
            template_paths=template_paths,
            skills=skills,
            skill_paths=skill_paths,
            stands_in_for=stands_in_for,
            mcp=mcp,
            mcp_config=mcp_config,
            mcp_servers=mcp_servers,
            mcp_wait=mcp_wait,
            extensions=extensions,
            find_extensions=find_extensions,
            extension_wait=extension_wait,
            extension_flags=extension_flags,
            hook_timeout=hook_timeout,
            pass_keys=pass_keys,
            sandbox=sandbox,
            sandbox_network=sandbox_network,
            needs_key=needs_key,
            sessions=sessions,
            wording=wording,
            retry_runs=retry_runs,
            auto_compaction=auto_compaction,
            keep_messages=keep_messages,
            calls_at_once=calls_at_once,
        )
        if config is not None and said != Config():
            raise TypeError("give either a Config or its fields, not both")
        self._config = config or said
        self._on_question = on_question
        self._set_up()

    def _open_session(self, ear: Listener, loop: "HostLoop | None" = None) -> Session:
        """`loop` is where coroutines of the program's own run; without one, in a thread of the runtime's.

        Raises ConfigError or SessionError if that cannot be done.
        """
        settings = resolve(self._config, os.environ, SDK, spelled=keyword)
        for remark in settings.remarks:
            from linnet.runtime.text_files import warn

            warn(remark)
        resources = Resources(settings, loop)
        try:
            if self._on_question is None:
                return Session(settings, resources, [ear])
            answering = Answering(self._on_question, resources)
            answering.session = session = Session(settings, resources, [ear, answering], answerable=True)
        except BaseException:
            resources.close()
            raise
        return session

    def _set_up(self) -> None:
        """Called with the configuration; what cannot be used raises ConfigError or SessionError."""


def _rule(rule: Rule | str) -> Rule:
    return said_rule(rule) if isinstance(rule, str) else rule
