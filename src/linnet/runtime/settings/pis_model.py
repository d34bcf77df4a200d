"""Chooses the model to begin with in place of pi, where the model of pi's settings is only a suggestion."""

from linnet.core.models import Model
from linnet.runtime.models.known_models import KnownModels
from linnet.runtime.settings.layers import Layers


def begun(layers: Layers, models: KnownModels, provider: str | None, model: str | None) -> Model:
    """Return the model to begin with. What pi's settings say is only a suggestion: a model that is named elsewhere
    may be another provider's, and a scope that is without the one of the settings begins with its first.
    """
    suggested = {key for key in ("provider", "model") if (layer := layers.saying(key)) and layer.source == "pi"}
    if suggested == {"provider"} and model:
        return models.begin(None, model, suggested=provider)
    if suggested == {"model"} and provider:
        return models.begin(provider, None)
    offers = models.offers() if suggested == {"provider", "model"} and models.scope else []
    if offers and all((each.provider, each.id) != (provider, model) for each, _ in offers):
        return models.begin(None, None)
    return models.begin(provider, model)
