"""The table of known vendors and models, with what it takes to choose one, to limit it and to price it.

Every start imports this, so the table is plain tuples; a Model is made when it is looked at. Prices and limits are the
vendors' list prices of November 2026, for prompts of ordinary length; callers add their own models.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from linnet.core.models import Model, Prices

Api: TypeAlias = Literal["anthropic", "openai_chat", "scripted"]


API_NAMES: dict[Api, str] = {
    "anthropic": "anthropic-messages",
    "openai_chat": "openai-completions",
    "scripted": "scripted",
}


class ProviderInfo(Struct, frozen=True):
    """A vendor, or a server of the user's own."""

    name: str
    api: Api
    base_url: str
    key_variable: str  # The environment variable that has the key.
    default_model: str
    key: str = ""  # A key that the user wrote down with the server.
    own: bool = False
    """It is a server of the user's own, which may have models that nobody has listed, and may want no key."""


PROVIDERS = {
    info.name: info
    for info in (
        ProviderInfo("anthropic", "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "claude-sonnet-5"),
        ProviderInfo("openai", "openai_chat", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-6-sol"),
        ProviderInfo("deepseek", "openai_chat", "https://api.deepseek.com", "DEEPSEEK_API_KEY", "deepseek-v4-flash"),
        ProviderInfo("scripted", "scripted", "", "", "scripted"),
    )
}

# id, name, context window, longest output, reasons, sees images, then dollars for a million tokens: input, output,
# read from the cache, written to it. The default first, then the newest, as people look for them. No row goes: one
# whose day has passed can still be had from a server of one's own.
_Row: TypeAlias = tuple[str, str, int, int, bool, bool, float, float, float, float]
_K = 1_000
_ROWS: dict[str, tuple[_Row, ...]] = {
    "scripted": (
        ("scripted", "Scripted", 200 * _K, 64 * _K, True, True, 0, 0, 0, 0),
        ("scripted-2", "Scripted, under another name", 200 * _K, 64 * _K, False, True, 0, 0, 0, 0),
    ),
    "anthropic": (
        ("claude-sonnet-5", "Claude Sonnet 5", 1000 * _K, 128 * _K, True, True, 2, 10, 0.2, 2.5),
        ("claude-fable-5-2", "Claude Fable 5.2", 1000 * _K, 128 * _K, True, True, 8, 40, 0.2, 10),
        ("claude-fable-5-1", "Claude Fable 5.1", 1000 * _K, 128 * _K, True, True, 10, 50, 0.25, 12.5),
        ("claude-fable-5", "Claude Fable 5", 1000 * _K, 128 * _K, True, True, 10, 50, 1, 12.5),
        ("claude-opus-5-5", "Claude Opus 5.5", 1000 * _K, 128 * _K, True, True, 4, 20, 0.2, 5),
        ("claude-sonnet-5-5", "Claude Sonnet 5.5", 1000 * _K, 128 * _K, True, True, 2, 10, 0.1, 2.5),
        ("claude-haiku-5-5", "Claude Haiku 5.5", 1000 * _K, 128 * _K, True, True, 0.1, 0.5, 0.01, 0.125),
        ("claude-opus-5", "Claude Opus 5", 1000 * _K, 128 * _K, True, True, 5, 25, 0.5, 6.25),
        ("claude-opus-4-8", "Claude Opus 4.8", 1000 * _K, 128 * _K, True, True, 5, 25, 0.5, 6.25),
        ("claude-opus-4-7", "Claude Opus 4.7", 1000 * _K, 128 * _K, True, True, 5, 25, 0.5, 6.25),
        ("claude-sonnet-4-6", "Claude Sonnet 4.6", 1000 * _K, 128 * _K, True, True, 3, 15, 0.3, 3.75),
        ("claude-opus-4-6", "Claude Opus 4.6", 1000 * _K, 128 * _K, True, True, 5, 25, 0.5, 6.25),
        ("claude-opus-4-5", "Claude Opus 4.5", 200 * _K, 64 * _K, True, True, 5, 25, 0.5, 6.25),
        ("claude-sonnet-4-5", "Claude Sonnet 4.5", 200 * _K, 64 * _K, True, True, 3, 15, 0.3, 3.75),
        ("claude-haiku-4-5", "Claude Haiku 4.5", 200 * _K, 64 * _K, True, True, 1, 5, 0.1, 1.25),
        ("claude-opus-4-1", "Claude Opus 4.1", 200 * _K, 32 * _K, True, True, 15, 75, 1.5, 18.75),
        ("claude-sonnet-4-20250514", "Claude Sonnet 4", 200 * _K, 64 * _K, True, True, 3, 15, 0.3, 3.75),
        ("claude-opus-4-20250514", "Claude Opus 4", 200 * _K, 32 * _K, True, True, 15, 75, 1.5, 18.75),
        ("claude-3-5-haiku-20241022", "Claude Haiku 3.5", 200 * _K, 8_192, False, True, 0.8, 4, 0.08, 1),
    ),
    "openai": (
        ("gpt-6-sol", "GPT-6 Sol", 1050 * _K, 128 * _K, True, True, 2, 10, 0.2, 2.5),
        ("gpt-6.1-terra", "GPT-6.1 Terra", 1050 * _K, 128 * _K, True, True, 1, 5, 0.05, 1.25),
        ("gpt-6-luna", "GPT-6 Luna", 1050 * _K, 128 * _K, True, True, 0.1, 0.5, 0.01, 0.125),
        ("gpt-5.6-sol", "GPT-5.6 Sol", 1050 * _K, 128 * _K, True, True, 4, 20, 0.4, 5),
        ("gpt-5.6-terra", "GPT-5.6 Terra", 1050 * _K, 128 * _K, True, True, 2, 12, 0.2, 2.5),
        ("gpt-5.6-luna", "GPT-5.6 Luna", 1050 * _K, 128 * _K, True, True, 0.2, 1.2, 0.02, 0.25),
        ("gpt-5.5", "GPT-5.5", 1050 * _K, 128 * _K, True, True, 5, 30, 0.5, 0),
        ("gpt-5.4", "GPT-5.4", 1050 * _K, 128 * _K, True, True, 2.5, 15, 0.25, 0),
        ("gpt-5.4-mini", "GPT-5.4 mini", 400 * _K, 128 * _K, True, True, 0.75, 4.5, 0.075, 0),
        ("gpt-5.4-nano", "GPT-5.4 nano", 400 * _K, 128 * _K, True, True, 0.2, 1.25, 0.02, 0),
        ("gpt-5.2", "GPT-5.2", 400 * _K, 128 * _K, True, True, 1.75, 14, 0.175, 0),
        ("gpt-5.1", "GPT-5.1", 400 * _K, 128 * _K, True, True, 1.25, 10, 0.125, 0),
        ("gpt-5", "GPT-5", 400 * _K, 128 * _K, True, True, 1.25, 10, 0.125, 0),
        ("gpt-5-mini", "GPT-5 mini", 400 * _K, 128 * _K, True, True, 0.25, 2, 0.025, 0),
        ("gpt-5-nano", "GPT-5 nano", 400 * _K, 128 * _K, True, True, 0.05, 0.4, 0.005, 0),
        ("gpt-4.1", "GPT-4.1", 1_047_576, 32_768, False, True, 2, 8, 0.5, 0),
        ("gpt-4.1-mini", "GPT-4.1 mini", 1_047_576, 32_768, False, True, 0.4, 1.6, 0.1, 0),
        ("gpt-4.1-nano", "GPT-4.1 nano", 1_047_576, 32_768, False, True, 0.1, 0.4, 0.025, 0),
        ("gpt-4o", "GPT-4o", 128 * _K, 16_384, False, True, 2.5, 10, 1.25, 0),
        ("gpt-4o-mini", "GPT-4o mini", 128 * _K, 16_384, False, True, 0.15, 0.6, 0.075, 0),
        ("o3", "o3", 200 * _K, 100 * _K, True, True, 2, 8, 0.5, 0),
        ("o4-mini", "o4-mini", 200 * _K, 100 * _K, True, True, 1.1, 4.4, 0.275, 0),
    ),
    "deepseek": (
        ("deepseek-v4-flash", "DeepSeek V4 Flash", 1000 * _K, 384 * _K, True, False, 0.3, 1.2, 0.006, 0),
        ("deepseek-flash", "DeepSeek Flash", 1000 * _K, 384 * _K, True, False, 0.3, 1.2, 0.006, 0),
        ("deepseek-v4-pro", "DeepSeek V4 Pro", 1000 * _K, 384 * _K, True, False, 1.32, 3.96, 0.044, 0),
        ("deepseek-chat", "DeepSeek Chat", 128 * _K, 8_192, False, False, 0.28, 0.42, 0.028, 0),
        ("deepseek-reasoner", "DeepSeek Reasoner", 128 * _K, 64 * _K, True, False, 0.28, 0.42, 0.028, 0),
    ),
}


_ENDS = {
    "claude-3-5-haiku-20241022": "2026-02-19",
    "claude-opus-4-20250514": "2026-06-15",
    "claude-sonnet-4-20250514": "2026-06-15",
    "claude-sonnet-4-5": "2026-11-30",
    "deepseek-chat": "2026-07-24",
    "deepseek-reasoner": "2026-07-24",
    "gpt-4.1": "2027-01-14",
    "gpt-4.1-mini": "2027-01-14",
    "gpt-4.1-nano": "2026-10-23",
    "gpt-4o": "2027-01-14",
    "gpt-4o-mini": "2027-01-14",
    "gpt-5": "2026-12-11",
    "gpt-5-mini": "2026-12-11",
    "gpt-5-nano": "2026-12-11",
    "gpt-5.1": "2027-04-01",
    "gpt-5.4-nano": "2027-04-01",
    "o3": "2026-12-11",
    "o4-mini": "2026-10-23",
}
"""The days from which vendors no longer serve models. A test compares them with the lists in the vendors' packages."""

_OFF = {
    "claude-fable-5": "low",
    "claude-fable-5-1": "low",
    "claude-fable-5-2": "low",
    "claude-haiku-5-5": "disabled",
    "claude-opus-5": "disabled",
    "claude-opus-5-5": "low",
    "claude-sonnet-5": "disabled",
    "claude-sonnet-5-5": "between_tools",
    "deepseek-flash": "disabled",
    "deepseek-v4-flash": "disabled",
    "deepseek-v4-pro": "disabled",
    "gpt-5": "minimal",
    "gpt-5-mini": "minimal",
    "gpt-5-nano": "minimal",
    "gpt-5.1": "none",
    "gpt-5.2": "none",
    "gpt-5.4": "none",
    "gpt-5.4-mini": "none",
    "gpt-5.4-nano": "none",
    "gpt-5.5": "none",
    "gpt-5.6-luna": "none",
    "gpt-5.6-sol": "none",
    "gpt-5.6-terra": "none",
    "gpt-6-luna": "none",
    "gpt-6-sol": "none",
    "gpt-6.1-terra": "none",
    "o3": "low",
    "o4-mini": "low",
}
"""What models that think by default are told instead; some cannot be kept from it, and are told to think least."""

_XHIGH = frozenset(
    (
        "claude-fable-5",
        "claude-fable-5-1",
        "claude-fable-5-2",
        "claude-haiku-5-5",
        "claude-opus-4-7",
        "claude-opus-4-8",
        "claude-opus-5",
        "claude-opus-5-5",
        "claude-sonnet-5",
        "claude-sonnet-5-5",
        "gpt-5.2",
        "gpt-5.4",
        "gpt-5.4-mini",
        "gpt-5.4-nano",
        "gpt-5.5",
        "gpt-5.6-luna",
        "gpt-5.6-sol",
        "gpt-5.6-terra",
        "gpt-6-luna",
        "gpt-6-sol",
        "gpt-6.1-terra",
    )
)
"""Models that take the level of thinking `xhigh`."""


def models(provider: str, extra: Iterable[Model] = ()) -> list[Model]:
    """Return the provider's models, the default first; an extra one replaces the catalogue's of the same id."""
    added = {model.id: model for model in extra if model.provider == provider}
    listed = {row[0]: _model(provider, row) for row in _ROWS.get(provider, ())}
    return list((listed | added).values())


def find(provider: str, id: str, extra: Iterable[Model] = ()) -> Model | None:
    """Return the provider's model with this id, an extra one before the catalogue's; None if there is none."""
    for model in extra:
        if model.provider == provider and model.id == id:
            return model
    for row in _ROWS.get(provider, ()):
        if row[0] == id:
            return _model(provider, row)
    return None


def _model(provider: str, row: _Row) -> Model:
    id, name, window, longest, reasons, sees, *prices = row
    info = PROVIDERS[provider]
    api = API_NAMES[info.api]
    thinking = id in _XHIGH, _OFF.get(id, ""), _ENDS.get(id, "")
    return Model(id, provider, name, window, longest, reasons, sees, Prices(*prices), api, info.base_url, *thinking)
