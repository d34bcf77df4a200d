"""A script that cannot be played says where."""

from pathlib import Path

import pytest

from linnet.errors import ConfigError
from linnet.providers.scripted.script import load, parse


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            '{"turns": [\n  [{"text": "a"}],\n  [{"text": 5}]\n]}',
            ":3: turns[1][0].text: expected a string or null, not a whole",
        ),
        ('{"turns": [\n  [{"txt": "a"}]\n]}', ':2: turns[0][0].txt: is not known here; did you mean "text"?'),
        ('{"turns": [\n  [],\n  [{"text": "a"},\n   {}]\n]}', ":4: turns[1][1]: a step needs one verb; found none"),
        ('{"turns": [[\n{"text": "a", "call": "b"}]]}', ":2: turns[0][0]: a step needs one verb; found text and call"),
        ('{"turns":\n\n [}', ":3: is not JSON"),
        ("[" * 100_000, ":1: "),
    ],
)
def test_what_is_wrong_is_named_by_its_line(text: str, why: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(text.encode(), "play.json")
    assert str(refused.value).startswith(f"the script play.json{why}")


def test_one_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.json cannot be read"):
        load(str(tmp_path / "gone.json"))
