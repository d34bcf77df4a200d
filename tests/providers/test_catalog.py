import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from time import strftime, strptime
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from linnet.core.context.cost import priced
from linnet.core.messages import Cost, Usage
from linnet.core.models import Model, Prices
from linnet.decoding import converted
from linnet.errors import ConfigError, MissingKey, UnknownProvider
from linnet.providers import catalog
from linnet.providers.apis import api_named
from linnet.providers.factory import build

OFFLINE = ("scripted", "local")
LISTED = [name for name in catalog.PROVIDERS if catalog.models(name) and name not in OFFLINE]
FILES = Path(str(catalog.__file__)).parent / "catalogue"


@pytest.mark.parametrize("provider", [*LISTED, *OFFLINE])
def test_every_providers_default_model_comes_first_in_its_list(provider: str) -> None:
    info = catalog.PROVIDERS[provider]
    assert catalog.models(provider)[0].id == info.default_model
    assert catalog.find(provider, info.default_model) == catalog.models(provider)[0]


def test_who_lists_nothing_has_no_default_and_may_have_anything() -> None:
    others = [info for name, info in catalog.PROVIDERS.items() if name not in (*LISTED, *OFFLINE)]
    assert [info.name for info in others] == ["ollama", "lmstudio", "llama.cpp", "vllm", "litellm"]
    assert all(info.open_ended and info.on_this_machine and info.keyless and not info.default_model for info in others)


def test_every_file_of_the_catalogue_is_a_providers_and_has_a_source_and_a_day() -> None:
    owners = {catalog.PROVIDERS[name].catalogue or name for name in LISTED}
    assert {path.stem for path in FILES.iterdir()} == {*owners, *OFFLINE}
    for path in FILES.iterdir():
        said = json.loads(path.read_text())
        assert said["source"]
        strptime(said["checked"], "%Y-%m-%d")
        assert {row["thinking"] for row in said["models"] if "thinking" in row} == set(said.get("thinking", {}))


@pytest.mark.parametrize("provider", LISTED)
def test_every_model_has_limits_and_prices_that_make_sense(provider: str) -> None:
    listed = catalog.models(provider)
    assert len({model.id for model in listed}) == len(listed)
    for model in listed:
        assert model.provider == provider
        assert model.name
        assert 0 < model.max_output <= model.context_window
        assert model.prices is not None
        for prices in (model.prices, model.prices.long, model.prices.changed):
            if prices is not None:
                assert 0 <= prices.cache_read <= prices.input < prices.output
                assert prices.cache_write == 0 or prices.input <= prices.cache_write
        assert bool(model.prices.long) == bool(model.prices.long_prompt)
        assert model.prices.long_prompt < model.context_window
        assert model.reasoning == bool(model.levels)


@pytest.mark.parametrize("provider", LISTED)
def test_every_quirk_is_one_that_the_models_api_knows(provider: str) -> None:
    info = catalog.PROVIDERS[provider]
    for model in catalog.models(provider):
        found = catalog.completed(model, info, info.base_url)
        converted(dict(found.quirks), api_named(found.api).quirks())


@pytest.mark.parametrize("info", catalog.PROVIDERS.values(), ids=lambda info: info.name)
def test_every_quirk_of_a_row_is_one_that_its_api_knows(info: catalog.ProviderInfo) -> None:
    for api, quirks in info.quirks.items():
        assert api_named(api).name == api
        converted(dict(quirks), api_named(api).quirks())
    for api, families in info.families.items():
        assert api_named(api).name == api
        for beginning in families:
            converted(info.quirks_of(f"{beginning}x", api), api_named(api).quirks())


@pytest.mark.parametrize("provider", LISTED)
def test_a_model_that_ends_names_one_that_does_not_end_before_it(provider: str) -> None:
    listed = {model.id: model for model in catalog.models(provider)}
    for model in listed.values():
        assert bool(model.ends) == bool(model.successor)
        if model.successor:
            assert not listed[model.successor].ends


RESPONSES, CHAT = "openai-responses", "openai-completions"


