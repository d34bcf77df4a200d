"""How servers of the Messages API differ from Anthropic's own."""

import json
from typing import Any

import pytest

from linnet.core.messages import Text, UserMessage
from linnet.core.models import Model, PromptCache, Reasoning
from linnet.core.toolspec import ToolSpec
from linnet.providers import catalog
from linnet.providers.anthropic.request import Writer, Written
from linnet.providers.base import Request

READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {}})


def written(
    level: Reasoning = "off",
    cache: PromptCache = "short",
    session: str = "",
    writer: Writer | None = None,
    **quirks: Any,
) -> Written:
    info = catalog.PROVIDERS["minimax"]
    model = catalog.completed(Model("m", "minimax", reasoning=True, quirks=quirks), info, info.base_url)
    said = (UserMessage((Text("hi"),), 0),)
    return (writer or Writer()).write(Request(model, "Be brief.", said, (READ,), level, cache, session))


def body(*args: Any, **kwargs: Any) -> Any:
    return json.loads(b"".join(written(*args, **kwargs).body))


@pytest.mark.parametrize(
    ("level", "effort"), [("minimal", "low"), ("low", "low"), ("medium", "medium"), ("high", "high")]
)
def test_a_server_may_want_an_effort_instead_of_a_budget(level: Reasoning, effort: str) -> None:
    sent = body(level, forceAdaptiveThinking=True)
    assert sent["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert sent["output_config"] == {"effort": effort}
    assert body(level)["thinking"]["type"] == "enabled"
    assert "thinking" not in body("off", forceAdaptiveThinking=True)


def test_tools_are_marked_for_the_cache_only_where_they_may_be() -> None:
    assert "cache_control" in body()["tools"][0]
    sent = body(supportsCacheControlOnTools=False)
    assert "cache_control" not in sent["tools"][0]
    assert "cache_control" in sent["system"][0]


def test_what_was_kept_of_a_request_is_not_sent_where_tools_may_not_be_marked() -> None:
    writer = Writer()
    assert "cache_control" in body(writer=writer)["tools"][0]
    assert "cache_control" not in body(writer=writer, supportsCacheControlOnTools=False)["tools"][0]


def test_an_hour_is_asked_for_only_where_there_is_one() -> None:
    assert body(cache="long")["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert body(cache="long", supportsLongCacheRetention=False)["system"][0]["cache_control"] == {"type": "ephemeral"}


def test_requests_of_a_session_find_each_other_by_a_header() -> None:
    assert written(session="s1", sendSessionAffinityHeaders=True).headers == {"x-session-affinity": "s1"}
    both = written(session="s1", sendSessionAffinityHeaders=True, sessionAffinityFormat="openrouter")
    assert both.headers == {"x-session-id": "s1"}
    assert written(session="s1").headers == {}
