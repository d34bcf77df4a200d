"""How servers and models of the Responses API differ from each other."""

from typing import Literal

from msgspec import Struct, field


class Quirks(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What differs from server to server, and from model to model."""

    reasoning_summary: Literal["", "auto", "concise", "detailed"] = "auto"
    """What is asked for as a summary of the model's thoughts; empty if nothing is."""
    supports_prompt_cache_key: bool = True
    long_cache: Literal["", "prompt_cache_retention", "prompt_cache_options"] = ""
    """The field that asks for a cache of many hours; empty if the model has none."""
    supports_stream_options: bool = True
    """Takes the wish that no padding be added to events."""
    sends_session_id: str = ""
    """The header that says which requests belong together; empty if there is none."""
    supports_developer_role: bool = False
    """The system prompt is a message of the role `developer`, instead of `instructions`."""
    # Keys of pi's for what is never sent from here, so that a file written for pi can be read.
    supports_long_cache_retention: bool = True
    supports_strict_mode: bool = False
    supports_open_ai_grammar_tools: bool = field(default=False, name="supportsOpenAIGrammarTools")
    supports_mid_convo_system_messages: bool = False
    supports_additional_tools: bool = False
    supports_tool_search: bool = False
    supports_explicit_prompt_cache_mode: bool = False
