"""The table of known providers: data, from which everything else about them follows."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from linnet.core.models import NOTHING
from linnet.providers import provider_module

if TYPE_CHECKING:
    from linnet.providers.endpoint import Endpoint


class Seen(Struct, frozen=True):
    """Whether there are credentials that are more than one word, as far as can be said without asking anybody."""

    place: str = ""
    """Where they are: a variable, or a few words; empty if there are none."""
    problem: str = ""
    """Why there are none."""
    ways: tuple[str, ...] = ()
    """What can be done about that, beside what can be done about a key: parts of a sentence."""
    beside: str = ""
    """A sentence on what it takes beside them."""


class ProviderInfo(Struct, frozen=True):
    """A vendor, or a server of the user's own."""

    name: str
    api: str
    """The API of models that say no other."""
    base_url: str
    key_variables: tuple[str, ...]
    """The environment variables that may have the key; the first that is set counts."""
    default_model: str
    headers: Mapping[str, str] = NOTHING
    """What is sent with each request, beside what the API wants."""
    quirks: Mapping[str, Mapping[str, Any]] = NOTHING
    """How its models differ from others, by the API that they are asked through: each has its own words for it."""
    families: Mapping[str, Mapping[str, Mapping[str, Any]]] = NOTHING
    """The quirks that only some of its models have, by the API, and then by how their ids begin."""
    header_variables: tuple[str, ...] = ()
    """The environment variables that headers of the user's own are made of."""
    auth: str = ""
    """How the key is sent, as in Endpoint."""
    auth_of: Mapping[str, str] = NOTHING
    """How the key of some variable is sent, where not like the others."""
    key: str = ""
    """A key that the user wrote down with the server."""
    own: bool = False
    """Its address is one that the user wrote down: it may have models that nobody has listed, and may want no key."""
    keyless: bool = False
    """It can be used without a key or any other credentials."""
    bare_overflow: bool = False
    """It says by a 400 without a word that a conversation is too long."""
    open_ended: bool = False
    """It has more models than the catalogue lists, so that any id may be right."""
    host_variable: str = ""
    """A variable in which its users have its host, or its whole address, beside NAME_BASE_URL."""
    all_apis_anywhere: bool = False
    """Each model is asked through its own API wherever the provider is, and not only at the vendor's address."""
    catalogue: str = ""
    """The provider whose list of models it shares; empty if it has its own."""
    address_variables: tuple[str, ...] = ()
    """The environment variables that say where it is, where there is no address that all use."""
    site: str = ""
    """The module, under `linnet.providers`, that says where its APIs are: functions `base_url(environ)` and
    `placed(endpoint, api)`.
    """
    credentials: str = ""
    """The module under `linnet.providers` whose function `seen(environ)` looks for credentials other than a key."""
    secret_variables: tuple[str, ...] = ()
    """The environment variables that may have such credentials, or what they can be got with."""

    @property
    def on_this_machine(self) -> bool:
        """Return whether it is a server that people run themselves, at a port that is usual for it."""
        return self.base_url.startswith("http://127.0.0.1:")

    def found_url(self, environ: Mapping[str, str]) -> str:
        """Return the address that variables of the provider's own make up; empty if they do not. Raises
        ConfigError.
        """
        return str(provider_module(self.site).base_url(environ)) if self.site else ""

    def placed(self, endpoint: "Endpoint", api: str) -> "Endpoint":
        """Return where this API of the provider is. Raises ConfigError."""
        if not self.site:
            return endpoint
        found: Endpoint = provider_module(self.site).placed(endpoint, api)
        return found

    def seen(self, environ: Mapping[str, str]) -> Seen:
        """Return whether there are credentials other than a key."""
        if not self.credentials:
            return Seen()
        look: Callable[[Mapping[str, str]], Seen] = provider_module(self.credentials).seen
        return look(environ)

    def quirks_of(self, id: str, api: str) -> dict[str, Any]:
        """Return the quirks of the model with this id where it is asked through this API: the provider's, and those of
        the families that it is of.
        """
        families = self.families.get(api, NOTHING).items()
        found = dict(self.quirks.get(api, NOTHING))
        for quirks in (quirks for beginning, quirks in families if id.startswith(beginning)):
            found |= quirks
        return found

    @property
    def key_variable(self) -> str:
        """Return the environment variable that people are told to set; empty if there is none."""
        return self.key_variables[0] if self.key_variables else ""


