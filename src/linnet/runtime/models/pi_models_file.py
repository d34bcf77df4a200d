"""Reads pi's own `models.json`, below linnet's. It was written for another program: keys that mean nothing here are
passed over, and a provider that cannot be used is left out, with a remark.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.json import encode

from linnet.core.json.checked import checked
from linnet.core.json.without_comments import without_comments
from linnet.errors import ConfigError
from linnet.files.pi_files import understood as understood_file
from linnet.providers.apis import api_named, remote_api
from linnet.providers.catalog import PROVIDERS, find
from linnet.runtime.models.models_file import MODEL_KEYS, OVERRIDE_KEYS, PROVIDER_KEYS, Own, understood


def below(own: Own, path: str, environ: Mapping[str, str], remarks: list[str]) -> Own:
    """Return the providers and models that `own` says, and below them those of pi's file. What of that cannot be used
    is added to `remarks`; the file is left as it is. Never raises ConfigError.
    """
    try:
        said = understood_file(path, lambda text: _providers(text, path)) or {}
    except ConfigError as error:
        remarks.append(f"{error}; nothing of this file is used")
        return own
    infos, models = dict(own[0]), list(own[1])
    mine = {name for name, info in infos.items() if PROVIDERS.get(name) is not info}
    for name, provider in said.items():
        if name in mine:
            continue  # Said anew in linnet's own file.
        try:
            found, added = understood(encode({"providers": {name: _known(provider, name)}}), path, environ)
        except ConfigError as error:
            remarks.append(f"{_plain(error)}; the provider {name} is left out")
            continue
        infos[name] = found[name]
        known = {(model.provider, model.id) for model in models}
        models += [model for model in added if (model.provider, model.id) not in known]
    return infos, models


def _providers(text: bytes, path: str) -> dict[str, Any]:
    said = checked(without_comments(text), dict[str, Any], path).get("providers", {})
    if not isinstance(said, dict):
        raise ConfigError(f"{path}: providers: expected an object")
    return said


def _known(said: Any, name: str) -> Any:
    """Return what is said of a provider, without keys that linnet does not know."""
    if not isinstance(said, dict):
        return said
    kept = {key: value for key, value in said.items() if key in PROVIDER_KEYS and value is not None}
    usual = str(kept.get("api") or getattr(PROVIDERS.get(name), "api", ""))
    if isinstance(models := kept.get("models"), list):
        kept["models"] = [_known_model(each, MODEL_KEYS, usual) for each in models]
    if isinstance(over := kept.get("modelOverrides"), dict):
        kept["modelOverrides"] = {
            id: _known_model(each, OVERRIDE_KEYS, usual) for id, each in over.items() if find(name, id) is not None
        }
    if isinstance(compat := kept.get("compat"), dict):
        first = next((each for each in kept.get("models") or () if isinstance(each, dict) and each.get("api")), {})
        kept["compat"] = _known_quirks(compat, usual or str(first.get("api", "")))
    return kept


def _known_model(said: Any, keys: frozenset[str], usual: str) -> Any:
    if not isinstance(said, dict):
        return said
    kept = {key: value for key, value in said.items() if key in keys and value is not None}
    if isinstance(compat := kept.get("compat"), dict):
        kept["compat"] = _known_quirks(compat, str(kept.get("api") or usual))
    return kept


def _known_quirks(compat: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Return the quirks that linnet knows of this API. One that it does not know is an error elsewhere."""
    try:
        kind = api_named(remote_api(api).name).quirks()
    except ConfigError:
        return {}
    return {key: value for key, value in compat.items() if key in kind.__struct_encode_fields__}


def _plain(error: ConfigError) -> str:
    """Return the sentence without the number of a line, which is that of a text which nobody has written."""
    file, colon, rest = str(error).partition(".json:")
    number, _, problem = rest.partition(":")
    return f"{file}.json:{problem}" if colon and number.isdecimal() else str(error)