@pytest.mark.parametrize(
    ("own", "at", "said", "demanded", "api"),
    [
        ("", "", {}, "", RESPONSES),
        ("", "https://gateway.test/v1", {}, "", CHAT),
        ("", "https://gateway.test/v1", {"own": True}, "", CHAT),
        ("", "https://gateway.test/v1", {}, RESPONSES, RESPONSES),
        ("", "https://gateway.test/v1", {"api": RESPONSES}, "", RESPONSES),
        (RESPONSES, "https://gateway.test/v1", {"own": True}, "", RESPONSES),
        (CHAT, "", {}, "", CHAT),
        ("", "", {"api": RESPONSES}, "", RESPONSES),
        ("", "", {"api": "anthropic-messages"}, "", "anthropic-messages"),
        ("", "", {}, CHAT, CHAT),
    ],
)
def test_the_catalogues_api_is_for_the_vendors_address_and_what_anybody_says_goes_first(
    own: str, at: str, said: dict[str, Any], demanded: str, api: str
) -> None:
    info = replace(catalog.PROVIDERS["openai"], **said)
    found = catalog.find("openai", "gpt-6-sol")
    assert found
    model = catalog.completed(replace(found, api=own), info, at or info.base_url, demanded)
    assert model.api == api
    assert model.thinks_with_tools == (api != CHAT)
    converted(dict(model.quirks), api_named(api).quirks())


def deprecated() -> dict[str, str]:
    """What the vendors' own packages say will end, and when. The packages are pinned, so no clock is read."""
    from anthropic.resources.messages.messages import DEPRECATED_MODELS
    from openai.types.shared import chat_model

    days = {
        id: strptime(re.sub(r"(?<=\d)(st|nd|rd|th)", "", said), "%B %d, %Y") for id, said in DEPRECATED_MODELS.items()
    }
    said = " ".join(Path(str(chat_model.__file__)).read_text().partition('"""Deprecated values:')[2].split())
    for names, day in re.findall(r"- ((?:\"[^\"]+\",? ?)+): Announced shutdown date: (\d{4}-\d\d-\d\d)", said):
        days |= {id: strptime(day, "%Y-%m-%d") for id in re.findall(r'"([^"]+)"', names)}
    return {id: strftime("%Y-%m-%d", day) for id, day in days.items()}


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")  # Their packages take long to import.
def test_the_days_on_which_models_end_are_those_that_vendors_have_announced() -> None:
    announced = deprecated()
    assert len(announced) > 50
    listed = {model.id: model.ends for name in ("anthropic", "openai") for model in catalog.models(name)}
    assert {id: day for id, day in announced.items() if id in listed} == {id: day for id, day in listed.items() if day}


def literals(kind: Any) -> set[str]:
    return {kind} if isinstance(kind, str) else {word for part in get_args(kind) for word in literals(part)}


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")  # Their packages take long to import.
def test_the_vendors_packages_know_every_model_that_does_not_end_and_their_dated_ids_are_known() -> None:
    from anthropic.types import ModelParam
    from openai.types import AllModels

    announced = deprecated()
    for provider, ids in (("anthropic", literals(ModelParam)), ("openai", literals(AllModels))):
        lasting = {model.id for model in catalog.models(provider) if not model.ends}
        assert lasting - ids <= {"gpt-5.3-codex"}  # It is in the lists of pi-ai and litellm.
        listed = {model.id for model in catalog.models(provider)}
        dated = {id for id in ids if re.sub(r"-(\d{8}|\d{4}(-\d\d){2})$", "", id) in listed - {id}}
        assert len(dated) > 2
        found = {id: catalog.find(provider, id) for id in dated}
        assert {id: model and model.ends for id, model in found.items()} == {id: announced.get(id, "") for id in dated}


