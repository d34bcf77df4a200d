"""The head of a Markdown file: what people write there, and what they get wrong."""

import json
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from linnet.core.text.frontmatter import Document, Value, parse
from linnet.errors import BadInput


def fields(*lines: str) -> dict[str, Value]:
    return parse("\n".join(["---", *lines, "---", "body"])).fields


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (["k: plain words"], "plain words"),
        (["k:   spaced   "], "spaced"),
        (["k: note: a colon, and a # b#c"], "note: a colon, and a"),
        (["k: a#b"], "a#b"),
        (["k: # nothing"], ""),
        (["k:"], ""),
        (["k: ~"], ""),
        (["k: null"], ""),
        (["k: true"], "true"),
        (["k: one", "  two # said", "  # not said", "", "  three"], "one two\nthree"),
        (["k:", "  begun below", "  and on"], "begun below and on"),
        (["k: 'it''s' # so"], "it's"),
        (["k: '#no comment: here'"], "#no comment: here"),
        (['k: "a \\"b\\" \\t\\u00e9\\x21\\U0001F600\\/"'], 'a "b" \té!😀/'),
        (['k: "over', '  two lines"'], "over two lines"),
        (["k: |", "  a", "   b", "", "  c", ""], "a\n b\n\nc\n"),
        (["k: |-", "  a", ""], "a"),
        (["k: |+", "  a", ""], "a\n\n"),
        (["k: |2", "   a"], " a\n"),
        (["k: >", "  folded", "  text", "", "  again"], "folded text\nagain\n"),
        (["k: >-", "  folded", "    kept", "  text"], "folded\n  kept\ntext"),
        (["k: > # said below", "  text"], "text\n"),
        (["k: |"], ""),
        (["k: [a, 'b, c', \"d\", ]"], ("a", "b, c", "d")),
        (["k: [a,", "  b]"], ("a", "b")),
        (["k: []"], ()),
        (["k:", "- a", "- 'b # c'", "- d # e"], ("a", "b # c", "d")),
        (["k:", "  - a", "  # no", "  - b"], ("a", "b")),
        (["k:", "  author: me", "  since: 2026"], ""),
        (["k: {a: b}"], ""),
        (["k: [", "  a,", "  'b, c',", "]"], ("a", "b, c")),
        (["k: [", "  a", "] # so"], ("a",)),
        (["k: {", "  a: b", "}"], ""),
        (["k:", "  - one that", "    goes on", "  - two"], ("one that goes on", "two")),
        (["k:", "- one # no", "  more # no", "- 'two", "  lines'"], ("one more", "two lines")),
        (["k:", "  - >-", "    folded", "    text", "  - |", "    a", "    b"], ("folded text", "a\nb")),
        (["k:", "  - name: x", "    value: y", "  - z"], ("name: x", "z")),
        (['"k": quoted'], "quoted"),
        (["'k' : \"both\""], "both"),
    ],
)
def test_a_value_is_read_as_it_was_meant(lines: list[str], value: Value) -> None:
    assert fields(*lines, "next: here") == {"k": value, "next": "here"}


def test_a_key_in_quotes_may_have_anything_in_it() -> None:
    assert fields('"a: \\"b\\"": c', "'it''s': d", "f: g") == {'a: "b"': "c", "it's": "d", "f": "g"}


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["no key here"], "line 2: expected `key: value`, not 'no key here'"),
        (["# fine", "", "name:glued"], "line 4: expected `key: value`, not 'name:glued'"),
        (["  indented: first"], "line 2: expected `key: value`, not '  indented: first'"),
        (["- item"], "line 2: expected `key: value`, not '- item'"),
        (['k: "never closed'], "line 2: a quote is never closed"),
        (["k: 'a' b"], "line 2: text after the closing quote: 'b'"),
        (['k: "\\q"'], "line 2: unknown escape \\q"),
        (['k: "\\ud800"'], "line 2: unknown escape \\u"),
        (["k: [a"], "line 2: a list in brackets is never closed"),
        (["k: [a", "next: b", "]"], "line 2: a list in brackets is never closed"),
        (['"k" x: b'], "line 2: expected `key: value`, not '\"k\" x: b'"),
        (['"k: b'], "line 2: expected `key: value`, not '\"k: b'"),
        (['"": b'], "line 2: expected `key: value`, not '\"\": b'"),
        (["k: |x"], "line 2: text cannot begin on the line of a block: '|x'"),
    ],
)
def test_what_cannot_be_understood_is_said_with_its_line(lines: list[str], why: str) -> None:
    with pytest.raises(BadInput) as refused:
        fields(*lines)
    assert str(refused.value) == why


def test_the_body_is_trimmed_only_below_a_head() -> None:
    assert parse("---\na: b\n---\n\n text \n\n") == Document({"a": "b"}, "text")
    assert parse("\n text \n\n") == Document({}, "\n text \n\n")
    assert parse("---\n---\n") == Document({}, "")


def test_a_head_that_is_never_closed_is_body() -> None:
    assert parse("---\na: b\ntext") == Document({}, "---\na: b\ntext")


def test_line_ends_of_windows_and_a_byte_order_mark_are_no_trouble() -> None:
    assert parse("\ufeff---\r\na: b\r\n---\r\nc\r\nd\r\n") == Document({"a": "b"}, "c\nd")


def test_only_text_is_text() -> None:
    document = parse("---\na: [b]\nc: ' d '\n---\n")
    assert [document.text(key) for key in ("a", "c", "missing")] == ["", "d", ""]


@given(st.text())
@example("---\nk: >9\n x\n---")
@example("---\nk:\n  [\n---")
def test_any_text_is_read_or_refused(text: str) -> None:
    for candidate in (text, f"---\n{text}\n---\nbody", f"---\nk: {text}\n---\n"):
        with suppress(BadInput):
            parse(candidate)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_string_survives_in_double_quotes(text: str) -> None:
    # JSON spells what is beyond 16 bits as two surrogates, which no YAML does.
    spelled = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")
    assert fields(f"k: {spelled}") == {"k": text}


@given(st.lists(st.text("ab '\"#:-", min_size=1).filter(lambda line: line.strip()), min_size=1))
def test_any_lines_survive_in_a_block(lines: list[str]) -> None:
    text = "\n".join(["x", *lines])
    assert fields("k: |-", *(f"  {line}" for line in text.split("\n"))) == {"k": text}
