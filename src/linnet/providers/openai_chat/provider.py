"""Any Chat Completions API as a provider: OpenAI's own, and those of others who speak like it."""

from linnet.providers.http.client import HttpClient, Timeouts
from linnet.providers.http.urls import endpoint
from linnet.providers.http_provider import HttpProvider
from linnet.providers.openai_chat.request import write
from linnet.providers.openai_chat.response import Reader


def openai_chat(name: str, api_key: str, base_url: str, timeouts: Timeouts | None = None) -> HttpProvider:
    """Return the provider for a server that speaks this API. Raises ConfigError."""
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}  # Local servers often want none.
    client = HttpClient(name, endpoint(base_url, "v1", "chat/completions"), headers, timeouts)
    return HttpProvider(client, write, lambda request: Reader(name, len(request.messages)))
