"""ripgrep and our own search program, on the same trees: the same files, the same lines."""

import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from linnet.errors import ToolFailed
from linnet.tools.search.engines import Enough, GrepOrder, ripgrep
from linnet.tools.search.globs import PathGlob
from linnet.tools.search.matches import Matches
from linnet.tools.search.pattern import Pattern
from linnet.tools.search.searcher import search
from linnet.tools.search.walk import walk
from tests.suite.times import times

RG = os.environ.get("RG") or shutil.which("rg")
pytestmark = pytest.mark.skipif(RG is None, reason="ripgrep is not installed")
often = settings(
    deadline=None, suppress_health_check=list(HealthCheck), max_examples=int(os.environ.get("EXAMPLES", times(60)))
)

# A few names, so that rules and files meet.
stems = st.sampled_from(["a", "b", "ab", "a.b", ".h", "build", "-x", "é", "a b", "[a]", "{a,b}", "#a", "!a", "\\a"])
names = st.one_of(stems, st.builds("{}.{}".format, stems, st.sampled_from(["py", "txt", "TXT"])))
globs = st.one_of(
    names,
    st.sampled_from(
        ["*", "**", "*.py", "?", "a*", "*a*", "*a*b*", "**a", "a**", "[ab]", "[!a]*", "[^b]", "[]]*", "[a-]*"]
    ),
    st.sampled_from(
        ["{a,b}*", "*.{py,txt}", "{,a}b", "\\*", "\\a", "\\!a", "\\#a", "*\\ ", "a\\ b", "[[]a]", "*.[pt]*"]
    ),
    st.sampled_from(["[a-", "[z-a]", "{a", "a}", "a\\"]),  # These cannot be read, or mean something odd.
)
rules = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "", "", "!", "/", "!/", "\\", " ", "#"]),
    st.lists(globs, min_size=1, max_size=3).map("/".join),
    st.sampled_from(["", "", "/", "/**", "/*", "//"]),
    st.sampled_from(["", "", " ", "\r", "\t "]),
)
ignore_files = st.lists(rules, max_size=5).map("\n".join)
# Of a folder with a line feed in its name, ripgrep 13 does not see what is in it.
paths = st.builds(os.path.join, st.lists(names, max_size=3).map("/".join), names | st.just("a\nb"))
trees = st.lists(paths, max_size=14)
ignores = st.lists(
    st.tuples(
        st.lists(names, max_size=2).map("/".join),
        st.sampled_from([".gitignore", ".gitignore", ".gitignore", ".ignore", ".rgignore", ".git/info/exclude"]),
        ignore_files,
    ),
    max_size=4,
)


def write(root: Path, path: str, content: bytes) -> None:
    """Unless something else is there already."""
    file = root / path
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    except OSError:
        pass


@contextmanager
def folder() -> Iterator[Path]:
    """A folder to search, in one that has room for what is above it."""
    with tempfile.TemporaryDirectory() as made:
        root = Path(os.path.realpath(made)) / "root"
        root.mkdir()
        yield root


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}


def files_by_ripgrep(root: Path, home: Path) -> list[bytes]:
    flags = [
        "--no-config",
        "--files",
        "--null",
        "--hidden",
        "--sort",
        "path",
        "--glob",
        "!.git",
        "--no-ignore-messages",
    ]
    if not any((each / ".git").exists() for each in (root, *root.parents)):
        flags.append("--no-require-git")
    done = subprocess.run([str(RG), *flags, "./"], cwd=root, env=environment(home), capture_output=True)
    assert done.returncode in (0, 1, 2), done.stderr  # 2 also if a line of an ignore file cannot be read.
    return [path.removeprefix(b"./") for path in done.stdout.split(b"\0")[:-1]]


