"""Names, lines and results, without any server."""

import re
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.messages import Image, Text
from linnet.extensions.lines import Oversized, ProgramLines
from linnet.extensions.mcp.bounded import bounded
from linnet.extensions.mcp.naming import LONGEST, clashes, names
from linnet.extensions.mcp.offers import OfferedPrompt, OfferedTool, Offers, Resource
from linnet.extensions.mcp.overlong_line import answered
from linnet.extensions.mcp.server_results import content, progress_text, prompt_text, resource_text

tools = st.lists(st.tuples(st.text(max_size=50), st.text(max_size=50)), max_size=20)


@given(tools)
def test_every_tool_has_a_name_of_its_own_that_vendors_accept(given_tools: list[tuple[str, str]]) -> None:
    called = names(given_tools)
    assert set(called) == set(given_tools)
    assert len(set(called.values())) == len(called)
    assert all(re.fullmatch(r"mcp__[A-Za-z0-9_]+", name) and len(name) <= LONGEST for name in called.values())


@given(tools, tools)
def test_a_tool_keeps_its_name_unless_another_one_would_have_it_too(
    some: list[tuple[str, str]], more: list[tuple[str, str]]
) -> None:
    before, after = names(some), names([*some, *more])
    clashing = {tool for group in clashes([*some, *more]) for tool in group}
    assert all(before[tool] == after[tool] or "/".join(tool) in clashing for tool in some)


def test_names_are_those_of_other_agents() -> None:
    called = names([("my-srv", "echo-it"), ("my-srv", "a.b"), ("my-srv", "a_b")])
    assert list(called.values()) == ["mcp__my_srv__echo_it", "mcp__my_srv__a_b_8a08da04", "mcp__my_srv__a_b_023273ec"]


@given(st.lists(st.binary(max_size=30)), st.integers(1, 40))
def test_lines_are_the_same_however_the_bytes_come(pieces: list[bytes], limit: int) -> None:
    lines = ProgramLines(limit)
    found = [line for piece in [*pieces, b"\n"] for line in lines.feed(piece)]
    expected = [line for line in b"".join(pieces).split(b"\n") if line.strip() or len(line) > limit]
    assert [line.size if isinstance(line, Oversized) else line for line in found] == [
        len(line) if len(line) > limit else line for line in expected
    ]


@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"id":8}}', 7),
        (b'{ "jsonrpc" : "2.0", "id": 12, "result": {}}', 12),
        (b'{"result":{"id":8},"jsonrpc":"2.0","id":9}', 9),
        (b'{"result":{"content":[],"id":8}}', None),
        (b'{"jsonrpc":"2.0","result":{"id":8},"id":"a"}', None),
    ],
)
@pytest.mark.parametrize("step", [1, 5, 1000])
def test_an_oversized_answer_says_which_request_it_is_for_if_that_is_certain(
    line: bytes, id: int | None, step: int
) -> None:
    lines = ProgramLines(limit=10)
    data = line + b"\n" + b"{}\n"
    found = [each for start in range(0, len(data), step) for each in lines.feed(data[start : start + step])]
    assert found == [Oversized(len(line), line, line), b"{}"]
    assert answered(Oversized(len(line), line, line)) == id


def result(*blocks: Any, **fields: Any) -> types.CallToolResult:
    return types.CallToolResult.model_validate({"content": list(blocks), **fields})


def test_structured_content_is_shown_where_no_text_says_it() -> None:
    assert content(result(structuredContent={"a": [1]})) == (Text('{"a":[1]}'),)
    assert content(result({"type": "text", "text": "one"}, structuredContent={"a": [1]})) == (Text("one"),)
    assert content(result()) == (Text("(no output)"),)


def test_images_that_vendors_refuse_are_described() -> None:
    drawing = {"type": "image", "data": "PHN2Zz4=", "mimeType": "image/svg+xml"}
    broken = {"type": "image", "data": "%", "mimeType": "image/png"}
    (svg,), (bad,) = content(result(drawing)), content(result(broken))
    assert svg == Text("[an image that cannot be shown: image/svg+xml, 5 bytes]")
    assert isinstance(bad, Text)
    assert bad.text.startswith("[an image that cannot be shown: image data is not base64")


