"""How servers of the Chat Completions API differ from each other. The keys are those of pi's `compat`, and a few."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from linnet.core.models import NOTHING

ThinkingFormat: TypeAlias = Literal[
    "openai",
    "deepseek",
    "openrouter",
    "zai",
    "together",
    "qwen",
    "qwen-chat-template",
    "chat-template",
    "baseten",
    "string-thinking",
    "ant-ling",
]


class Quirks(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What differs from server to server, and from model to model."""

    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    supports_developer_role: bool = False
    """A model that thinks is told the system prompt by the role `developer`, instead of `system`."""
    supports_usage_in_streaming: bool = True
    supports_finish_reason: bool = True
    """A reply says why it ends. Otherwise the end of the stream is taken for a good one."""
    supports_reasoning_effort: bool = True
    """Where thinking has other fields, too, the server also takes `reasoning_effort`."""
    thinking_format: ThinkingFormat = "openai"
    """The fields by which the level of thinking is said."""
    chat_template_kwargs: Mapping[str, Any] = NOTHING
    """What the format `chat-template` sends; `{"$var": "thinking.enabled"}` and its like stand for what was asked."""
    chat_template_args: Mapping[str, Any] = NOTHING
    """The same for the format `baseten`."""
    thinking_token_budget_field: Literal["", "thinking_token_budget", "thinking_budget", "thinking_budget_tokens"] = ""
    """The field that limits the tokens of thoughts."""
    supports_thinking_token_budget: bool = False
    """The same as `thinking_token_budget` in that field."""
    requires_reasoning_content_on_assistant_messages: bool = False
    """Each reply that is sent back has its thoughts, empty ones if need be."""
    requires_tool_result_name: bool = False
    requires_assistant_after_tool_result: bool = False
    """Between results and what the user said there has to be a reply."""
    requires_thinking_as_text: bool = False
    """Thoughts are sent back as text."""
    longest_call_id: int = 64
    call_id_format: Literal["", "mistral"] = ""
    """Ids of calls are nine letters and digits."""
    supports_prompt_cache_key: bool = False
    send_session_affinity_headers: bool = False
    """A header says which requests belong together."""
    session_affinity_format: Literal["openai", "openai-nosession", "openrouter"] = "openai"
    """Which headers these are."""
    zai_tool_stream: bool = False
    """Arguments are streamed only if asked for."""
    cache_control_format: Literal["", "anthropic"] = ""
    """Parts are marked for the cache, as in Anthropic's API."""
    supports_long_cache_retention: bool = True
    """What is marked may be kept for an hour."""
    supports_store: bool = False
    """Told not to keep the conversation."""
    open_router_routing: Mapping[str, Any] = NOTHING
    """OpenRouter's choice among providers, sent as `provider`."""
    vercel_gateway_routing: Mapping[str, Any] = NOTHING
    """The same for Vercel's gateway."""
    vllm_priority: int | None = None
    # Keys of pi's for what is never sent from here, so that a file written for pi can be read.
    supports_strict_mode: bool = False
    supports_open_ai_grammar_tools: bool = field(default=False, name="supportsOpenAIGrammarTools")
    supports_mid_convo_system_messages: bool = False
    supports_mid_convo_tool_additions: bool = False

    @property
    def budget_field(self) -> str:
        """Return the field that limits the tokens of thoughts; empty if there is none."""
        return self.thinking_token_budget_field or (
            "thinking_token_budget" if self.supports_thinking_token_budget else ""
        )

    def session_headers(self, session: str) -> dict[str, str]:
        """Return the headers that say which requests belong together."""
        if not self.send_session_affinity_headers or not session:
            return {}
        match self.session_affinity_format:
            case "openrouter":
                return {"x-session-id": session}
            case "openai":
                return {"session_id": session, "x-client-request-id": session, "x-session-affinity": session}
            case "openai-nosession":
                return {"x-client-request-id": session, "x-session-affinity": session}
