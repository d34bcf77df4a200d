import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import Text
from linnet.errors import Cancelled, ToolFailed
from linnet.tools.context import ToolContext
from linnet.tools.grep import grep
from linnet.tools.search import engines
from linnet.tools.search.matches import MAX_RECORD, Matches
from linnet.tools.search.pattern import Pattern
from linnet.tools.spec import ToolOutput

if TYPE_CHECKING:
    from tests.tools.bench import Bench

# Takes for ever in Python, and no time in ripgrep.
SLOW = {"pattern": "(a+)+$"}


@pytest.fixture(params=["ripgrep", "own"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test that asks for it is run with each of the two."""
    name: str = request.param
    if name == "own":
        monkeypatch.setattr(engines, "installed", lambda cwd: None)
    elif engines.installed("/nowhere") is None:
        pytest.skip("ripgrep is not installed")
    return name


def put(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def in_pis_words(bench: "Bench", **args: Any) -> ToolOutput:
    return grep.run(args, ToolContext(bench.cwd, CancelToken(), print, bench.processes, "pi"))


@pytest.mark.usefixtures("engine")
def test_matches_come_with_path_and_number_in_the_order_of_the_paths(bench: "Bench") -> None:
    put(bench.cwd, {"b.txt": "x\nneedle 2\r\n", "a/z.txt": "needle", "a.txt": "nothing", ".hidden": "a needle\n"})
    assert bench.ok("grep", pattern="needle").split("\n") == [
        ".hidden:1: a needle",
        "a/z.txt:1: needle",
        "b.txt:2: needle 2",
    ]
    assert bench.ok("grep", pattern="zzz") == "No matches found"
    assert bench.ok("grep", pattern="needle", path="a") == "z.txt:1: needle"
    assert bench.ok("grep", pattern="needle", path="b.txt") == "b.txt:2: needle 2"


@pytest.mark.usefixtures("engine")
def test_what_git_ignores_is_left_out_also_where_there_is_no_repository(bench: "Bench") -> None:
    put(
        bench.cwd,
        {
            ".gitignore": "*.log\n!keep.log\nnode_modules/\n",
            "a.log": "needle",
            "keep.log": "needle",
            "node_modules/x.js": "needle",
            "src/.gitignore": "/gen",
            "src/gen/a": "needle",
            "src/b/gen/a": "needle",
            ".git/config": "needle",
        },
    )
    expected = "keep.log:1: needle\nsrc/b/gen/a:1: needle"
    assert bench.ok("grep", pattern="needle") == expected
    # A glob says what to search of the rest, and does not bring back what is ignored.
    assert bench.ok("grep", pattern="needle", glob="*.log") == "keep.log:1: needle"
    assert bench.ok("grep", pattern="needle", path="node_modules") == "x.js:1: needle"
    (bench.cwd / ".git" / "config").unlink()
    (bench.cwd / ".git").rmdir()
    assert bench.ok("grep", pattern="needle") == expected


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("glob", "files"),
    [
        ("*.ts", ["a.ts", "src/b.ts", "src/x/c.ts"]),
        ("src/**/*.ts", ["src/b.ts", "src/x/c.ts"]),
        ("x/*.ts", ["src/x/c.ts"]),
        ("*.{ts,js}", ["a.ts", "d.js", "src/b.ts", "src/x/c.ts"]),
        ("!src", ["a.ts", "d.js"]),
        ("!*.ts", ["d.js"]),
    ],
)
def test_a_glob_chooses_files(bench: "Bench", glob: str, files: list[str]) -> None:
    put(bench.cwd, dict.fromkeys(["a.ts", "d.js", "src/b.ts", "src/x/c.ts"], "needle"))
    assert bench.ok("grep", pattern="needle", glob=glob).split("\n") == [f"{name}:1: needle" for name in files]


@pytest.mark.usefixtures("engine")
def test_context_repeats_for_each_match_what_is_around_it(bench: "Bench") -> None:
    put(bench.cwd, {"a": "1\n2 x\n3\n4 x\n5\n6\n"})
    assert bench.ok("grep", pattern="x", context=1) == "a-1- 1\na:2: 2 x\na-3- 3\na-3- 3\na:4: 4 x\na-5- 5"
    assert bench.ok("grep", pattern="x", context=2, limit=1).startswith(
        "a-1- 1\na:2: 2 x\na-3- 3\na-4- 4 x\n\n[1 match"
    )


@pytest.mark.usefixtures("engine")
def test_text_can_be_searched_as_it_stands_and_in_any_case(bench: "Bench") -> None:
    put(bench.cwd, {"a": "if (a[0]) {\nIF\nÉTÉ\n-v\n"})
    assert bench.ok("grep", pattern="(a[0]) {", literal=True) == "a:1: if (a[0]) {"
    assert bench.ok("grep", pattern=r"\) {") == "a:1: if (a[0]) {"
    assert bench.ok("grep", pattern="if", ignoreCase=True) == "a:1: if (a[0]) {\na:2: IF"
    assert bench.ok("grep", pattern="été", ignoreCase=True) == "a:3: ÉTÉ"
    assert bench.ok("grep", pattern="-v") == "a:4: -v"


@pytest.mark.usefixtures("engine")
def test_more_than_can_be_shown_is_cut_and_told_in_pis_words(bench: "Bench") -> None:
    put(bench.cwd, {"a": "x\n" * 300})
    output = in_pis_words(bench, pattern="x")
    (part,) = output.content
    assert isinstance(part, Text)
    *lines, _, note = part.text.split("\n")
    assert lines == [f"a:{number}: x" for number in range(1, 101)]
    assert note == "[100 matches limit reached. Use limit=200 for more, or refine pattern]"
    assert output.details == {"matchLimitReached": 100}

    put(bench.cwd, {"a": ("y" * 600 + "\n") * 300})
    output = in_pis_words(bench, pattern="y", limit=200)
    (part,) = output.content
    assert isinstance(part, Text)
    assert part.text.startswith(f"a:1: {'y' * 500}... [truncated]\n")
    assert part.text.endswith(
        "\n\n[200 matches limit reached. Use limit=400 for more, or refine pattern. 50.0KB limit reached. "
        "Some lines truncated to 500 chars. Use read tool to see full lines]"
    )
    assert output.details is not None
    assert set(output.details) == {"matchLimitReached", "truncation", "linesTruncated"}
    assert output.details["truncation"]["outputBytes"] <= 50 * 1024


@pytest.mark.usefixtures("engine")
def test_binary_and_unreadable_files_links_and_pipes_are_left_out(bench: "Bench") -> None:
    put(
        bench.cwd,
        {"a": "needle", "bin": b"needle\n\0", "late": b"needle\n" + b"x\n" * 100_000 + b"\0", "secret": "needle"},
    )
    (bench.cwd / "secret").chmod(0)
    (bench.cwd / "loop").symlink_to(".")
    (bench.cwd / "link").symlink_to("a")
    os.mkfifo(bench.cwd / "pipe")
    unreadable = [] if os.access(bench.cwd / "secret", os.R_OK) else ["secret"]
    expected = ["a:1: needle"] + ([] if unreadable else ["secret:1: needle"])
    assert bench.ok("grep", pattern="needle").split("\n") == expected
    assert bench.fails("grep", pattern="needle", path="bin").startswith("bin looks binary")
    assert bench.fails("grep", pattern="needle", path="late").startswith("late looks binary")
    assert "a pipe, a socket or a device" in bench.fails("grep", pattern="needle", path="pipe")
    assert bench.ok("grep", pattern="needle", path="link") == "link:1: needle"


@pytest.mark.usefixtures("engine")
def test_names_may_be_anything(bench: "Bench") -> None:
    names = [b"-e", b"\xff", b"a\nb", b"[x]", "é".encode()]
    for name in names:
        with open(os.path.join(os.fsencode(bench.cwd), name), "wb") as file:
            file.write(b"needle")
    shown = {"-e", "\ufffd", "a\\nb", "[x]", "é"}
    assert {line.removesuffix(":1: needle") for line in bench.ok("grep", pattern="needle").split("\n")} == shown
    assert bench.ok("grep", pattern="needle", path="-e") == "-e:1: needle"


@pytest.mark.usefixtures("engine")
def test_a_line_of_many_megabytes_costs_little_and_is_cut(bench: "Bench") -> None:
    put(bench.cwd, {"a": "first\n" + "needle é\\" * 1_000_000 + "\nlast needle"})
    *lines, _, note = bench.ok("grep", pattern="needle").split("\n")
    assert lines == [f"a:2: {('needle é' + chr(92)) * 55}needl... [truncated]", "a:3: last needle"]
    assert note.startswith("[Some lines truncated")


@pytest.mark.parametrize("size", [1, 7, 4096, 1 << 16])
def test_a_very_long_record_keeps_its_number_however_it_is_cut(size: int) -> None:
    text = b"\\\\\\n\\u0001" + "é".encode() * MAX_RECORD
    record = b'{"type":"match","data":{"path":{"text":"./a"},"lines":{"text":"%b"},"line_number":12345,"x":1}}\n' % text
    printed = b'{"type":"begin","data":{"path":{"text":"./a"}}}\n' + record
    matches = Matches(".", None, 0, 10)
    start = len(printed) - 200
    matches.feed(printed[:start])
    for at in range(start, len(printed), size):
        matches.feed(printed[at : at + size])
    matches.feed(b'{"type":"end","data":{"path":{"text":"./a"},"binary_offset":null}}\n')
    (part,) = matches.listing.output("").content
    assert isinstance(part, Text)
    assert part.text == "a:12345: \\\n\x01" + "é" * 497 + "... [truncated]"


def test_a_missing_path_is_told_in_the_words_of_the_protocol(bench: "Bench") -> None:
    assert bench.fails("grep", pattern="x", path="nope") == "nope does not exist."
    with pytest.raises(ToolFailed, match=f"^Path not found: {bench.cwd}/nope$"):
        in_pis_words(bench, pattern="x", path="nope")


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(", "a ( that is not closed; for the character itself write \\("),
        (")", "a ) that nothing opened"),
        ("[a", "a [ that is not closed"),
        ("*a", "nothing in front of * to repeat"),
        ("(?=a)", "look-ahead, which is not supported"),
        ("(?<!a)", "look-behind"),
        (r"(a)\1", "a reference to a group"),
        (r"a\nb", "a line break"),
        (r"\Aa", "write ^ and $"),
        (r"\p{Greek}", "a general category"),
        ("[a&&b]", "&&, -- or ~~ in a class"),
        ("[z-a]", "a range in a class"),
        ("a{2000}", "beyond 1000"),
        ("\\", "a backslash at its end"),
        ("(?x)a", "flags other than"),
        (r"\q", r"\q, which is not supported"),
        ("(" * 101, "too many groups"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_a_sentence(bench: "Bench", pattern: str, words: str) -> None:
    refusal = bench.fails("grep", pattern=pattern)
    assert words in refusal
    assert refusal.endswith("set literal to true.")


def test_a_bad_glob_is_refused_with_a_sentence(bench: "Bench") -> None:
    assert bench.fails("grep", pattern="a", glob="[a") == "'[a' is not a glob: a bracket that is not closed."


@given(st.text())
def test_any_text_is_a_pattern_or_is_refused(text: str) -> None:
    for literal in (False, True):
        with suppress(ToolFailed):
            pattern = Pattern(text, literal=literal)
            assert re.compile(pattern.python_ascii).search("\n") is None or re.compile(pattern.python).search("\n")


def test_a_ripgrep_that_does_not_understand_us_is_done_without(bench: "Bench", monkeypatch: pytest.MonkeyPatch) -> None:
    put(bench.cwd, {"a": "needle"})
    other = bench.cwd.parent / "rg"
    other.write_text("#!/bin/sh\necho \"error: Found argument '--json'\" >&2\nexit 2\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent), prepend=":")
    assert engines.installed("/nowhere") == str(other)
    assert bench.ok("grep", pattern="needle") == "a:1: needle"


@pytest.fixture
def abort(bench: "Bench", monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Starts a search that takes for ever, aborts it, and sees that it ends and leaves nothing behind."""
    mark = f"SEARCH_{os.getpid()}_{id(bench)}"
    monkeypatch.setenv("LINNET_TEST_MARK", mark)

    def run(args: dict[str, str]) -> None:
        cancel = CancelToken()
        ended: list[type[BaseException]] = []

        def search() -> None:
            try:
                grep.run(args, ToolContext(bench.cwd, cancel, print, bench.processes))
            except Cancelled as fault:
                ended.append(type(fault))

        thread = Thread(target=search)
        thread.start()
        bench.eventually(lambda: set(bench.carriers(mark)) - {os.getpid()})
        cancel.set()
        thread.join(10)
        assert ended == [Cancelled]
        assert set(bench.carriers(mark)) <= {os.getpid()}

    return run


def test_an_abort_ends_a_regular_expression_that_takes_for_ever(
    bench: "Bench", abort: Callable[[dict[str, str]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "installed", lambda cwd: None)
    put(bench.cwd, {"a": "a" * 60 + "b"})
    abort(SLOW)


def test_an_abort_kills_ripgrep(
    bench: "Bench", abort: Callable[[dict[str, str]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = bench.cwd.parent / "stuck"
    stuck.write_text("#!/bin/sh\nsleep 1000\n")
    stuck.chmod(0o755)
    monkeypatch.setattr(engines, "installed", lambda cwd: str(stuck))
    abort({"pattern": "needle"})


def test_a_search_that_takes_too_long_says_what_it_has(bench: "Bench", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "installed", lambda cwd: None)
    monkeypatch.setattr(engines, "TIMEOUT", 0.5)
    put(bench.cwd, {"b": "a" * 60 + "b"})
    assert bench.ok("grep", **SLOW) == (
        "No matches found\n\n[Stopped after 0.5 seconds. Name a smaller folder or a simpler pattern]"
    )
