"""Which provider and model are meant, by what was said, what there are keys for, and what models.json says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.core.models import Prices
from linnet.errors import ConfigError, MissingKey, UnknownModel, UnknownProvider
from linnet.runtime.models.accounts import Accounts

KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "deepseek": "DEEPSEEK_API_KEY"}
LAN = {"baseUrl": "http://lan:8080/v1", "api": "openai-completions", "models": [{"id": "meta-llama/Llama-3"}]}
Start = Callable[..., Accounts]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Accounts of somebody who has keys of these providers, and these files in the home folder."""

    def start(*keys: str, env: dict[str, str] | None = None, own: Any = None, **said: Any) -> Accounts:
        if own is not None:
            (tmp_path / "models.json").write_text(json.dumps(own, indent=1))
        environ = {**{KEYS[name]: "k" for name in keys}, **(env or {})}
        return Accounts(environ, str(tmp_path), **said)

    return start


def begun(accounts: Accounts, provider: str | None = None, model: str | None = None) -> str:
    found = accounts.begin(provider, model)
    return f"{found.provider}: {found.id}"


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        ([], "anthropic: claude-sonnet-5"),
        (["openai"], "openai: gpt-6-sol"),
        (["deepseek"], "deepseek: deepseek-v4-flash"),
        (["deepseek", "openai"], "openai: gpt-6-sol"),
        (["deepseek", "openai", "anthropic"], "anthropic: claude-sonnet-5"),
    ],
)
def test_the_first_provider_that_has_a_key_is_used(start: Start, keys: list[str], chosen: str) -> None:
    assert begun(start(*keys)) == chosen


