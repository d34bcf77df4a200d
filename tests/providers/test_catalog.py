import re
import subprocess
import sys
from pathlib import Path
from time import strftime, strptime
from typing import get_args

import pytest

from linnet.core.models import Model, Prices
from linnet.errors import ConfigError, MissingKey, UnknownProvider
from linnet.providers import catalog
from linnet.providers.factory import build


@pytest.mark.parametrize("provider", catalog.PROVIDERS)
def test_every_providers_default_model_comes_first_in_its_list(provider: str) -> None:
    info = catalog.PROVIDERS[provider]
    assert catalog.models(provider)[0].id == info.default_model
    assert catalog.find(provider, info.default_model) == catalog.models(provider)[0]


@pytest.mark.parametrize("provider", ["anthropic", "openai", "deepseek"])
def test_every_model_has_limits_and_prices_that_make_sense(provider: str) -> None:
    listed = catalog.models(provider)
    assert len({model.id for model in listed}) == len(listed)
    for model in listed:
        assert model.provider == provider
        assert model.name
        assert 0 < model.max_output < model.context_window
        assert model.prices is not None
        assert 0 < model.prices.cache_read <= model.prices.input < model.prices.output


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


def test_no_default_has_an_end() -> None:
    assert [info.default_model for info in catalog.PROVIDERS.values() if catalog.models(info.name)[0].ends] == []


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
    assert sonnet.prices == Prices(3, 15, 0.3, 3.75)


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
        build("local", "", api="openai_chat")
    assert build("local", "", "http://127.0.0.1:1", api="openai_chat").name == "local"


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