def test_resources_that_come_inside_are_shown_or_described() -> None:
    def inside(**resource: str) -> Any:
        (part,) = content(result({"type": "resource", "resource": {"uri": "a://b", **resource}}))
        return part

    assert inside(text="words") == Text("[a://b]\nwords")
    assert inside(blob="AAAA", mimeType="application/zip") == Text("[a://b: application/zip, 3 bytes]")
    assert inside(blob="iVBORw0KGgo=", mimeType="image/png") == Image("image/png", "iVBORw0KGgo=")


def test_the_messages_of_a_prompt_say_who_speaks_if_several_do() -> None:
    def prompt(*said: tuple[str, str]) -> types.GetPromptResult:
        messages = [{"role": role, "content": {"type": "text", "text": text}} for role, text in said]
        return types.GetPromptResult.model_validate({"messages": messages})

    assert prompt_text(prompt(("user", "a"), ("user", "b"))) == "a\n\nb"
    assert prompt_text(prompt(("user", "a"), ("assistant", "b"))) == "user: a\n\nassistant: b"


def test_all_contents_of_a_resource_are_read() -> None:
    contents = [{"uri": "a://1", "text": "one"}, {"uri": "a://2", "blob": "AAAA"}]
    read = types.ReadResourceResult.model_validate({"contents": contents})
    assert resource_text(read) == "[a://1]\none\n\n[a://2: data, 3 bytes]"


def test_progress_is_a_line() -> None:
    assert progress_text(1, None, None) == "1\n"
    assert progress_text(1, 4, None) == "1/4\n"
    assert progress_text(0.5, 1, "half") == "half (0.5/1)\n"


@given(
    st.lists(
        st.tuples(st.sampled_from([1, 300]), st.sampled_from([0, 70_000]), st.sampled_from([0, 300_000])), max_size=20
    ),
    st.integers(0, 20),
)
def test_what_is_accepted_of_a_server_is_bounded_and_the_rest_is_told(
    sizes: list[tuple[int, int, int]], most: int
) -> None:
    tools = tuple(
        OfferedTool("n" * name + str(at), "d" * said, {"s": "x" * schema})
        for at, (name, said, schema) in enumerate(sizes)
    )
    prompts = tuple(OfferedPrompt(tool.name, tool.description, ((tool.schema["s"], True),)) for tool in tools)
    resources = tuple(Resource(tool.schema["s"], tool.name, tool.description) for tool in tools)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linnet.extensions.mcp.bounded.MOST_TOOLS", most)
        kept, told = bounded(Offers(tools, prompts, resources))
    small = [at for at, (name, said, schema) in enumerate(sizes) if name < 256 and not said and not schema]
    first = [at for at in small if at < most]
    for offered, accepted in ((tools, kept.tools), (prompts, kept.prompts), (resources, kept.resources)):
        assert list(accepted) == [offered[at] for at in first]
    assert bool(told) == (len(first) < len(sizes))
    assert all(len(sentence) < 300 for sentence in told)


def test_what_a_server_offers_in_all_is_bounded() -> None:
    kept, told = bounded(Offers(tuple(OfferedTool(str(at), "d" * 60_000, {}) for at in range(100))))
    assert 60 < len(kept.tools) < 100
    assert told == [
        f"{100 - len(kept.tools)} of its tools are left out: more than 1000 of them, and 4 MiB, are not accepted"
    ]


def test_what_no_vendor_could_be_sent_is_left_out() -> None:
    kept, told = bounded(Offers((OfferedTool("half", "\ud800", {}), OfferedTool("whole", "", {}))))
    assert [tool.name for tool in kept.tools] == ["whole"]
    assert told == ['its tool "half" is left out: it cannot be written as JSON']