def test_a_key_in_a_file_counts_like_one_in_a_variable(start: Start, tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text('{"openai": "k"}')
    (tmp_path / "auth.json").chmod(0o600)
    assert begun(start()) == "openai: gpt-6-sol"
    assert begun(start("deepseek")) == "openai: gpt-6-sol"


def test_a_provider_of_ones_own_comes_after_those_that_have_a_key_and_needs_none(start: Start) -> None:
    own = {"providers": {"lan": LAN}}
    assert begun(start(own=own)) == "lan: meta-llama/Llama-3"
    assert begun(start("deepseek", own=own)) == "deepseek: deepseek-v4-flash"


def test_an_address_in_a_variable_is_enough_to_use_a_provider(start: Start) -> None:
    accounts = start(env={"OPENAI_BASE_URL": "http://here"})
    assert begun(accounts) == "openai: gpt-6-sol"
    accounts.require("openai")


def test_a_key_that_was_given_for_no_provider_goes_to_none_that_has_one(start: Start) -> None:
    assert begun(start("openai", api_key="k")) == "anthropic: claude-sonnet-5"
    assert begun(start("openai", api_key="k"), None, "gpt-5") == "openai: gpt-5"


NAMED = [
    (["anthropic"], {}, None, "gpt-5", "openai: gpt-5"),
    ([], {}, None, "deepseek-chat", "deepseek: deepseek-chat"),
    (["anthropic"], {}, None, "openai/gpt-5", "openai: gpt-5"),
    (["anthropic"], {}, "openai", "openai/gpt-5", "openai: gpt-5"),
    (["anthropic"], {}, "openai", "gpt-5", "openai: gpt-5"),
    (["openai"], {"base_url": "http://x"}, None, "meta-llama/Llama-3", "openai: meta-llama/Llama-3"),
    (["openai"], {"base_url": "http://x"}, "openai", "anthropic/claude-x", "openai: anthropic/claude-x"),
    (["openai"], {"base_url": "http://x"}, None, "anthropic/claude-x", "anthropic: claude-x"),
    (["openai"], {"base_url": "http://x"}, "openai", "openai/gpt-oss", "openai: gpt-oss"),
    ([], {"base_url": "http://x"}, None, "gpt-5", "openai: gpt-5"),
    ([], {"env": {"OPENAI_BASE_URL": "http://x"}}, None, "llama3:8b", "openai: llama3:8b"),
    (["anthropic"], {"env": {"OPENAI_BASE_URL": "http://x"}}, "openai", "llama", "openai: llama"),
    (["anthropic"], {"env": {"OPENAI_BASE_URL": "http://x"}}, None, "openai/llama", "openai: llama"),
    (["anthropic"], {"own": {"providers": {"lan": LAN}}}, None, "meta-llama/Llama-3", "lan: meta-llama/Llama-3"),
    (["anthropic"], {"own": {"providers": {"lan": LAN}}}, None, "lan/meta-llama/Llama-3", "lan: meta-llama/Llama-3"),
    (["anthropic"], {"own": {"providers": {"lan": LAN}}}, "lan", "whatever", "lan: whatever"),
    (["anthropic"], {"own": {"providers": {"lan": LAN}}}, "lan", None, "lan: meta-llama/Llama-3"),
    ([], {}, "scripted", None, "scripted: scripted"),
]


@pytest.mark.parametrize(("keys", "said", "provider", "model", "chosen"), NAMED)
def test_a_model_is_found_by_its_id_or_by_provider_and_id(
    start: Start, keys: list[str], said: dict[str, Any], provider: str | None, model: str | None, chosen: str
) -> None:
    assert begun(start(*keys, **said), provider, model) == chosen


def test_of_two_providers_that_list_an_id_the_default_one_has_it_then_one_that_can_be_used(start: Start) -> None:
    own = {"providers": {"lan": {**LAN, "models": [{"id": "gpt-5"}]}}}
    assert begun(start("openai", own=own), None, "gpt-5") == "openai: gpt-5"
    assert begun(start("anthropic", own=own), None, "gpt-5") == "lan: gpt-5"


WRONG = [
    (
        "openai",
        "anthropic/claude-opus-5",
        "--provider openai and --model anthropic/claude-opus-5 contradict each other",
    ),
    ("openai", "claude-opus-5", 'unknown model "claude-opus-5" (provider="openai"); it is a model of anthropic'),
    (None, "gpt-55", 'unknown model "gpt-55" (provider="anthropic"); did you mean "gpt-5'),
    (None, "openai/gpt-55", 'unknown model "gpt-55" (provider="openai"); did you mean "gpt-5'),
    (None, "meta-llama/Llama-3", 'unknown model "meta-llama/Llama-3" (provider="anthropic")'),
    ("openia", "gpt-5", 'unknown provider "openia"'),
]


@pytest.mark.parametrize(("provider", "model", "sentence"), WRONG)
def test_what_is_not_there_is_named(start: Start, provider: str | None, model: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        start("anthropic", "openai").begin(provider, model)
    assert str(caught.value).startswith(sentence)
    assert isinstance(caught.value, UnknownModel | UnknownProvider) == (not sentence.startswith("--provider"))


def test_a_model_that_nobody_has_listed_has_no_price_and_can_be_chosen_again(start: Start) -> None:
    accounts = start("openai", base_url="http://x")
    model = accounts.begin("openai", "meta-llama/Llama-3")
    assert (model.prices, model.api, model.base_url) == (None, "openai-completions", "http://x")
    assert accounts.choose("openai", "meta-llama/Llama-3") == model
    assert model in accounts.available()
    with pytest.raises(UnknownModel):
        accounts.choose("openai", "another")
    assert accounts.choose("openai", "another", unlisted=True).prices is None


def test_without_any_key_the_sentence_says_what_would_help(start: Start) -> None:
    accounts = start()
    with pytest.raises(MissingKey, match=r"set ANTHROPIC_API_KEY, .* OPENAI_API_KEY or DEEPSEEK_API_KEY would choose"):
        accounts.require(accounts.begin(None, None).provider)
    with pytest.raises(MissingKey) as caught:
        accounts.require(accounts.begin("openai", None).provider)
    assert "ANTHROPIC" not in str(caught.value)


def test_providers_of_ones_own_are_written_as_pi_writes_them(start: Start) -> None:
    model = {
        "id": "m",
        "name": "Em",
        "reasoning": True,
        "input": ["text", "image"],
        "contextWindow": 1000,
        "maxTokens": 100,
        "cost": {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4},
    }
    lan = {"baseUrl": "http://lan", "api": "anthropic-messages", "apiKey": "LAN_KEY", "models": [model, {"id": "n"}]}
    accounts = start(own={"providers": {"lan": lan}}, env={"LAN_KEY": "secret"})
    found, other = accounts.models("lan")
    assert (found.name, found.context_window, found.max_output, found.reasoning) == ("Em", 1000, 100, True)
    assert (found.images, found.prices, found.api) == (True, Prices(1, 2, 3, 4), "anthropic-messages")
    assert (other.images, other.prices, other.reasoning) == (False, None, False)
    assert (accounts.key("lan").word, accounts.key("lan").place) == ("secret", "LAN_KEY")
    assert accounts.base_url("lan") == "http://lan"


@pytest.mark.parametrize(
    ("written", "key"),
    [("ollama", "ollama"), ("LAN_KEY", ""), ("$lan", "lan's"), ("${lan}", "lan's"), ("sk-A_1", "sk-A_1")],
)
def test_a_name_in_capitals_is_a_variable_and_anything_else_a_key(start: Start, written: str, key: str) -> None:
    accounts = start(own={"providers": {"lan": {**LAN, "apiKey": written}}}, env={"lan": "lan's"})
    assert accounts.key("lan").word == key


def test_a_providers_address_may_be_changed_in_the_file(start: Start) -> None:
    accounts = start(own={"providers": {"openai": {"baseUrl": "http://gateway", "models": [{"id": "new"}]}}})
    assert begun(accounts, None, "openai/whatever") == "openai: whatever"
    ids = [model.id for model in accounts.models("openai")]
    assert ids[0] == "gpt-6-sol"
    assert "new" in ids
    accounts.require("openai")


REFUSED = [
    ('[\n{"id": "a",\n"provider": "opnai"}]', '3: [0].provider: no provider is called "opnai"; did you mean "openai"?'),
    ('[\n{"id": "a",\n"provider": "openai",\n"contextWindow": 1}]', "4: [0].contextWindow: is not known here; did"),
    (
        '[{"id": "a", "provider": "openai",\n"context_window": 0}]',
        "2: [0].context_window: expected a whole number >= 1",
    ),
    ('{\n"provider": {}}', '2: provider: is not known here; did you mean "providers"?'),
    ('{"providers": {\n"lan": {"api": "openai"}}}', '2: providers.lan: the key "baseUrl" is missing'),
    ('{"providers": {\n"lan": {"baseUrl": "http://x"}}}', '2: providers.lan: the key "api" is missing'),
    ('{"providers": {"lan": {\n"baseUrl": "lan:80"}}}', "2: providers.lan.baseUrl: must start with http://"),
    ('{"providers": {"lan": {"baseUrl": "http://x",\n"api": "grpc"}}}', "2: providers.lan.api: expected "),
    ('{"providers": {\n"scripted": {}}}', "2: providers.scripted: is linnet's own; choose another name"),
    ('{"providers": {\n"a/b": {}}}', "2: providers.a/b: a provider's name is not empty and has no slash"),
    ('{"providers": {"openai": {"models": [{"id": "a"},\n{"ID": 1}]}}}', "2: providers.openai.models[1].ID: is not"),
    ("", "1: is not JSON: it ends too early"),
]


@pytest.mark.parametrize(("text", "sentence"), REFUSED, ids=[sentence for _, sentence in REFUSED])
def test_what_means_nothing_is_refused_with_file_line_and_key(
    start: Start, tmp_path: Path, text: str, sentence: str
) -> None:
    path = tmp_path / "models.json"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        start("anthropic").begin(None, None)
    assert str(caught.value).startswith(f"{path}:{sentence}")


def test_a_key_that_is_refused_is_named_by_where_it_comes_from(start: Start, tmp_path: Path) -> None:
    assert start("openai").advice("openai") == "the key is that of OPENAI_API_KEY"
    assert start().advice("openai") == "no key was sent; set OPENAI_API_KEY, or keep one: linnet login openai"
    (tmp_path / "auth.json").write_text('{"openai": "k"}')
    (tmp_path / "auth.json").chmod(0o600)
    kept = f"the key is that of {tmp_path}/auth.json; to keep another: linnet login openai"
    assert start().advice("openai") == kept
    given = start(api_key="k")
    given.begin("openai", None)
    assert given.advice("openai") == "the key is that of --api-key"
    own = start(own={"providers": {"lan": {**LAN, "apiKey": "k"}}})
    assert own.advice("lan") == f"the key is that of {tmp_path}/models.json"
