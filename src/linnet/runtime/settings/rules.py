"""Checks the permission rules of all layers against the tools that exist or may still come.

A rule about a tool that nobody has would protect nobody, and nobody would notice. Imported only where there are rules.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from linnet.core.events import Event
from linnet.core.permissions.decision import named
from linnet.core.permissions.rule import OWN, Rule
from linnet.core.permissions.rule_syntax import checked, said_rule
from linnet.core.setting_names import Spelling, keyword
from linnet.core.ui_events import Notified
from linnet.errors import BadInput, ConfigError, nearest
from linnet.runtime.settings.layers import Layer, Layers
from linnet.runtime.settings.settings import Settings

if TYPE_CHECKING:
    from linnet.extensions.mcp.config import ServerConfig


def ruled(settings: Settings, layers: Layers) -> Settings:
    """Return the settings with the rules of all layers, the weakest first.

    Raises ConfigError for a rule that makes no sense, and for a flag about a tool that nobody has and nobody can bring.
    In a file, a rule may be there before its tool: that is remarked on, or told once it is known what extensions bring.
    """
    known = [*OWN, *(function.spec.name for function in settings.functions)]
    rules: list[Rule] = []
    unheard: dict[str, None] = {}
    for layer in layers.all:
        for said in layer.config.rules or ():
            rule = _checked(said, layer, known, settings.sessions.spelled)
            rules.append(rule)
            if not _is_known(rule.tool, known, settings.mcp):
                if layer.source == "flag" and not _may_come(settings):
                    raise ConfigError(f"{_place(rule, settings.sessions.spelled)}: {_sentence(rule.tool, known)}")
                unheard[rule.tool] = None
    remarks = settings.remarks
    if unheard and not settings.may_have_extensions:
        remarks = (*remarks, *doubts(unheard))
    return replace(settings, rules=tuple(rules), unheard_tools=tuple(unheard), remarks=remarks)


def _may_come(settings: Settings) -> bool:
    """Return whether tools may come that are not known yet: from the client, MCP servers or extensions."""
    return settings.client_tools or bool(settings.mcp) or settings.may_have_extensions


def _place(rule: Rule | str, spelled: Spelling) -> str:
    """Return the flag or the keyword with which a rule was given."""
    return "rules" if spelled is keyword or isinstance(rule, str) else f"--{rule.verdict}"


def doubts(unheard: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """Return a sentence about each of these names that is neither one of linnet's tools nor one of `others`."""
    known = [*OWN, *others]
    return [
        f"{_sentence(name, known)} The rule about it holds if such a tool comes."
        for name in unheard
        if not any(named(name, each) for each in known)
    ]


def doubtful(unheard: Iterable[str], others: Iterable[str] = ()) -> list[Event]:
    """Return those sentences as the events that tell them to clients."""
    return [Notified("linnet", sentence, "warning") for sentence in doubts(unheard, others)]


def _checked(said: Rule | str, layer: Layer, known: Sequence[str], spelled: Spelling) -> Rule:
    try:
        return said_rule(said, known) if isinstance(said, str) else checked(said, known)
    except BadInput as error:
        raise ConfigError(f"{layer.where('rules') or _place(said, spelled)}: {error}") from None


def _is_known(tool: str, known: Iterable[str], servers: "Sequence[ServerConfig]") -> bool:
    """Return whether a rule's tool is one of `known`, or may be one of these MCP servers."""
    if any(named(tool, name) for name in known):
        return True
    if not tool.lower().startswith("mcp__"):
        return False
    start, star, _ = tool.lower().partition("*")
    if start == "mcp__" and star:
        return True  # Whatever any server brings, whether there is one or not.
    from linnet.extensions.mcp.naming import prefix

    begins = [f"{prefix(server.name)}__".lower() for server in servers]
    return any(start.startswith(each) or (star and each.startswith(start)) for each in begins)


def _sentence(name: str, known: Sequence[str]) -> str:
    near = nearest(name.lower().strip("*"), known)
    hint = f'did you mean "{near}"?' if near else f"linnet's own are {', '.join(OWN)}."
    return f'no tool is called "{name}" here; {hint}'