@pytest.mark.parametrize(
    ("provider", "id", "listed"),
    [
        ("anthropic", "claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("openai", "gpt-5.5-2026-04-23", "gpt-5.5"),
        ("azure-openai", "gpt-5.5-2026-04-23", "gpt-5.5"),
    ],
)
def test_an_id_with_a_date_is_the_model_without_it(provider: str, id: str, listed: str) -> None:
    info, found, known = catalog.PROVIDERS[provider], catalog.find(provider, id), catalog.find(provider, listed)
    assert found is not None
    assert known is not None
    assert found == replace(known, id=id)
    asked, as_ever = (catalog.completed(model, info, info.base_url) for model in (found, known))
    assert asked == replace(as_ever, id=id)


@pytest.mark.parametrize("id", ["gpt-5.5-2026", "gpt-5.5-04-23", "gpt-5.5-20260423-x", "gpt-5.520260423", "-20260423"])
def test_what_is_no_date_is_part_of_an_id(id: str) -> None:
    assert catalog.find("openai", id) is None


def test_a_model_that_nobody_lists_is_asked_as_the_default_one_is() -> None:
    info = catalog.PROVIDERS["openai"]
    new = Model("gpt-7", "openai", reasoning=True)
    assert catalog.completed(new, info, info.base_url).api == RESPONSES
    assert catalog.completed(new, info, "https://gateway.test/v1").api == CHAT
    assert catalog.completed(replace(new, api=CHAT), info, info.base_url).api == CHAT


def test_no_default_has_an_end() -> None:
    assert [name for name in LISTED if catalog.models(name)[0].ends] == []


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")  # Their packages take long to import.
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_the_vendors_packages_know_the_defaults(provider: str) -> None:
    from anthropic.types import ModelParam
    from openai.types import ChatModel

    known = {"anthropic": str(get_args(ModelParam)), "openai": str(get_args(ChatModel))}
    assert f"'{catalog.PROVIDERS[provider].default_model}'" in known[provider]


def test_a_price_is_per_million_tokens() -> None:
    sonnet = catalog.find("anthropic", "claude-sonnet-4-5")
    assert sonnet is not None
    assert sonnet.prices == Prices(3, 15, 0.3, 3.75, 6)


MIXED = Usage(10_000, 2_000, 50_000, 30_000, cache_write_long=10_000)  # A prompt of 90,000 tokens.
LONG = Usage(10_000, 2_000, 250_000, 40_000, cache_write_long=10_000)  # One of 300,000.
BILLS = [
    # 10,000 at 2, 2,000 at 10, 50,000 at 0.20, then 20,000 at 2.50 and 10,000 at 4 (twice the input).
    ("anthropic", "claude-sonnet-5", MIXED, (0.02, 0.02, 0.01, 0.09)),
    ("anthropic", "claude-sonnet-5-5", MIXED, (0.02, 0.02, 0.005, 0.09)),
    ("anthropic", "claude-opus-5-5", MIXED, (0.04, 0.04, 0.01, 0.18)),
    ("anthropic", "claude-fable-5-1", MIXED, (0.1, 0.1, 0.0125, 0.45)),
    ("anthropic", "claude-fable-5-2", MIXED, (0.08, 0.08, 0.01, 0.36)),
    ("anthropic", "claude-haiku-5-5", MIXED, (0.001, 0.001, 0.0005, 0.0045)),
    # Five times as much, for all of a prompt of more than 100,000.
    ("anthropic", "claude-haiku-5-5", LONG, (0.005, 0.005, 0.0125, 0.02875)),
    ("openai", "gpt-6-sol", MIXED, (0.02, 0.02, 0.01, 0.075)),
    # Twice the input and half as much again for the output, for all of a prompt of more than 272,000.
    ("openai", "gpt-6-sol", LONG, (0.04, 0.03, 0.1, 0.2)),
    ("openai", "gpt-6-astra", LONG, (0.2, 0.15, 0.5, 1.0)),
    ("openai", "gpt-5.5", LONG, (0.1, 0.09, 0.25, 0)),
    ("deepseek", "deepseek-v4-pro", Usage(1_000_000, 100_000, 500_000), (1.32, 0.396, 0.022, 0)),
    ("xai", "grok-4.7", Usage(150_000, 1_000, 50_000), (0.3, 0.006, 0.025, 0)),
    ("xai", "grok-4.7", Usage(150_001, 1_000, 50_000), (0.600004, 0.012, 0.05, 0)),
]


@pytest.mark.parametrize(("provider", "id", "used", "dollars"), BILLS)
def test_a_bill_is_what_the_vendor_would_write(provider: str, id: str, used: Usage, dollars: tuple[float, ...]) -> None:
    model = catalog.find(provider, id)
    assert model is not None
    assert priced(used, model.prices).cost == Cost(*dollars)


def test_prices_that_change_hold_from_their_day_on() -> None:
    prices = Prices(2, 10, changes_on="2026-12-01", changed=Prices(4, 20))
    the_day = 1_796_083_200_000  # 1 December 2026, midnight, UTC.
    assert priced(Usage(1_000_000, 100_000), prices, the_day - 1).cost == Cost(2, 1)
    assert priced(Usage(1_000_000, 100_000), prices, the_day).cost == Cost(4, 2)


@pytest.mark.parametrize(
    ("provider", "id", "window", "levels"),
    [
        ("minimax", "claude-opus-5", 1_000_000, "opus"),  # The same API: how it is told to think holds too.
        ("vllm", "openai/gpt-oss-120b", 131_072, "oss"),
        ("openrouter", "anthropic/claude-opus-4.8", 1_000_000, ""),
        ("ollama", "Claude-Opus-4.8", 1_000_000, ""),
    ],
)
def test_a_model_that_is_listed_elsewhere_is_the_same_model_here(
    provider: str, id: str, window: int, levels: str
) -> None:
    found = catalog.inherited(id, catalog.PROVIDERS[provider])
    assert found is not None
    known = {"opus": catalog.find("anthropic", "claude-opus-5"), "oss": catalog.find("groq", "openai/gpt-oss-120b")}
    theirs = known.get(levels)
    assert (found.id, found.provider, found.context_window, found.reasoning) == (id, provider, window, True)
    assert found.prices is None
    assert found.levels == (theirs.levels if theirs else {})


@pytest.mark.parametrize(
    "id", ["glm-4.6", "claude", "opus-4.8", "my-claude-opus-4-8", "claude-opus-4-8:latest", "scripted", ""]
)
def test_a_name_that_is_only_alike_says_nothing(id: str) -> None:
    assert catalog.inherited(id, catalog.PROVIDERS["ollama"]) is None


def test_a_familys_quirks_are_those_of_ids_that_begin_so() -> None:
    info = catalog.PROVIDERS["openrouter"]
    claude = catalog.completed(Model("anthropic/claude-x", "openrouter"), info, info.base_url)
    other = catalog.completed(Model("openai/anthropic/x", "openrouter"), info, info.base_url)
    assert claude.quirks["cacheControlFormat"] == "anthropic"
    assert claude.quirks["thinkingFormat"] == "openrouter"
    assert "cacheControlFormat" not in other.quirks


def test_models_of_ones_own_are_added_or_replace() -> None:
    mine = Model("mine", "openai")
    cheap = Model("gpt-5", "openai", name="Cheap")
    other = Model("other", "anthropic")
    listed = catalog.models("openai", [mine, cheap, other])
    assert cheap in listed
    assert listed[-1] == mine
    assert other not in listed
    assert catalog.find("openai", "gpt-5", [cheap]) == cheap
    assert catalog.find("openai", "nope") is None
    assert catalog.models("nobody") == []


def test_a_provider_that_nobody_knows_needs_a_dialect_and_a_url() -> None:
    with pytest.raises(UnknownProvider, match="choose one of anthropic, openai, deepseek"):
        build("zzz", "k")
    with pytest.raises(ConfigError, match="base URL"):
        build("local", "", api="openai-completions")
    assert build("local", "", "http://127.0.0.1:1", api="openai-completions").name == "local"


def test_a_missing_key_is_noticed_before_anything_is_sent() -> None:
    with pytest.raises(MissingKey, match="ANTHROPIC_API_KEY"):
        build("anthropic", " \n")
    build("anthropic", "", "http://127.0.0.1:1")  # A server of one's own may want none.


@pytest.mark.parametrize("key", ["sk-“quoted”", "a\nb"])
def test_a_key_that_cannot_be_sent_is_noticed_too(key: str) -> None:
    with pytest.raises(ConfigError, match="check the API key"):
        build("openai", key)


def test_a_url_that_makes_no_sense_is_noticed_too() -> None:
    with pytest.raises(ConfigError, match="not a URL"):
        build("openai", "k", "localhost:1234")


def test_the_catalogue_loads_no_vendor_and_no_network() -> None:
    heavy = {"socket", "ssl", "http", "json", "linnet.providers.http.client", "linnet.providers.anthropic"}
    code = f"import sys, linnet.providers.factory; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_what_the_first_answer_needs_loads_the_tables_of_this_layer_and_nothing_that_asks() -> None:
    later = ("linnet.core.context.history", "linnet.runtime.open_providers")
    assert all(find_spec(name) for name in later)
    code = (
        "import sys, linnet.server.serve, linnet.runtime.session_factory\n"
        f"print(*sorted(name for name in sys.modules if 'linnet.providers.' in name or name in {later}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"linnet.providers.{name}" for name in ("apis", "catalog", "provider_rows")]


def same(id: str) -> Model:
    found = catalog.unlisted(id, catalog.PROVIDERS["bedrock"])
    assert found.id == id
    return found


@pytest.mark.parametrize(
    ("id", "listed", "input"),
    [
        ("us.anthropic.claude-opus-5-5", "global.anthropic.claude-opus-5-5", 4.4),
        ("anthropic.claude-opus-4-6-v1:0", "global.anthropic.claude-opus-4-6-v1", 5.5),
        ("global.anthropic.claude-haiku-4-5", "global.anthropic.claude-haiku-4-5-20251001-v1:0", 1),
        ("arn:aws:bedrock:eu-west-3:1:inference-profile/eu.openai.gpt-6-sol", "global.openai.gpt-6-sol", 2.2),
        ("openai.gpt-oss-20b-1:0", "openai.gpt-oss-20b-1:0", 0.07),
    ],
)
def test_an_id_that_differs_only_in_area_and_version_is_the_same_model(id: str, listed: str, input: float) -> None:
    model, known = same(id), catalog.find("bedrock", listed)
    assert known is not None
    assert (model.levels, model.quirks, model.context_window) == (known.levels, known.quirks, known.context_window)
    assert model.prices is not None
    assert model.prices.input == input


def test_a_price_that_nobody_has_said_is_unknown() -> None:
    model = same("us-gov.anthropic.claude-sonnet-4-6")
    assert model.levels
    assert model.prices is None


@pytest.mark.parametrize("id", ["anthropic.claude-opus-5-6", "xx.anthropic.claude-opus-5", "mine"])
def test_any_other_id_is_a_model_of_which_nothing_is_known(id: str) -> None:
    assert same(id) == Model(id, "bedrock")


def test_a_vendors_own_id_says_what_holds_anywhere_and_no_price() -> None:
    model = same("claude-opus-5-5")
    assert (model.context_window, model.reasoning, model.levels, model.prices) == (1_000_000, True, {}, None)


def test_no_other_provider_takes_one_id_for_another() -> None:
    assert catalog.unlisted("us.gpt-6-sol", catalog.PROVIDERS["openai"]) == Model("us.gpt-6-sol", "openai")


def test_every_model_of_bedrock_has_limits_prices_and_quirks_that_make_sense() -> None:
    from linnet.decoding import converted
    from linnet.providers.bedrock.quirks import Quirks

    for model in catalog.models("bedrock"):
        assert 0 < model.max_output < model.context_window
        assert model.prices is not None
        assert 0 <= model.prices.cache_read <= model.prices.input < model.prices.output
        quirks = converted(dict(model.quirks), Quirks)
        assert quirks.cache_points == (quirks.thinking_format == "claude") == ("claude" in model.id)


def test_a_price_of_an_area_is_multiplied_in_every_part() -> None:
    model = same("us.anthropic.claude-haiku-5-5")
    assert model.prices is not None
    assert model.prices.long == Prices(0.55, 2.75, 0.055, 0.6875, 1.1)
