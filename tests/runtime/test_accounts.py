"""Which provider and model are meant, by what was said, what there are keys for, and what models.json says."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from linnet.core.context.cost import priced
from linnet.core.messages import Usage
from linnet.core.models import Prices, levels
from linnet.errors import ConfigError, MissingKey, UnknownModel, UnknownProvider
from linnet.runtime.models.accounts import Accounts
from linnet.runtime.models.known_models import KnownModels
from linnet.runtime.models.known_providers import KnownProviders

KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "deepseek": "DEEPSEEK_API_KEY"}
LAN = {"baseUrl": "http://lan:8080/v1", "api": "openai-completions", "models": [{"id": "meta-llama/Llama-3"}]}
Start = Callable[..., KnownModels]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """The models of somebody who has keys of these providers, and these files in the home folder."""

    def start(
        *keys: str, env: dict[str, str] | None = None, own: Any = None, scope: Sequence[str] = (), **said: Any
    ) -> KnownModels:
        if own is not None:
            (tmp_path / "models.json").write_text(json.dumps(own, indent=1))
        environ = {**{KEYS[name]: "k" for name in keys}, **(env or {})}
        return KnownModels(Accounts(KnownProviders(environ, str(tmp_path)), **said), scope)

    return start


def begun(known: KnownModels, provider: str | None = None, model: str | None = None) -> str:
    found = known.begin(provider, model)
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
    known = start(env={"OPENAI_BASE_URL": "http://here"})
    assert begun(known) == "openai: gpt-6-sol"
    known.accounts.require("openai")


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
    (["anthropic"], {}, "openrouter", "anthropic/claude-opus-5", "openrouter: anthropic/claude-opus-5"),
    (["anthropic"], {}, "openrouter", "openrouter/anthropic/claude-x", "openrouter: anthropic/claude-x"),
    (["anthropic"], {}, "openrouter", "openrouter/auto", "openrouter: auto"),
    (["anthropic"], {}, "openrouter", "openrouter/openrouter/auto", "openrouter: openrouter/auto"),
    (["anthropic"], {}, None, "openrouter/openrouter/auto", "openrouter: openrouter/auto"),
    (["anthropic"], {}, None, "openrouter/meta/llama", "openrouter: meta/llama"),
    (
        [],
        {"env": {"OPENROUTER_API_KEY": "k"}},
        None,
        "anthropic/claude-sonnet-5",
        "openrouter: anthropic/claude-sonnet-5",
    ),
    ([], {"env": {"OPENROUTER_API_KEY": "k"}}, None, "meta/llama", "openrouter: meta/llama"),
    (["anthropic"], {}, "groq", "openai/gpt-oss-120b", "groq: openai/gpt-oss-120b"),
    (["anthropic"], {}, None, "openai/gpt-oss-20b", "groq: openai/gpt-oss-20b"),
    (["anthropic"], {}, "ollama", "llama3:8b", "ollama: llama3:8b"),
    (["anthropic"], {}, None, "ollama/llama3:8b", "ollama: llama3:8b"),
    (["anthropic"], {}, "ollama", "hf.co/x/y:Q4", "ollama: hf.co/x/y:Q4"),
    ([], {"env": {"OLLAMA_HOST": "lan"}}, None, "llama3", "ollama: llama3"),
    ([], {"env": {"OLLAMA_HOST": "lan"}}, None, None, "anthropic: claude-sonnet-5"),
    (["openai"], {}, None, "claude-haiku-4-5-20251001:high", "anthropic: claude-haiku-4-5-20251001"),
    (["anthropic", "openai"], {}, None, "gpt-5.5-2026-04-23", "openai: gpt-5.5-2026-04-23"),
    (["anthropic"], {}, "anthropic", "claude-sonnet-4-5-20250929", "anthropic: claude-sonnet-4-5-20250929"),
    ([], {"env": {"HF_TOKEN": "k"}}, None, None, "huggingface: zai-org/GLM-5.3"),
    ([], {"env": {"LITELLM_API_KEY": "k"}}, None, None, "anthropic: claude-sonnet-5"),
]

WORDS = [
    (["anthropic"], {}, None, "sonnet", "anthropic: claude-sonnet-5"),
    (["anthropic"], {}, None, "opus", "anthropic: claude-opus-5-5"),
    (["anthropic"], {}, None, "Opus-4", "anthropic: claude-opus-4-8"),
    (["anthropic"], {}, None, "claude-sonnet-4", "anthropic: claude-sonnet-4-6"),
    (["anthropic"], {}, None, "GPT-6", "openai: gpt-6-sol"),
    (["openai"], {}, None, "sonnet", "anthropic: claude-sonnet-5"),
    (["anthropic"], {}, "openrouter", "opus", "openrouter: anthropic/claude-opus-5.5"),
    (["anthropic"], {}, None, "openrouter/opus", "openrouter: anthropic/claude-opus-5.5"),
    ([], {"env": {"OPENROUTER_API_KEY": "k"}}, None, "opus", "openrouter: anthropic/claude-opus-5.5"),
    ([], {"env": {"GROQ_API_KEY": "k"}}, None, "opus", "groq: opus"),
    (["openai"], {"env": {"OPENAI_BASE_URL": "http://x"}}, None, "sol", "openai: sol"),
    (["openai"], {"env": {"OPENAI_BASE_URL": "http://x"}}, "openai", "sol", "openai: sol"),
]


@pytest.mark.parametrize(("keys", "said", "provider", "model", "chosen"), WORDS)
def test_a_word_of_a_name_is_the_first_model_that_has_it_where_ids_are_known(
    start: Start, keys: list[str], said: dict[str, Any], provider: str | None, model: str, chosen: str
) -> None:
    assert begun(start(*keys, **said), provider, model) == chosen


LEVELLED = [
    (None, "gpt-5:high", "openai: gpt-5", "high"),
    (None, "openai/gpt-5:minimal", "openai: gpt-5", "minimal"),
    ("openai", "gpt-5:max", "openai: gpt-5", "max"),
    (None, "sonnet:off", "anthropic: claude-sonnet-5", "off"),
    (None, "anthropic/opus:xhigh", "anthropic: claude-opus-5-5", "xhigh"),
    ("ollama", "llama3:8b:high", "ollama: llama3:8b", "high"),
    ("ollama", "llama3:8b", "ollama: llama3:8b", None),
    ("lan", "odd:high", "lan: odd:high", None),
    (None, "odd:high", "lan: odd:high", None),
    (None, "lan/odd:high", "lan: odd:high", None),
    ("lan", "odd:high:low", "lan: odd:high", "low"),
    ("lan", ":high", "lan: :high", None),
]


@pytest.mark.parametrize(("provider", "model", "chosen", "level"), LEVELLED)
def test_a_level_of_thinking_may_stand_behind_a_colon_but_ids_with_one_win(
    start: Start, provider: str | None, model: str, chosen: str, level: str | None
) -> None:
    known = start("anthropic", own={"providers": {"lan": {**LAN, "models": [{"id": "odd:high"}]}}})
    assert begun(known, provider, model) == chosen
    assert known.level == level


def ids(known: KnownModels) -> list[str]:
    return [model.id for model in known.available()]


def test_patterns_say_which_models_are_offered_in_their_order(start: Start) -> None:
    found = ids(start("anthropic", "openai", scope=["openai/gpt-6*", "claude-haiku-?-5", "sonnet-5-5:high"]))
    assert found[:2] == ["gpt-6-sol", "gpt-6-astra"]
    assert found[-3:] == ["claude-haiku-5-5", "claude-haiku-4-5", "claude-sonnet-5-5"]
    assert not any(id.startswith("gpt-5") for id in found)
    assert "gpt-6-sol" not in ids(start("anthropic", scope=["gpt-*", "claude-*"]))
    assert len(ids(start("anthropic", "openai"))) > 30


def test_the_first_model_that_is_offered_is_used_if_none_is_named(start: Start) -> None:
    assert begun(start("anthropic", "openai", scope=["gpt-6-luna", "opus"])) == "openai: gpt-6-luna"
    assert begun(start("anthropic", "openai", scope=["gpt-6-luna"]), None, "sonnet") == "anthropic: claude-sonnet-5"
    assert (
        begun(start("anthropic", "openai", scope=["gpt-6-luna", "opus"]), "anthropic") == "anthropic: claude-opus-5-5"
    )
    assert begun(start(api_key="k", scope=["opus-4-8"])) == "anthropic: claude-opus-4-8"
    nothing = start("anthropic", scope=["nope*"])
    assert begun(nothing) == "anthropic: claude-sonnet-5"
    assert nothing.unmatched() == ["nope*"]
    assert start("anthropic", scope=["claude-*"]).unmatched() == []


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("box", "http://box:11434/v1"),
        ("box:80", "http://box:80/v1"),
        (":9000", "http://127.0.0.1:9000/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:9000", "http://127.0.0.1:9000/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
        ("[::1]:9000", "http://[::1]:9000/v1"),
        ("http://box:9000", "http://box:9000/v1"),
        ("https://box/", "https://box/v1"),
        ("https://box/ollama/v1/", "https://box/ollama/v1"),
        ("", "http://127.0.0.1:11434/v1"),
    ],
)
def test_ollamas_own_variable_is_read_in_all_its_forms(start: Start, host: str, url: str) -> None:
    known = start(env={"OLLAMA_HOST": host})
    assert known.accounts.base_url("ollama") == url
    assert known.accounts.has_own_server("ollama") == bool(host)
    other = start(env={"OLLAMA_HOST": host, "OLLAMA_BASE_URL": "http://other"})
    assert other.accounts.base_url("ollama") == "http://other"


def test_a_server_of_ones_own_machine_wants_no_key_and_is_not_chosen_by_itself(start: Start) -> None:
    known = start()
    assert begun(known) == "anthropic: claude-sonnet-5"
    for name in ("ollama", "lmstudio", "llama.cpp", "vllm", "litellm"):
        model = known.begin(name, "m")
        known.accounts.require(name)
        assert (model.base_url, model.prices) == (known.providers.info(name).base_url, None)
        with pytest.raises(ConfigError, match=f"the provider {name} has no default model; to see which it has: linnet"):
            known.begin(name, None)
    assert known.choose("ollama", "another").id == "another"


def test_a_model_that_is_known_elsewhere_thinks_and_sees_as_there(start: Start) -> None:
    known = start(env={"ANTHROPIC_BASE_URL": "http://gateway"})
    model = known.begin("anthropic", "team/claude-opus-5")
    assert model.levels == known.find("anthropic", "claude-opus-5").levels
    assert (model.context_window, model.prices) == (1_000_000, None)
    unlike = known.begin("anthropic", "glm-4.6")
    assert (unlike.context_window, unlike.reasoning, unlike.levels) == (128_000, False, {})


def test_a_dated_id_can_be_set_and_is_listed_if_it_was_named(start: Start) -> None:
    accounts = start("anthropic")
    assert accounts.choose("anthropic", "claude-haiku-4-5-20251001").api == "anthropic-messages"
    assert "claude-haiku-4-5-20251001" not in ids(accounts)
    accounts.begin(None, "claude-haiku-4-5-20251001")
    assert "claude-haiku-4-5-20251001" in ids(accounts)
    model = start("anthropic").begin("openrouter", "anthropic/claude-haiku-4.5-20251001")
    assert (model.context_window, model.reasoning) == (200_000, True)


def test_a_variable_says_how_its_key_is_sent(start: Start) -> None:
    assert start(env={"ANTHROPIC_AUTH_TOKEN": "t"}).accounts.key("anthropic").auth == "bearer"
    assert start(env={"ANTHROPIC_OAUTH_TOKEN": "t"}).accounts.key("anthropic").auth == "bearer"
    both = start("anthropic", env={"ANTHROPIC_AUTH_TOKEN": "t"}).accounts.key("anthropic")
    assert (both.word, both.auth) == ("k", "")


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
        'unknown model "anthropic/claude-opus-5" (provider="openai"); it is a model of anthropic',
    ),
    (None, "anthropic/claude-opus-4.8", 'unknown model "claude-opus-4.8" (provider="anthropic"); did you mean'),
    (None, "gpt-5.4-min", 'unknown model "gpt-5.4-min" (provider="anthropic"); did you mean "gpt-5.4-mini"?'),
    (None, "sonet", 'unknown model "sonet" (provider="anthropic"); did you mean "sonnet"?'),
    (None, "grok-4.77", 'unknown model "grok-4.77" (provider="anthropic"); did you mean "grok-4.7"?'),
    (None, "gpt-55:high", 'unknown model "gpt-55" (provider="anthropic"); did you mean "gpt-5'),
    ("openai", "claude-opus-5", 'unknown model "claude-opus-5" (provider="openai"); it is a model of anthropic'),
    (None, "gpt-55", 'unknown model "gpt-55" (provider="anthropic"); did you mean "gpt-5'),
    (None, "openai/gpt-55", 'unknown model "gpt-55" (provider="openai"); did you mean "gpt-5'),
    (None, "meta-llama/Llama-3", 'unknown model "meta-llama/Llama-3" (provider="anthropic")'),
    ("openia", "gpt-5", 'unknown provider "openia"; did you mean "openai"?'),
    ("zzz", "gpt-5", 'unknown provider "zzz"; choose one of anthropic, openai, deepseek, azure-openai'),
]


@pytest.mark.parametrize(("provider", "model", "sentence"), WRONG)
def test_what_is_not_there_is_named(start: Start, provider: str | None, model: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        start("anthropic", "openai").begin(provider, model)
    assert str(caught.value).startswith(sentence)
    assert isinstance(caught.value, UnknownModel | UnknownProvider)


def test_a_model_that_nobody_has_listed_has_no_price_and_can_be_chosen_again(start: Start) -> None:
    known = start("openai", base_url="http://x")
    model = known.begin("openai", "meta-llama/Llama-3")
    assert (model.prices, model.api, model.base_url) == (None, "openai-completions", "http://x")
    assert known.choose("openai", "meta-llama/Llama-3") == model
    assert model in known.available()
    with pytest.raises(UnknownModel):
        known.choose("openai", "another")
    assert known.choose("openai", "another", unlisted=True).prices is None


def test_without_any_key_the_sentence_says_what_would_help(start: Start) -> None:
    known = start()
    with pytest.raises(
        MissingKey, match=r"set ANTHROPIC_API_KEY, .* OPENAI_API_KEY, DEEPSEEK_API_KEY or that of another"
    ):
        known.accounts.require(known.begin(None, None).provider)
    with pytest.raises(MissingKey) as caught:
        known.accounts.require(known.begin("openai", None).provider)
    assert "ANTHROPIC" not in str(caught.value)


def test_a_provider_may_have_other_credentials_than_a_key(start: Start, tmp_path: Path) -> None:
    login = {"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "t"}
    path = tmp_path / ".config" / "gcloud" / "application_default_credentials.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({**login, "quota_project_id": "mine"}))
    for env, place in (
        ({"HOME": str(tmp_path)}, str(path)),
        ({"GOOGLE_APPLICATION_CREDENTIALS": str(path)}, "GOOGLE_APPLICATION_CREDENTIALS"),
    ):
        known = start(env=env)
        known.accounts.require("vertex")
        assert known.accounts.usable("vertex")
        assert known.accounts.seen("vertex").place == place
        assert not known.accounts.usable("google")


@pytest.mark.parametrize(
    ("provider", "ways"),
    [
        (
            "vertex",
            [
                "GOOGLE_CLOUD_API_KEY",
                "GOOGLE_APPLICATION_CREDENTIALS",
                "gcloud auth application-default login",
                "!gcloud auth print-access-token",
                "GOOGLE_CLOUD_PROJECT",
                "GOOGLE_CLOUD_LOCATION",
            ],
        ),
        (
            "bedrock",
            ["AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION"],
        ),
    ],
)
@pytest.mark.parametrize("broken", [{}, {"GOOGLE_APPLICATION_CREDENTIALS": "/gone", "AWS_PROFILE": "gone"}])
def test_who_has_no_credentials_is_told_every_way_to_have_some(
    start: Start, provider: str, ways: list[str], broken: dict[str, str]
) -> None:
    with pytest.raises(MissingKey) as caught:
        start(env={**broken, "AWS_EC2_METADATA_DISABLED": "true"}).accounts.require(provider)
    for way in (*ways, "--api-key", f"linnet login {provider}"):
        assert way in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "content", "why"),
    [
        ("GOOGLE_CLOUD_PROJECT", None, "no login by gcloud was found either"),
        ("GOOGLE_APPLICATION_CREDENTIALS", None, "which does not exist"),
        ("GOOGLE_APPLICATION_CREDENTIALS", {"type": "external_account"}, "which linnet cannot use"),
        (
            "GOOGLE_APPLICATION_CREDENTIALS",
            {"type": "service_account", "client_email": "a", "private_key": "k"},
            "name no project, and GOOGLE_CLOUD_PROJECT is not set",
        ),
    ],
)
def test_other_credentials_that_would_let_nobody_in_do_not_count(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, content: Any, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "credentials.json"
    if content is not None:
        path.write_text(json.dumps(content))
    known = start(env={variable: str(path)})
    assert not known.accounts.usable("vertex")
    with pytest.raises(MissingKey, match=rf"{why}.*; set GOOGLE_CLOUD_API_KEY"):
        known.accounts.require("vertex")


def test_a_login_is_not_looked_for_where_the_agent_works(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    login = '{"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "t"}'
    (tmp_path / ".config" / "gcloud").mkdir(parents=True)
    for folder in (".", ".config/gcloud"):
        (tmp_path / folder / "application_default_credentials.json").write_text(login)
    assert not start(env={"GOOGLE_CLOUD_PROJECT": "mine"}).accounts.usable("vertex")


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
    known = start(own={"providers": {"lan": lan}}, env={"LAN_KEY": "secret"})
    found, other = known.of("lan")
    assert (found.name, found.context_window, found.max_output, found.reasoning) == ("Em", 1000, 100, True)
    assert (found.images, found.prices, found.api) == (True, Prices(1, 2, 3, 4), "anthropic-messages")
    assert (other.images, other.prices, other.reasoning) == (False, None, False)
    assert (known.accounts.key("lan").word, known.accounts.key("lan").place) == ("secret", "LAN_KEY")
    assert known.accounts.base_url("lan") == "http://lan"


@pytest.mark.parametrize(
    ("written", "key"),
    [("ollama", "ollama"), ("LAN_KEY", ""), ("$lan", "lan's"), ("${lan}", "lan's"), ("sk-A_1", "sk-A_1")],
)
def test_a_name_in_capitals_is_a_variable_and_anything_else_a_key(start: Start, written: str, key: str) -> None:
    known = start(own={"providers": {"lan": {**LAN, "apiKey": written}}}, env={"lan": "lan's"})
    assert known.accounts.key("lan").word == key


def test_a_providers_address_may_be_changed_in_the_file(start: Start) -> None:
    known = start(own={"providers": {"openai": {"baseUrl": "http://gateway", "models": [{"id": "new"}]}}})
    assert begun(known, None, "openai/whatever") == "openai: whatever"
    ids = [model.id for model in known.of("openai")]
    assert ids[0] == "gpt-6-sol"
    assert "new" in ids
    known.accounts.require("openai")


def own(model: dict[str, Any] | None = None, **provider: Any) -> dict[str, Any]:
    """A models.json with one provider of one model."""
    return {"providers": {"lan": {**LAN, "models": [{"id": "m", **(model or {})}], **provider}}}


def test_a_model_of_the_catalogue_is_corrected_field_by_field(start: Start) -> None:
    plain = start("anthropic").find("anthropic", "claude-opus-5")
    over = {"id": "claude-opus-5", "contextWindow": 200_000, "cost": {"input": 1}, "compat": {"cacheMarks": False}}
    for said in (
        {"providers": {"anthropic": {"models": [over]}}},
        {
            "providers": {
                "anthropic": {"modelOverrides": {"claude-opus-5": {k: v for k, v in over.items() if k != "id"}}}
            }
        },
        [
            {
                "id": "claude-opus-5",
                "provider": "anthropic",
                "context_window": 200_000,
                "prices": {"input": 1},
                "compat": {"cacheMarks": False},
            }
        ],
    ):
        found = start("anthropic", own=said).find("anthropic", "claude-opus-5")
        assert plain.prices is not None
        assert found == replace(
            plain, context_window=200_000, prices=replace(plain.prices, input=1), quirks={"cacheMarks": False}
        )


def test_a_model_of_ones_own_server_that_is_known_elsewhere_is_that_model_but_for_what_is_said(start: Start) -> None:
    known = start(own=own({"id": "x/claude-opus-5", "maxTokens": 5}, api="anthropic-messages"))
    found = known.find("lan", "x/claude-opus-5")
    elsewhere = start("anthropic").find("anthropic", "claude-opus-5")
    assert (found.levels, found.context_window, found.images) == (elsewhere.levels, elsewhere.context_window, True)
    assert (found.max_output, found.prices, found.base_url) == (5, None, "http://lan:8080/v1")


def test_what_pi_says_of_a_model_is_read(start: Start) -> None:
    model = {
        "reasoning": True,
        "thinkingLevelMap": {"off": None, "minimal": None, "low": "small", "max": "huge"},
        "cost": {
            "input": 1,
            "output": 2,
            "tiers": [
                {"inputTokensAbove": 1000, "input": 10, "output": 20},
                {"inputTokensAbove": 100, "input": 5, "output": 6, "cacheRead": 1},
            ],
        },
        "headers": {"X-Team": "a ${TEAM}!", "X-Unset": "$NOBODY"},
        "compat": {"maxTokensField": "max_completion_tokens", "supportsStrictMode": True},
        "api": "openai-completions",
        "baseUrl": "http://elsewhere/v1",
        "inputLimits": {"images": {}},
        "promptCache": {"short": 300},
        "ends": "2027-01-01",
        "successor": "n",
    }
    said = own(model, api="anthropic-messages", headers={"X-All": "$TEAM"}, apiKey="!echo k", authHeader=True)
    known = start(own=said, env={"TEAM": "red"})
    found = known.find("lan", "m")
    assert found.levels == {"low": "small", "medium": "medium", "high": "high", "max": "huge"}
    assert levels(found, with_tools=True) == ("low", "medium", "high", "max")
    assert found.headers == {"X-All": "red", "X-Team": "a red!"}
    assert found.quirks == {"maxTokensField": "max_completion_tokens", "supportsStrictMode": True}
    assert (found.api, found.base_url) == ("openai-completions", "http://elsewhere/v1")
    assert (found.ends, found.successor) == ("2027-01-01", "n")
    assert [priced(Usage(n), found.prices).cost.input for n in (100, 101, 1001)] == [0.0001, 0.000505, 0.01001]
    key = known.accounts.key("lan")
    assert (key.command, key.auth) == ("echo k", "bearer")
    assert {"TEAM", "NOBODY"} <= set(known.accounts.key_variables)


@pytest.mark.parametrize(
    "own",
    [
        [{"id": "m", "provider": "openai", "headers": {"X-Team": "$TEAM"}}],
        {"providers": {"openai": {"modelOverrides": {"gpt-6-sol": {"headers": {"X-Team": "${TEAM}"}}}}}},
    ],
)
def test_variables_in_any_header_count_as_keys(start: Start, own: Any) -> None:
    assert "TEAM" in start(own=own).accounts.key_variables


def test_a_providers_quirks_are_those_of_its_models_of_the_same_api(start: Start) -> None:
    said = own({"compat": {"supportsStore": True}}, compat={"supportsDeveloperRole": True, "thinkingFormat": "zai"})
    said["providers"]["lan"]["models"].append({"id": "n", "api": "anthropic-messages", "reasoning": True})
    known = start(own=said)
    assert known.find("lan", "m").quirks == {
        "supportsDeveloperRole": True,
        "thinkingFormat": "zai",
        "supportsStore": True,
    }
    assert known.find("lan", "n").quirks == {}
    assert known.find("lan", "n").levels["high"] == 16384
    changed = start("deepseek", own={"providers": {"deepseek": {"compat": {"thinkingFormat": "openai"}}}})
    quirks = changed.find("deepseek", "deepseek-v4-pro").quirks
    assert quirks == {"thinkingFormat": "openai", "requiresReasoningContentOnAssistantMessages": True}


def test_a_known_providers_quirks_hold_for_their_api_whichever_api_the_file_chooses(start: Start) -> None:
    chat = {"api": "openai-completions", "compat": {"supportsStore": True}}
    longer = {"maxTokensField": "max_completion_tokens"}
    assert start(own={"providers": {"xai": chat}}).find("xai", "grok-4.7").quirks == {
        **longer,
        "supportsStore": True,
    }
    responses = {"api": "openai-responses", "models": [{"id": "m", "api": "openai-completions"}]}
    assert start(own={"providers": {"groq": responses}}).find("groq", "m").quirks == longer


REFUSED = [
    (
        '{"providers": {"openai": {"compat": {\n"maxTokenField": "max_tokens"}}}}',
        '2: providers.openai.compat.maxTokenField: is not known here; did you mean "maxTokensField"?',
    ),
    (
        '{"providers": {"openai": {"models": [{"id": "a", "compat": {\n"thinkingFormat": "ziai"}}]}}}',
        '2: providers.openai.models[0].compat.thinkingFormat: expected "openai", ',
    ),
    (
        '{"providers": {"anthropic": {"models": [{"id": "a", "compat": {\n"zaiToolStream": true}}]}}}',
        "2: providers.anthropic.models[0].compat.zaiToolStream: is not known here",
    ),
    (
        '{"providers": {"anthropic": {"models": [{"id": "a",\n"api": "grpc"}]}}}',
        '2: providers.anthropic.models[0].api: no API is called "grpc"; there are ',
    ),
    (
        '{"providers": {"anthropic": {"models": [{"id": "a",\n"baseUrl": "lan"}]}}}',
        '2: providers.anthropic.models[0].baseUrl: must start with http:// or https://, not "lan"',
    ),
    (
        '{"providers": {"anthropic": {"models": [{"id": "a", "thinkingLevelMap": {\n"hgih": "x"}}]}}}',
        "1: providers.anthropic.models[0].thinkingLevelMap",
    ),
    (
        '{"providers": {"anthropic": {"modelOverrides": {\n"claude-opus-55": {}}}}}',
        "2: providers.anthropic.modelOverrides.claude-opus-55: is no model that linnet lists, and may be added",
    ),
    (
        '{"providers": {"anthropic": {"models": [{"id": "a",\n"samplingParams": {}}]}}}',
        "2: providers.anthropic.models[0].samplingParams: is not known here",
    ),
    ('[{"id": "a", "provider": "openai",\n"compat": {"x": 1}}]', "2: [0].compat.x: is not known here"),
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
    ('{"providers": {"lan": {"baseUrl": "http://x",\n"api": "grpc"}}}', "2: providers.lan.api: no API is called "),
    (
        '{"providers": {"lan": {"baseUrl": "http://x",\n"api": "scripted"}}}',
        '2: providers.lan.api: "scripted" is no API of',
    ),
    (
        '[{"id": "a", "provider": "openai",\n"api": "program"}]',
        '2: [0].api: "program" is no API of a server; there are ',
    ),
    ('{"providers": {\n"scripted": {}}}', "2: providers.scripted: is linnet's own; choose another name"),
    ('{"providers": {\n"a/b": {}}}', "2: providers.a/b: a provider's name is not empty and has no slash"),
    ('{"providers": {"openai": {"models": [{"id": "a"},\n{"ID": 1}]}}}', "2: providers.openai.models[1].ID: is not"),
    (
        '{"providers": {"lan": {"baseUrl": "http://x",\n"api": "scripted"}}}',
        '2: providers.lan.api: "scripted" is no API of a server; there are ',
    ),
    ('[{"id": "a", "provider": "openai",\n"api": "program"}]', '2: [0].api: "program" is no API of a server'),
    ('{"providers": {"openai": {"models": [{\n"id": ""}]}}}', "2: providers.openai.models[0].id: expected"),
    ('[{"provider": "openai",\n"id": ""}]', "2: [0].id: expected"),
    ('[{"id": "a", "provider": "openai",\n"ends": "2026-13-45"}]', "2: [0].ends: "),
    (
        '{"providers": {"openai": {"headers": {\n"X-A": "a\\nb"}}}}',
        "2: providers.openai.headers.X-A: has a character that no header can have",
    ),
    (
        '[{"id": "a", "provider": "openai", "headers": {\n"X A": "b"}}]',
        "2: [0].headers.X A: has a character that no header can have",
    ),
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
    assert start("openai").accounts.advice("openai") == "the key is that of OPENAI_API_KEY"
    assert start().accounts.advice("openai") == "no key was sent; set OPENAI_API_KEY, or keep one: linnet login openai"
    (tmp_path / "auth.json").write_text('{"openai": "k"}')
    (tmp_path / "auth.json").chmod(0o600)
    kept = f"the key is that of {tmp_path}/auth.json; to keep another: linnet login openai"
    assert start().accounts.advice("openai") == kept
    given = start(api_key="k")
    given.begin("openai", None)
    assert given.accounts.advice("openai") == "the key is that of --api-key"
    own = start(own={"providers": {"lan": {**LAN, "apiKey": "k"}}})
    assert own.accounts.advice("lan") == f"the key is that of {tmp_path}/models.json"
