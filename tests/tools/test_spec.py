import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import ToolCall
from linnet.errors import ConfigError
from linnet.tools.context import ToolContext
from linnet.tools.registry import Registry
from linnet.tools.standard import standard_tools

if TYPE_CHECKING:
    from tests.tools.bench import Bench


def test_the_standard_tools_are_sorted_described_and_self_contained() -> None:
    specs = Registry(standard_tools()).specs
    assert [spec.name for spec in specs] == ["bash", "edit", "read", "write"]
    for spec in specs:
        assert spec.description
        assert spec.schema["type"] == "object"
        assert "$ref" not in str(spec.schema)
        assert all("description" in field for field in spec.schema["properties"].values())


def test_an_argument_that_may_be_null_is_simply_optional_in_the_schema(bench: "Bench") -> None:
    (spec,) = Registry(standard_tools(["bash"])).specs
    timeout = {**spec.schema["properties"]["timeout"]}
    assert timeout.pop("description")
    assert timeout == {"type": "number", "exclusiveMinimum": 0}
    assert spec.schema["required"] == ["command"]
    assert bench.ok("bash", command="true", timeout=None)


def test_tools_can_be_chosen_by_name() -> None:
    assert [tool.spec.name for tool in standard_tools(["read", "bash", "read"])] == ["read", "bash"]
    assert standard_tools([]) == []


def test_an_unknown_tool_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r'unknown tool "nope"; choose from read, write, edit, bash'):
        standard_tools(["read", "nope"])


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("read", {}, "invalid args: Object missing required field `path`"),
        ("read", {"path": ""}, "invalid args: Expected `str` of length >= 1 - at `$.path`"),
        ("read", {"path": 7}, "invalid args: Expected `str`, got `int` - at `$.path`"),
        ("read", {"path": "a", "offset": "two"}, "invalid args: Expected `int`, got `str` - at `$.offset`"),
        ("read", {"path": "a", "offset": 0}, "invalid args: Expected `int` >= 1 - at `$.offset`"),
        ("bash", {"command": ""}, "invalid args: Expected `str` of length >= 1 - at `$.command`"),
        ("bash", {"command": "true", "timeout": 0}, "invalid args: Expected `float` > 0.0 - at `$.timeout`"),
        ("bash", {"command": "true", "timeout": -1.5}, "invalid args: Expected `float` > 0.0 - at `$.timeout`"),
        ("nope", {}, 'unknown tool "nope"'),
    ],
)
def test_bad_arguments_are_answered_with_the_field(
    bench: "Bench", name: str, args: dict[str, object], message: str
) -> None:
    assert bench.fails(name, **args) == message


def test_numbers_in_quotes_are_understood(bench: "Bench") -> None:
    (bench.cwd / "a.txt").write_text("one\ntwo\n")
    assert bench.ok("read", path="a.txt", offset="2", limit=1.0) == "two\n"
    assert bench.ok("bash", command="true", timeout="5")


def test_arguments_that_are_not_json_are_quoted_back(bench: "Bench") -> None:
    context = ToolContext(bench.cwd, CancelToken(), print, bench.processes)
    output = bench.registry.run(ToolCall("1", "read", {}, unparsed='{"path": '), context)
    assert output.is_error
    assert "not a JSON object" in output.content[0].text  # type: ignore[union-attr]


def test_importing_the_tools_loads_nothing_heavy() -> None:
    code = "import sys, linnet.tools.standard; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"subprocess", "tempfile", "difflib", "ctypes", "base64", "asyncio", "shlex"} & set(loaded)