_CHAT = "openai-completions"
_MESSAGES = "anthropic-messages"
_RESPONSES = "openai-responses"
_MAX_COMPLETION_TOKENS = {"maxTokensField": "max_completion_tokens"}
_OPENAI_CHAT = {**_MAX_COMPLETION_TOKENS, "longestCallId": 40}
_WANTS_REASONING_BACK = {"requiresReasoningContentOnAssistantMessages": True}
_CHAT_TEMPLATE = {"thinkingFormat": "qwen-chat-template"}


def in_python(name: str, default_model: str = "") -> ProviderInfo:
    """Return a provider that a program or an extension has written."""
    return ProviderInfo(name, "program", "", (), default_model, own=True, keyless=True)


def _server(
    name: str,
    port: int,
    *,
    host_variable: str = "",
    key_variables: tuple[str, ...] = (),
    quirks: Mapping[str, Mapping[str, Any]] = NOTHING,
) -> ProviderInfo:
    """Return a server that people run on their own machine."""
    return ProviderInfo(
        name,
        _CHAT,
        f"http://127.0.0.1:{port}/v1",
        key_variables,
        "",
        quirks=quirks,
        keyless=True,
        open_ended=True,
        host_variable=host_variable,
    )


PROVIDERS = {
    info.name: info
    for info in (
        ProviderInfo(
            "anthropic",
            _MESSAGES,
            "https://api.anthropic.com",
            ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN"),
            "claude-sonnet-5",
            auth_of={"ANTHROPIC_AUTH_TOKEN": "bearer", "ANTHROPIC_OAUTH_TOKEN": "bearer"},
        ),
        ProviderInfo(
            "openai",
            _CHAT,
            "https://api.openai.com/v1",
            ("OPENAI_API_KEY",),
            "gpt-6-sol",
            quirks={_CHAT: _OPENAI_CHAT},
        ),
        ProviderInfo(
            "deepseek",
            _CHAT,
            "https://api.deepseek.com",
            ("DEEPSEEK_API_KEY",),
            "deepseek-v4-flash",
            quirks={_CHAT: {"thinkingFormat": "deepseek", **_WANTS_REASONING_BACK}},
        ),
        ProviderInfo(
            "azure-openai",
            _RESPONSES,
            "",
            ("AZURE_OPENAI_API_KEY",),
            "gpt-6-sol",
            auth="api-key",
            quirks={_CHAT: _OPENAI_CHAT},
            catalogue="openai",
            address_variables=("AZURE_OPENAI_RESOURCE_NAME", "AZURE_OPENAI_BASE_URL"),
            site="azure",
        ),
        ProviderInfo(
            "google",
            "google-generative-ai",
            "https://generativelanguage.googleapis.com/v1beta",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            "gemini-4-argon",
        ),
        ProviderInfo(
            "vertex",
            "google-vertex",
            "https://aiplatform.googleapis.com",
            ("GOOGLE_CLOUD_API_KEY",),
            "gemini-4-argon",
            credentials="google.credentials_file",
            all_apis_anywhere=True,
        ),
        ProviderInfo(
            "bedrock",
            "bedrock-converse-stream",
            "https://bedrock-runtime.{region}.amazonaws.com",
            ("AWS_BEARER_TOKEN_BEDROCK",),
            "global.anthropic.claude-sonnet-5",
            open_ended=True,
            credentials="bedrock.credentials",
            secret_variables=(
                "AWS_SECRET_ACCESS_KEY",
                "AWS_SESSION_TOKEN",
                "AWS_SECURITY_TOKEN",
                "AWS_ACCESS_KEY_ID",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN",
            ),
        ),
        ProviderInfo(
            "openrouter",
            _CHAT,
            "https://openrouter.ai/api/v1",
            ("OPENROUTER_API_KEY",),
            "anthropic/claude-sonnet-5",
            quirks={
                _CHAT: {
                    **_MAX_COMPLETION_TOKENS,
                    "thinkingFormat": "openrouter",
                    "sendSessionAffinityHeaders": True,
                    "sessionAffinityFormat": "openrouter",
                }
            },
            families={_CHAT: {"anthropic/": {"cacheControlFormat": "anthropic"}, "deepseek/": _WANTS_REASONING_BACK}},
            open_ended=True,
        ),
        ProviderInfo(
            "groq",
            _CHAT,
            "https://api.groq.com/openai/v1",
            ("GROQ_API_KEY",),
            "openai/gpt-oss-120b",
            quirks={_CHAT: _MAX_COMPLETION_TOKENS},
            open_ended=True,
        ),
        ProviderInfo(
            "mistral",
            _CHAT,
            "https://api.mistral.ai/v1",
            ("MISTRAL_API_KEY",),
            "mistral-medium-latest",
            quirks={_CHAT: {"callIdFormat": "mistral", "supportsUsageInStreaming": False}},
            open_ended=True,
        ),
        ProviderInfo(
            "xai",
            _RESPONSES,
            "https://api.x.ai/v1",
            ("XAI_API_KEY",),
            "grok-4.7",
            quirks={_RESPONSES: {"supportsStreamOptions": False}, _CHAT: _MAX_COMPLETION_TOKENS},
            open_ended=True,
        ),
        ProviderInfo(
            "cerebras",
            _CHAT,
            "https://api.cerebras.ai/v1",
            ("CEREBRAS_API_KEY",),
            "gpt-oss-120b",
            quirks={_CHAT: _MAX_COMPLETION_TOKENS},
            bare_overflow=True,
            open_ended=True,
        ),
        ProviderInfo(
            "moonshot",
            _CHAT,
            "https://api.moonshot.ai/v1",
            ("MOONSHOT_API_KEY",),
            "kimi-k3",
            families={
                _CHAT: {
                    "kimi-k3": _WANTS_REASONING_BACK,
                    "kimi-k2": {"thinkingFormat": "deepseek", "supportsReasoningEffort": False},
                }
            },
            open_ended=True,
        ),
        ProviderInfo(
            "kimi",
            _CHAT,
            "https://api.kimi.com/coding/v1",
            ("KIMI_API_KEY",),
            "k3",
            quirks={_CHAT: _WANTS_REASONING_BACK},
            open_ended=True,
        ),
        ProviderInfo(
            "zai",
            _CHAT,
            "https://api.z.ai/api/coding/paas/v4",
            ("ZAI_API_KEY",),
            "glm-5.3",
            quirks={_CHAT: {"thinkingFormat": "zai", "zaiToolStream": True}},
            open_ended=True,
        ),
        ProviderInfo(
            "fireworks",
            _CHAT,
            "https://api.fireworks.ai/inference/v1",
            ("FIREWORKS_API_KEY",),
            "accounts/fireworks/models/glm-5p3",
            quirks={_CHAT: {"sendSessionAffinityHeaders": True, "sessionAffinityFormat": "openai-nosession"}},
            families={_CHAT: {"accounts/fireworks/models/kimi-k3": _WANTS_REASONING_BACK}},
            open_ended=True,
        ),
        ProviderInfo(
            "together",
            _CHAT,
            "https://api.together.ai/v1",
            ("TOGETHER_API_KEY",),
            "deepseek-ai/DeepSeek-V4-Pro",
            quirks={_CHAT: {"thinkingFormat": "together", "supportsReasoningEffort": False}},
            open_ended=True,
        ),
        ProviderInfo(
            "minimax",
            _MESSAGES,
            "https://api.minimax.io/anthropic",
            ("MINIMAX_API_KEY",),
            "MiniMax-M3",
            open_ended=True,
        ),
        ProviderInfo(
            "huggingface", _CHAT, "https://router.huggingface.co/v1", ("HF_TOKEN",), "zai-org/GLM-5.3", open_ended=True
        ),
        _server("ollama", 11434, host_variable="OLLAMA_HOST"),
        _server("lmstudio", 1234),
        _server("llama.cpp", 8080, quirks={_CHAT: _CHAT_TEMPLATE}),
        _server("vllm", 8000, quirks={_CHAT: _CHAT_TEMPLATE}),
        _server("litellm", 4000, key_variables=("LITELLM_API_KEY",)),
        ProviderInfo("scripted", "scripted", "", (), "scripted", keyless=True),
        ProviderInfo("local", "local", "", (), "smollm2", keyless=True),
    )
}