def files_by_us(root: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    with monkeypatch.context() as patch:
        for name, value in environment(home).items():
            patch.setenv(name, value)
        return [entry.path for entry in walk(os.fsencode(root)) if entry.is_file]


@pytest.mark.parametrize("everything", ["**", "/**", "*"])
def test_a_name_with_a_line_break_is_ignored_as_git_does(everything: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with folder() as root:
        write(root, ".gitignore", everything.encode())
        write(root, "a\nb", b"")
        assert files_by_us(root, root.parent / "home", monkeypatch) == []
        subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
        subprocess.run(["git", "check-ignore", "-q", "a\nb"], cwd=root, check=True)


@often
@given(
    tree=trees,
    ignores=ignores,
    top=ignore_files,
    above=ignore_files,
    mine=ignore_files,
    is_repository=st.booleans(),
    inside=st.sampled_from([".", "a", "build"]),
)
@example(["a/b"], [("", ".gitignore", "!")], "", "", "", True, ".")
def test_both_see_the_same_files(
    tree: list[str],
    ignores: list[tuple[str, str, str]],
    top: str,
    above: str,
    mine: str,
    is_repository: bool,
    inside: str,
) -> None:
    # To ripgrep 13, `**` and `/**` mean no name with a line break in it; to git, and to us, they mean every name.
    said = (top, above, mine, *(text for _, _, text in ignores))
    assume(not (any("\n" in path for path in tree) and any("**" in text for text in said)))
    with folder() as root, pytest.MonkeyPatch.context() as monkeypatch:
        home = root.parent / "home"
        write(home, ".config/git/ignore", mine.encode())
        write(root.parent, ".gitignore", above.encode())
        write(root, ".gitignore", top.encode())
        for path in tree:
            write(root, path, b"")
        for where, name, text in ignores:
            # A repository inside what is none is a matter of ripgrep's version.
            if is_repository or not name.startswith(".git/"):
                write(root / where, name, text.encode())
        if is_repository:
            (root / ".git").mkdir(exist_ok=True)
        start = root / inside
        assume(start.is_dir())
        assert files_by_us(start, home, monkeypatch) == files_by_ripgrep(start, home)


letters = st.sampled_from("aabbk iIsSſKKıİßẞσςΣéÉeǅ_1٣²\t\r-.()[]{}\\^$|*+?/\"'<>#&~\u0301\u200d\u2003\x1c\x85日𝒳Ⓐ‿")
texts = st.text(letters, min_size=1, max_size=4)
contents = st.builds(
    lambda lines, end, start: start + b"\n".join(lines) + end,
    st.lists(
        st.one_of(
            st.text(letters, max_size=8).map(str.encode),
            st.sampled_from([b"", b"a\xffb", b"\xed\xa0\x80 k", b"a\xc3", b"x" * 600, b"a\0b"]),
        ),
        max_size=8,
    ),
    st.sampled_from([b"", b"\n", b"\n", b"\r\n"]),
    st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf"]),
)
wide = st.text(letters | st.just("\n"), max_size=12).map(lambda text: ("\ufeff" + text).encode("utf-16-le"))
items = st.one_of(
    letters.map(lambda char: f"\\{char}" if char in "[]^-\\&~" else char),
    st.sampled_from(
        ["a-k", "\\w", "\\W", "\\d", "\\D", "\\s", "\\S", "[:alpha:]", "[:^punct:]", "\\pL", "\\P{Ll}", "\\x6b", "é-ſ"]
    ),
)
classes = st.builds("[{}{}]".format, st.sampled_from(["", "^"]), st.lists(items, min_size=1, max_size=3).map("".join))
atoms = st.one_of(
    letters.map(lambda char: f"\\{char}" if char in "\\.+*?()|[]{}^$" else char),
    classes,
    st.sampled_from(
        [
            ".",
            "^",
            "$",
            "\\b",
            "\\w",
            "\\W",
            "\\d",
            "\\D",
            "\\s",
            "\\S",
            "\\p{Lu}",
            "\\x{212a}",
            "\\u00e9",
            "\\/",
            '\\"',
        ]
    ),
    st.sampled_from(["(?i)", "(?-i)", "{", "}", "a{", "{,2}", "]", "\\t", "\\-"]),
)
regexes = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.builds(
            "{}{}{}{}".format,
            st.sampled_from(["(", "(?:", "(?P<n>", "(?i:", "(?s-i:"]),
            inner,
            st.just(")"),
            st.just(""),
        ),
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "+*"])),
    ),
    max_leaves=5,
)


def by_ripgrep(root: Path, order: GrepOrder) -> Matches:
    pattern = Pattern(order.pattern, literal=order.literal, ignore_case=order.ignore_case)
    glob = PathGlob(order.glob, os.fsencode(root)) if order.glob else None
    argv = ripgrep(str(RG), order, pattern, glob, str(root))
    done = subprocess.run(argv, cwd=root, env=environment(root.parent / "home"), stdout=-1, stderr=subprocess.STDOUT)
    assume(b"empty character classes" not in done.stdout)  # Only newer versions have them.
    return fed(root, done.stdout, glob, order)


def by_us(root: Path, order: GrepOrder) -> Matches:
    out = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(root.parent / "home").items():
            patch.setenv(name, value)
        search(structs.asdict(order), os.fsencode(root), out)
    return fed(root, out.getvalue(), PathGlob(order.glob, os.fsencode(root)) if order.glob else None, order)


def fed(root: Path, printed: bytes, glob: PathGlob | None, order: GrepOrder) -> Matches:
    matches = Matches(str(root), glob, order.context, order.limit)
    try:
        matches.feed(printed)
    except Enough:
        return matches
    assert matches.is_complete, matches.complaint
    assert matches.complaint == ""
    return matches


def told(matches: Matches) -> tuple[object, ...]:
    return matches.listing.output(""), matches.count, matches.some_cut


@often
@given(
    files=st.dictionaries(paths, contents | wide, min_size=1, max_size=4),
    ignored=ignore_files,
    pattern=regexes | texts,
    literal=st.booleans(),
    ignore_case=st.booleans(),
    glob=st.sampled_from(["", "", "", "*.py", "a*", "!*.txt", "**/a*", "a/**", "/a", "*.{py,txt}", "!a"]),
    context=st.integers(0, 3),
    limit=st.integers(1, 6),
)
def test_both_find_the_same_lines(
    files: dict[str, bytes],
    ignored: str,
    pattern: str,
    literal: bool,
    ignore_case: bool,
    glob: str,
    context: int,
    limit: int,
) -> None:
    order = GrepOrder(pattern, "./", literal, ignore_case, glob, context, limit)
    try:
        Pattern(pattern, literal=literal, ignore_case=ignore_case)
    except ToolFailed:
        assume(False)
    with folder() as root:
        write(root, ".gitignore", ignored.encode())
        for path, content in files.items():
            write(root, path, content)
        assert told(by_us(root, order)) == told(by_ripgrep(root, order))
